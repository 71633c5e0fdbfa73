"""headrace sync from streams of change events: several tables in one run, exactly once under kill -9, quarantine, names."""

import decimal
import json
import os
import pathlib
import random
import signal
import subprocess
import time

from program_case import PROGRAM, ProgramCase

FIXTURES = pathlib.Path(os.environ["HEADRACE_FIXTURES"]) / "cdc"


def canal(table, *ids, database="d"):
    return json.dumps({"data": [{"id": str(one), "v": f"v{one}"} for one in ids], "database": database, "isDdl": False,
                       "mysqlType": {"id": "bigint", "v": "text"}, "old": None, "pkNames": ["id"], "table": table,
                       "type": "INSERT"})


class SyncEvents(ProgramCase):
    def sync(self, *arguments, status=0):
        return self.run_program("sync", *arguments, status=status).stderr

    def expected(self, capture, table):
        rows = []
        for line in (FIXTURES / f"{capture}.expected.jsonl").read_text().splitlines():
            one = json.loads(line, parse_float=decimal.Decimal)
            if one["table"] == table:
                rows.append(one["row"])
        return rows

    def assert_rows(self, table, capture, source):
        """The columns that the expected rows have, numbers by value and times without zeros at the end."""
        def plain(value):
            if isinstance(value, str):
                try:
                    return decimal.Decimal(value).normalize()
                except decimal.InvalidOperation:
                    text = value.replace(" ", "T").removesuffix("Z").removesuffix("+00:00")
                    return text.rstrip("0").rstrip(".") if "." in text else text
            return decimal.Decimal(value).normalize() if isinstance(value, (int, decimal.Decimal)) and not isinstance(value, bool) else value
        expected = self.expected(capture, source)
        found = self.rows("read", table)
        columns = list(expected[0])
        key = lambda row: json.dumps(row, default=str, sort_keys=True)  # noqa: E731
        self.assertEqual(sorted(({c: plain(row[c]) for c in columns} for row in found), key=key),
                         sorted(({c: plain(row[c]) for c in columns} for row in expected), key=key), table)

    def test_debezium_of_three_tables(self):
        command = [FIXTURES / "multi-table.debezium-schema.jsonl", "--keys", FIXTURES / "multi-table.debezium.keys.jsonl"]
        self.sync(*map(str, command))
        for table in ("public.customers", "public.orders", "archive.orders"):
            self.assert_rows(table, "multi-table", table)
        self.assertIn("0 records read", self.sync(*map(str, command)))

    def test_canal_renames_and_retypes(self):
        said = self.sync(str(FIXTURES / "canal-mixed.jsonl"))
        self.assert_rows("shop.order_lines", "canal-mixed", "shop.order_items")
        self.assert_rows("elsewhere.order_items", "canal-mixed", "elsewhere.order_items")
        self.assert_rows("shop.payments", "canal-mixed", "shop.payments")
        self.assertIn("left out: shop.notes", said)

    def test_maxwell_into_tables_that_are_there(self):
        lines = "CREATE TABLE {}.order_lines (line_no INT, order_id BIGINT, sku STRING, quantity INT, PRIMARY KEY (order_id, line_no) NOT ENFORCED)"
        payments = ("CREATE TABLE shop.payments (id INT, t TINYINT, flag TINYINT, big DECIMAL(20,0), d DECIMAL(20,6), f FLOAT, "
                    "g DOUBLE, b1 TINYINT, dt DATE, tm STRING, `at` TIMESTAMP(6), ts TIMESTAMP(3), y INT, e STRING, s STRING, "
                    "j STRING, raw BYTES, txt STRING, PRIMARY KEY (id) NOT ENFORCED)")
        for statement in (lines.format("shop"), lines.format("elsewhere"), payments):
            self.run_program("sql", "-c", statement)
        self.sync(str(FIXTURES / "maxwell-mixed.jsonl"))
        for table in ("shop.order_lines", "elsewhere.order_lines", "shop.payments"):
            self.assert_rows(table, "maxwell-mixed", table)

    def test_each_event_once_however_often_it_is_killed(self):
        generator = random.Random(7)
        ids = {f"t{n}": 0 for n in range(4)}
        lines = []
        for _ in range(6000):
            table = generator.choice(list(ids))
            ids[table] += 1
            lines.append(canal(table, ids[table]))
        path = self.write("in.jsonl", "\n".join(lines) + "\n")
        command = [PROGRAM, "--warehouse", str(self.warehouse), "sync", str(path), "--commit-every", "150", "--option", "bucket=1"]
        killed = 0
        for _ in range(40):
            process = subprocess.Popen(command, stderr=subprocess.DEVNULL, cwd=self.folder)
            time.sleep(generator.uniform(0.02, 0.35))
            if process.poll() is not None:
                break
            process.send_signal(signal.SIGKILL)
            process.wait()
            killed += 1
        self.sync(str(path), "--commit-every", "150", "--option", "bucket=1")
        self.assertGreater(killed, 3)
        for table, last in ids.items():
            found = sorted(row["id"] for row in self.rows("read", f"d.{table}"))
            self.assertEqual(found, list(range(1, last + 1)), table)
            changes = [row["id"] for row in self.rows("changes", f"d.{table}")]
            self.assertEqual(sorted(changes), list(range(1, last + 1)), table)

    def test_changed_columns_are_followed_under_kill(self):
        """Every table gets a column, a wider type and a new name of a column at some record; killed anywhere, all rows are there once."""
        generator = random.Random(11)
        tables = {f"t{n}": {"rows": {}, "v": "v", "type": "int", "more": False, "next": 1} for n in range(3)}
        lines = []
        for step in range(2400):
            name = generator.choice(list(tables))
            table = tables[name]
            if step % 150 == 149:
                change = generator.choice(["rename", "more", "wider"])
                sql = None
                if change == "rename":
                    fresh = f"v{step}"
                    sql = f"ALTER TABLE `{name}` CHANGE {table['v']} {fresh} {table['type']}"
                    for row in table["rows"].values():
                        row[fresh] = row.pop(table["v"])
                    table["v"] = fresh
                elif change == "more":
                    table["more"] = True
                else:
                    table["type"] = "bigint"
                if sql:
                    lines.append(json.dumps({"data": None, "database": "d", "isDdl": True, "sql": sql, "table": name, "type": "ALTER"}))
            key = table["next"]
            table["next"] += 1
            value = generator.randrange(2**40 if table["type"] == "bigint" else 2**30)
            row = {"id": key, table["v"]: value} | ({"more": f"m{key}"} if table["more"] else {})
            types = {"id": "int", table["v"]: table["type"]} | ({"more": "varchar(20)"} if table["more"] else {})
            table["rows"][key] = row
            lines.append(json.dumps({"data": [{k: str(v) for k, v in row.items()}], "database": "d", "isDdl": False, "mysqlType": types,
                                     "old": None, "pkNames": ["id"], "table": name, "type": "INSERT"}))
        path = self.write("in.jsonl", "\n".join(lines) + "\n")
        options = ["--commit-every", "40", "--option", "bucket=1"]
        for _ in range(60):
            process = subprocess.Popen([PROGRAM, "--warehouse", str(self.warehouse), "sync", str(path), *options],
                                       stderr=subprocess.DEVNULL, cwd=self.folder)
            time.sleep(generator.uniform(0.02, 0.3))
            if process.poll() is not None:
                break
            process.kill()
            process.wait()
        self.sync(str(path), *options)
        for name, table in tables.items():
            found = {row["id"]: {k: v for k, v in row.items() if v is not None} for row in self.rows("read", f"d.{name}")}
            self.assertEqual(found, table["rows"], name)

    def test_a_table_that_cannot_follow_is_alone_in_it(self):
        path = self.write("in.jsonl", "\n".join([canal("a", 1), canal("b", 1), canal("a", "x"), canal("b", 2), canal("a", 2)]) + "\n")
        said = self.sync(str(path), "--job", "j", status=3)
        self.assertIn("not followed", said)
        self.assertEqual([row["id"] for row in self.rows("read", "d.a")], [1])
        self.assertEqual([row["id"] for row in self.rows("read", "d.b")], [1, 2])
        letters = [json.loads(line) for line in (self.folder / "headrace-dead-letters" / "j.d.a.jsonl").read_text().splitlines()]
        self.assertEqual([letter["line"] for letter in letters], [3, 5])
        self.assertEqual(letters[0]["record"], canal("a", "x"))

        # A line that is of no table stops the sync; mended, it goes on.
        text = pathlib.Path(path).read_text()
        self.write("in.jsonl", text + canal("b", 3) + "\nnot json\n")
        self.assertIn("line 7", self.sync(str(path), "--job", "j", status=1))
        self.write("in.jsonl", text + canal("b", 3) + "\n" + canal("b", 4) + "\n")
        self.sync(str(path), "--job", "j", status=3)
        self.assertEqual([row["id"] for row in self.rows("read", "d.b")], [1, 2, 3, 4])

    def test_names_of_databases_and_of_tables(self):
        path = self.write("in.jsonl", canal("a", 1, database="x") + "\n" + canal("a", 2, database="y") + "\n")
        self.assertIn("would both be one.a", self.sync(str(path), "--database", "one", status=1))
        self.sync(str(path), "--database", "two", "--tables", "x.*")
        self.assertEqual([row["id"] for row in self.rows("read", "two.a")], [1])
        self.sync(str(path))
        self.assertEqual([row["id"] for row in self.rows("read", "y.a")], [2])

    def test_options_that_do_not_go_together_are_refused(self):
        path = self.write("in.jsonl", canal("a", 1) + "\n")
        for options in (["--slot", "s"], ["--until-lsn", "0/1"], ["--adopt"], ["--start", "latest"], ["--kafka-option", "a=b"]):
            self.sync(str(path), *options, status=1)
        self.sync(str(path), "--format", "csv", status=1)
        self.sync("-", status=1)
        self.sync("postgres://nobody@127.0.0.1:1/x", "--tables", "a", "--format", "canal-json", status=1)


if __name__ == "__main__":
    import unittest
    unittest.main()
