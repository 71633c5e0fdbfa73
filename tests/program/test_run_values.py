"""Continuous SQL and values: what does not fit is told with its row and goes on once it is put right; what windows choose among equals is the same each time."""

import unittest

from program_case import ProgramCase


class Values(ProgramCase):
    def sql(self, text):
        return self.run_program("sql", "-f", self.write("statements.sql", text), "--format", "jsonl").stdout

    def pipeline(self, text):
        return self.write("values.sql", "USE db;\n" + text)

    def test_a_row_that_does_not_fit_is_told_and_passed_once_it_is_put_right(self):
        for producer in ("none", "input", "lookup"):
            with self.subTest(producer):
                self.warehouse = self.folder / producer
                self.sql(f"CREATE TABLE db.sales (id BIGINT, amount BIGINT, tag STRING, PRIMARY KEY (id) NOT ENFORCED) "
                         f"WITH ('bucket' = '1', 'changelog-producer' = '{producer}'); INSERT INTO db.sales VALUES (1, 10, 'a')")
                pipeline = self.pipeline("CREATE TABLE small (id BIGINT, amount TINYINT, tag VARCHAR(3), PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1'); "
                                         "INSERT INTO small SELECT id, amount, tag FROM sales;")
                self.run_program("run", pipeline, "--once")
                self.sql("INSERT INTO db.sales VALUES (2, 20, 'b'), (3, 300, 'c')")
                told = self.run_program("run", pipeline, "--once", status=1).stderr
                self.assertIn("the row of the answer is id=3, amount=300, tag=c", told)
                self.sql("UPDATE db.sales SET amount = 30 WHERE id = 3")
                self.run_program("run", pipeline, "--once")
                self.sql("INSERT INTO db.sales VALUES (4, 4, 'long')")
                told = self.run_program("run", pipeline, "--once", status=1).stderr
                self.assertIn("column tag VARCHAR(3)", told)
                self.assertIn("id=4, amount=4, tag=long", told)
                self.sql("DELETE FROM db.sales WHERE id = 4; INSERT INTO db.sales VALUES (5, 5, 'e')")
                self.run_program("run", pipeline, "--once")
                self.assertEqual([tuple(row.values()) for row in self.rows("read", "db.small")], [(1, 10, "a"), (2, 20, "b"), (3, 30, "c"), (5, 5, "e")])

    def test_what_windows_choose_among_equals_is_the_same_each_time(self):
        self.sql("CREATE TABLE db.rows (id BIGINT, part STRING, place INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '2', 'changelog-producer' = 'input')")
        window = "OVER (PARTITION BY part ORDER BY place)"
        asked = f"first_value(id) {window}, last_value(id) {window}, nth_value(id, 2) {window}, arg_max(id, place) OVER (PARTITION BY part), " \
                f"string_agg(id, ',') {window}, sum(id) OVER (PARTITION BY part ORDER BY place ROWS UNBOUNDED PRECEDING)"
        whole = "id, part, place"
        meant = f"first_value(id ORDER BY place, {whole}) {window}, last_value(id ORDER BY place, {whole}) {window}, nth_value(id, 2 ORDER BY place, {whole}) {window}, " \
                f"arg_max(id, place ORDER BY {whole}) OVER (PARTITION BY part), string_agg(id, ',' ORDER BY place, {whole}) {window}, " \
                f"sum(id) OVER (PARTITION BY part ORDER BY place, {whole} ROWS UNBOUNDED PRECEDING)"
        pipeline = self.pipeline("CREATE TABLE chosen (id BIGINT, f BIGINT, l BIGINT, n BIGINT, m BIGINT, s STRING, r BIGINT, PRIMARY KEY (id) NOT ENFORCED) "
                                 f"WITH ('bucket' = '1'); INSERT INTO chosen SELECT id, {asked} FROM rows;")
        for change in ("INSERT INTO db.rows SELECT i, CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END, i % 3 FROM range(40) t(i)",
                       "DELETE FROM db.rows WHERE id % 5 = 0", "UPDATE db.rows SET place = 1 WHERE id % 4 = 1; INSERT INTO db.rows VALUES (100, 'a', 1), (0, 'b', 0)"):
            self.sql(change)
            self.run_program("run", pipeline, "--once")
            query = f"SELECT id, {meant} FROM db.rows"
            self.assertEqual(self.sql(f"({query}) EXCEPT ALL (SELECT * FROM db.chosen)"), "", change)
            self.assertEqual(self.sql(f"(SELECT * FROM db.chosen) EXCEPT ALL ({query})"), "", change)

    def test_what_cannot_be_is_told_before_anything_runs(self):
        self.sql("CREATE TABLE db.log (id BIGINT, v INT); INSERT INTO db.log VALUES (1, 2); "
                 "CREATE TABLE db.keyed (id BIGINT, v INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1')")
        copy = self.pipeline("CREATE TABLE copy (id BIGINT, v INT); INSERT INTO copy SELECT * FROM log;")
        self.run_program("run", copy, "--once")
        told = self.run_program("run", copy, "--once", "--rebuild", status=1).stderr
        self.assertIn("--rebuild of db.copy, which has rows and no primary key by which they could be taken out", told)
        for select, why in (("id, rowid FROM keyed", "rowid"), ("id, no_such(v) FROM keyed", "no_such"), ("* FROM (PIVOT keyed ON v USING sum(id))", "write the columns out")):
            pipeline = self.pipeline(f"CREATE TABLE t (id BIGINT, v INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1'); INSERT INTO t SELECT {select};")
            self.assertIn(why, self.run_program("run", pipeline, "--explain", status=1).stderr)


if __name__ == "__main__":
    unittest.main()
