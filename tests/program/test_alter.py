"""`headrace alter` and ALTER TABLE: columns, options and comments change, rows that are there are read right, and what is refused is named."""

import json

from program_case import ProgramCase


class Alter(ProgramCase):
    def orders(self, *options):
        self.run_program("create", "shop.orders", "--schema", "id BIGINT, n INT, name STRING, at DATE, r ROW<x INT, y STRING>", "--primary-key", "id",
                         "--option", "bucket=1", *options)
        self.ingest_lines("shop.orders", [{"id": i, "n": i * 10, "name": f"n{i}", "at": "2024-01-0%d" % i, "r": {"x": i, "y": "y"}} for i in (1, 2, 3)])

    def alter(self, *arguments, **options):
        return self.run_program("alter", "shop.orders", *arguments, **options)

    def refused(self, *arguments):
        done = self.alter(*arguments, status=1)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr

    def columns(self):
        return [(row["column"], row["type"]) for row in self.sql("DESCRIBE shop.orders")]

    def sql(self, statement, **options):
        return [json.loads(line) for line in self.run_program("sql", "-c", statement, "--format", "jsonl", **options).stdout.splitlines()]

    def test_every_kind_of_change_and_the_rows_before_and_after(self):
        self.orders("--option", "changelog-producer=input")
        self.assertIn("altered, schema 1", self.alter("add", "phone", "STRING", "--after", "id", "--comment", "to call").stderr)
        self.alter("retype", "n", "BIGINT")
        self.alter("retype", "at", "TIMESTAMP(3)")
        self.alter("rename", "name", "title")
        self.alter("rename", "id", "key")
        self.alter("add", "r.z", "DOUBLE", "--first")
        self.alter("drop", "r.y")
        self.alter("move", "title", "--first")
        self.alter("comment", "all orders")
        self.alter("comment", "--column", "n", "how many")
        self.alter("set", "snapshot.num-retained.min=3", "snapshot.time-retained=2 d")
        self.alter("unset", "snapshot.num-retained.min")
        self.assertEqual(self.columns(), [("title", "STRING"), ("key", "BIGINT NOT NULL"), ("phone", "STRING"), ("n", "BIGINT"), ("at", "TIMESTAMP(3)"),
                                          ("r", "ROW<`z` DOUBLE, `x` INT>")])
        self.ingest_lines("shop.orders", [{"key": 2, "n": 1 << 40, "title": "new", "phone": "555", "at": "2024-02-02T10:00:00", "r": {"x": 5, "z": 0.5}}], name="more.jsonl")
        expected = [{"title": "n1", "key": 1, "phone": None, "n": 10, "at": "2024-01-01T00:00:00.000", "r": {"z": None, "x": 1}},
                    {"title": "new", "key": 2, "phone": "555", "n": 1 << 40, "at": "2024-02-02T10:00:00.000", "r": {"z": 0.5, "x": 5}},
                    {"title": "n3", "key": 3, "phone": None, "n": 30, "at": "2024-01-03T00:00:00.000", "r": {"z": None, "x": 3}}]
        for _ in range(2):
            self.assertEqual(sorted(self.rows("read", "shop.orders"), key=lambda row: row["key"]), expected)
            self.assertEqual(self.rows("get", "shop.orders", "key=2")[0]["n"], 1 << 40)
            self.assertEqual(self.sql('SELECT n FROM shop.orders WHERE n BETWEEN 20 AND 40'), [{"n": 30}])
            self.run_program("compact", "shop.orders", "--full")
        # The past in the columns of then, changes in those of now.
        self.assertEqual(self.rows("read", "shop.orders", "--snapshot", "1")[0]["name"], "n1")
        changes = self.rows("changes", "shop.orders", "--from", "earliest")
        self.assertEqual([(row["_rowkind"], row["key"], row["title"]) for row in changes],
                         [("+I", 1, "n1"), ("+I", 2, "n2"), ("+I", 3, "n3"), ("+I", 2, "new")])
        self.run_program("check", "shop.orders", "--data", "--changelog")

    def test_a_column_of_a_dropped_ones_name_is_another_column(self):
        self.orders()
        self.alter("drop", "name", "at")
        self.alter("add", "name", "STRING")
        self.assertEqual({row["name"] for row in self.rows("read", "shop.orders")}, {None})
        self.run_program("check", "shop.orders", "--data")

    def test_conditions_on_a_widened_column_find_the_rows_of_narrow_files(self):
        self.run_program("create", "shop.log", "--schema", "a INT, f FLOAT, d DATE, c DECIMAL(6, 2)", "--option", "bucket=-1")
        for a in (9, 10, 150, 3000):
            self.ingest_lines("shop.log", [{"a": a, "f": a + 0.5, "d": "2024-01-02", "c": str(a % 100)}], name=f"{a}.jsonl")
        self.sql("ALTER TABLE shop.log MODIFY (a BIGINT, f DOUBLE, d TIMESTAMP(3), c DECIMAL(12, 4))")
        for condition, found in (("a < 5000", 4), ("a = 150", 1), ("f BETWEEN 10 AND 200", 2), ("d = TIMESTAMP '2024-01-02 00:00:00'", 4),
                                 ("d > TIMESTAMP '2024-01-02 00:00:00'", 0), ("c = 9", 1), ("c <= 9.0000", 2)):
            self.assertEqual(self.sql(f"SELECT count(*) AS n FROM shop.log WHERE {condition}"), [{"n": found}], condition)
        self.run_program("alter", "shop.log", "retype", "a", "STRING")
        for condition, found in (("a >= '9'", 1), ("a < '2'", 2), ("a = '3000'", 1), ("a IN ('9', '10')", 2)):
            self.assertEqual(self.sql(f"SELECT count(*) AS n FROM shop.log WHERE {condition}"), [{"n": found}], condition)

    def test_alter_table_is_the_same_code(self):
        self.orders()
        self.sql("ALTER TABLE shop.orders ADD (phone STRING COMMENT 'to call' AFTER id, r.z DOUBLE FIRST);"
                 "ALTER TABLE shop.orders MODIFY n BIGINT COMMENT 'how many' FIRST; ALTER TABLE shop.orders RENAME name TO title;"
                 "ALTER TABLE shop.orders DROP (at, r.y); USE shop; ALTER TABLE orders SET ('snapshot.time-retained' = '2 d', 'x.y' = 'z');"
                 "ALTER TABLE orders RESET ('x.y'); INSERT INTO orders SELECT 1::BIGINT << 40, 2, '555', 'new', {'z': 0.5, 'x': 5};"
                 "ALTER TABLE orders RENAME TO sales")
        self.assertEqual(self.sql("SELECT * FROM shop.sales WHERE id < 3 ORDER BY id"),
                         [{"n": 10, "id": 1, "phone": None, "title": "n1", "r": {"z": None, "x": 1}},
                          {"n": 1 << 40, "id": 2, "phone": "555", "title": "new", "r": {"z": 0.5, "x": 5}}])
        self.assertIn("there is no table shop.gone", self.run_program("sql", "-c", "ALTER TABLE IF EXISTS shop.gone DROP a").stderr)
        self.assertIn("no column gone", self.run_program("sql", "-c", "ALTER TABLE IF EXISTS shop.sales DROP gone", status=1).stderr)

    def test_what_is_refused_says_why_and_changes_nothing(self):
        self.orders("--option", "sequence.field=n")
        for arguments, reason in (
                (("drop", "id"), "column id cannot be dropped: it is part of the primary key"),
                (("drop", "n"), "the option 'sequence.field' names it"),
                (("drop", "nothing"), "there is no column nothing; there are id, n, name, at, r"),
                (("add", "name", "INT"), "column name cannot be added: it is there already"),
                (("add", "w", "INT NOT NULL"), "cannot be added as NOT NULL"),
                (("add", "w", "INTEGRAL"), "column w"),
                (("retype", "n", "SMALLINT"), "column n cannot change from INT to SMALLINT"),
                (("retype", "id", "STRING"), "part of the primary key"),
                (("retype", "r", "ROW<x BIGINT>"), "nested types change by their parts"),
                (("nullable", "id"), "part of the primary key"),
                (("set", "bucket=4"), "headrace rescale TABLE --buckets 4"),
                (("set", "merge-engine=first-row"), "once the table has a snapshot"),
                (("set", "target-file-size=big"), "target-file-size"),
                (("set", "primary-key=n"), "fixed when the table was made")):
            self.assertIn(reason, self.refused(*arguments))
        self.assertEqual(self.run_program("alter", "shop.order", "drop", "x", status=1).stderr.count("did you mean shop.orders?"), 1)
        self.assertEqual(len(self.rows("show", "schemas", "shop.orders")), 1)

    def test_no_change_adds_no_schema_and_unknown_options_are_told(self):
        self.orders()
        self.assertIn("nothing was changed", self.alter("set", "bucket=1").stderr)
        self.assertIn("did you mean snapshot.time-retained?", self.alter("set", "snapshot.time-retaned=1 d").stderr)
        self.assertEqual(len(self.rows("show", "schemas", "shop.orders")), 2)

    def test_usage(self):
        for arguments in (("alter",), ("alter", "shop.t"), ("alter", "shop.t", "add", "a"), ("alter", "shop.t", "move", "a"),
                          ("alter", "shop.t", "add", "a", "INT", "--first", "--after", "b"), ("alter", "shop.t", "set", "key")):
            self.run_program(*arguments, status=2)
        self.assertIn("headrace alter shop.customers add phone", self.run_program("alter", "--help").stdout)
        self.orders()
        self.alter("add", "drop", "INT")  # words of the program are names like others
        self.alter("add", "read", "INT", "--after", "drop")
        self.alter("drop", "read", "drop")
