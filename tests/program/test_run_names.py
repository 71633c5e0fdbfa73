"""Continuous SQL over columns whose names are those of functions, or of what a stage's own statements call something."""

import unittest

from program_case import ProgramCase

# Words that a stage's own statements use, or might: columns of a user's may be called so.
WORDS = ["range", "kind", "side", "weight", "n", "o", "d", "c", "w", "c0", "c1", "answer", "times", "time", "key", "rowid_", "unnest", "source", "now", "uuid"]


class Names(ProgramCase):
    def sql(self, text):
        return self.run_program("sql", "-f", self.write("statements.sql", text), "--format", "jsonl").stdout

    def test_columns_may_be_called_what_a_stage_calls_its_own(self):
        columns = ", ".join(f"{word} INT" for word in WORDS)
        names = ", ".join(WORDS)
        sums = ", ".join(f"sum({word}) AS {word}" for word in WORDS[2:])
        of_both = ", ".join("dn"[i % 2] + "." + word for i, word in enumerate(WORDS))
        stages = {
            "whole": (f"id BIGINT, {columns}", "id", f"SELECT id, {names} FROM db.rows"),
            "keyed": (f"id BIGINT, {columns}", f"id, {names}", f"SELECT id, {names} FROM db.rows WHERE side IS NOT NULL"),
            "sums": (f"range INT, kind INT, many BIGINT, {', '.join(f'{word} BIGINT' for word in WORDS[2:])}", "range, kind",
                     f"SELECT range, kind, count(*), {sums} FROM db.rows GROUP BY range, kind"),
            "least": (f"side INT, {', '.join(f'{word} INT' for word in WORDS if word != 'side')}", "side",
                      f"SELECT side, {', '.join(f'min({word})' for word in WORDS if word != 'side')} FROM db.rows GROUP BY side"),
            "joined": (f"id BIGINT, other BIGINT, {columns}", "id, other",
                       f"SELECT d.id, n.id, {of_both} FROM db.rows d JOIN db.rows n ON d.range = n.range"),
            "outer": ("id BIGINT, side INT, kind INT", "id", "SELECT c.id, c.side, w.kind FROM db.rows c LEFT JOIN db.rows w ON c.o = w.id"),
            "both": ("side INT, id BIGINT, kind INT, range INT", "side, id", "SELECT 1, id, kind, range FROM db.rows UNION ALL SELECT 2, id, n, o FROM db.rows"),
            "first": (f"kind INT, id BIGINT, {', '.join(f'{word} INT' for word in WORDS if word != 'kind')}", "kind, id",
                      f"SELECT kind, id, {', '.join(word for word in WORDS if word != 'kind')} FROM db.rows QUALIFY row_number() OVER (PARTITION BY kind ORDER BY side) = 1"),
        }
        for producer in ("none", "input", "lookup"):
            with self.subTest(producer):
                self.warehouse = self.folder / producer
                self.run_program("create", "db.rows", "--schema", f"id BIGINT, {columns}", "--primary-key", "id", "--option", "bucket=1",
                                 "--option", f"changelog-producer={producer}")
                script = "".join(f"CREATE TABLE db.{name} ({fields}, PRIMARY KEY ({key}) NOT ENFORCED) WITH ('bucket' = '1', 'changelog-producer' = 'input'); "
                                 f"INSERT INTO db.{name} {query};\n" for name, (fields, key, query) in stages.items())
                pipeline = self.write("names.sql", script)
                row = lambda *values: "(" + ", ".join(map(str, [*values, *[values[1]] * (len(WORDS) + 1 - len(values))])) + ")"
                for change in [f"INSERT INTO db.rows VALUES {row(1, 1)}, {row(2, 2)}, {row(3, 1, 2)}",
                               f"INSERT INTO db.rows VALUES {row(2, 7)}, {row(4, 1, 1)}, {row(5, 5)}; UPDATE db.rows SET kind = 3, side = 9, range = 4 WHERE id = 1",
                               "UPDATE db.rows SET n = n + 1, side = side + 1; DELETE FROM db.rows WHERE id = 3"]:
                    self.sql(change)
                    self.run_program("run", pipeline, "--once")
                    found = {name: f"SELECT * FROM db.{name}" for name in stages}
                    wrong = self.sql(";\n".join(f"SELECT '{name}' AS target, * FROM (({query}) EXCEPT ALL ({found[name]}));\n"
                                                f"SELECT '{name}' AS target, * FROM (({found[name]}) EXCEPT ALL ({query}))" for name, (_, _, query) in stages.items()))
                    self.assertEqual(wrong, "", change)


if __name__ == "__main__":
    unittest.main()
