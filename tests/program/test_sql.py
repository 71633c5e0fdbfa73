"""`headrace sql`: scripts, files, standard input, what statements change, and the prompt at a terminal."""

import json
import os
import pty
import select
import signal
import subprocess
import time

from program_case import PROGRAM, ProgramCase


class Sql(ProgramCase):
    def sql(self, statements, **options):
        return self.run_program("sql", "-c", statements, "--format", "jsonl", **options)

    def query(self, statement):
        return [json.loads(line) for line in self.sql(statement).stdout.splitlines()]

    def orders(self, *options):
        listed = "".join(f", '{key}' = '{value}'" for key, value in (option.split("=") for option in options))
        self.sql("CREATE TABLE shop.orders (id BIGINT, plan STRING, amount DECIMAL(10, 2), PRIMARY KEY (id) NOT ENFORCED) "
                 f"WITH ('bucket' = '2'{listed}); "
                 "INSERT INTO shop.orders SELECT range, CASE WHEN range % 3 = 0 THEN 'pro' ELSE 'trial' END, range * 1.5 FROM range(1, 10)")

    def test_a_script_makes_changes_and_asks(self):
        self.orders("changelog-producer=input")
        self.assertEqual(self.query("SELECT plan, count(*) AS n, sum(amount) AS total FROM shop.orders GROUP BY plan ORDER BY plan"),
                         [{"plan": "pro", "n": 3, "total": "27.00"}, {"plan": "trial", "n": 6, "total": "40.50"}])
        done = self.sql("UPDATE shop.orders SET plan = 'gone' WHERE id = 1; DELETE FROM shop.orders AS o WHERE o.id BETWEEN 4 AND 5")
        self.assertIn("1 row updated in shop.orders, snapshot 2", done.stderr)
        self.assertIn("2 rows deleted from shop.orders, snapshot 3", done.stderr)
        self.assertEqual(self.query("SELECT _rowkind, id, plan FROM changes('shop.orders', from_snapshot => 2) ORDER BY _snapshot, id, _rowkind DESC"),
                         [{"_rowkind": "-U", "id": 1, "plan": "trial"}, {"_rowkind": "+U", "id": 1, "plan": "gone"},
                          {"_rowkind": "-D", "id": 4, "plan": "trial"}, {"_rowkind": "-D", "id": 5, "plan": "trial"}])
        self.assertEqual(self.query("SELECT count(*) AS then FROM paimon('shop.orders', snapshot => 1)"), [{"then": 9}])
        self.run_program("check", "shop.orders", "--data", "--changelog")

    def test_statements_after_another_into_a_table_that_looks_rows_up(self):
        self.sql("CREATE TABLE shop.c (id BIGINT, v INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('changelog-producer' = 'lookup', 'bucket' = '1')")
        # What one statement keeps for look-ups outlives what it read with.
        self.sql("INSERT INTO shop.c VALUES (7, 0); INSERT INTO shop.c VALUES (1, 1), (4, 1); INSERT INTO shop.c VALUES (8, 2), (5, 2); "
                 "INSERT INTO shop.c VALUES (7, 6); INSERT INTO shop.c VALUES (1, 9), (8, 9)")
        self.assertEqual([(row["id"], row["v"]) for row in self.query("SELECT * FROM shop.c ORDER BY id")], [(1, 9), (4, 1), (5, 2), (7, 6), (8, 9)])
        self.run_program("check", "shop.c", "--data", "--changelog")

    def test_keys_that_move_over_each_other_all_arrive(self):
        self.orders()
        self.sql("UPDATE shop.orders SET id = id + 1")
        self.assertEqual([row["id"] for row in self.query("SELECT id FROM shop.orders ORDER BY id")], list(range(2, 11)))
        self.assertEqual(self.query("SELECT amount FROM shop.orders WHERE id = 10"), [{"amount": "13.50"}])

    def test_a_table_is_made_of_a_query_or_not_at_all(self):
        self.orders()
        done = self.sql("CREATE TABLE shop.totals (PRIMARY KEY (plan) NOT ENFORCED) WITH ('bucket' = '1') AS "
                        "SELECT plan, sum(amount) AS total FROM shop.orders GROUP BY plan")
        self.assertIn("2 rows inserted into shop.totals, snapshot 1", done.stderr)
        self.assertEqual(self.query("DESCRIBE shop.totals")[1]["type"], "DECIMAL(38, 2)")
        failed = self.sql("CREATE TABLE shop.bad AS SELECT error('no') AS a FROM shop.orders", status=1)
        self.assertIn("no", failed.stderr)
        self.assertEqual([row["table"] for row in self.query("SHOW TABLES")], ["shop.orders", "shop.totals"])
        text = self.sql("SHOW CREATE TABLE shop.totals").stdout
        self.sql("DROP TABLE shop.totals; " + text)
        self.assertEqual(self.sql("SHOW CREATE TABLE shop.totals").stdout, text)

    def test_system_tables_are_what_show_tells(self):
        self.orders()
        for what in ("snapshots", "schemas", "options", "files", "manifests", "jobs"):
            with self.subTest(what):
                self.assertEqual(self.query(f'FROM shop."orders${what}"'), self.rows("show", what, "shop.orders"))

    def test_changes_end_at_a_snapshot(self):
        self.sql("CREATE TABLE shop.t (id INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1', 'changelog-producer' = 'input')")
        for n in range(3):
            self.sql(f"INSERT INTO shop.t VALUES ({n})")
        self.assertEqual(self.query("SELECT id FROM changes('shop.t', from_snapshot => 1, to_snapshot => 2) ORDER BY 1"), [{"id": 0}, {"id": 1}])

    def test_a_statement_that_fails_leaves_nothing_behind(self):
        self.orders()
        before = self.query("SELECT count(*) AS n FROM shop.\"orders$snapshots\"")
        for statement, why in (
                ("INSERT INTO shop.orders SELECT 1, 'x'", "3 are written to: id, plan, amount"),
                ("INSERT INTO shop.orders (id, nothing) VALUES (1, 2)", "no column nothing"),
                ("INSERT INTO shop.orders VALUES (1, 'x', 'much')", "much"),
                ("INSERT INTO shop.orders VALUES (1, 'x', 123456789)", "Could not cast"),
                ("INSERT INTO shop.orders VALUES (NULL, 'x', 1)", "id"),
                ("INSERT INTO shop.orders SELECT id, CASE WHEN id = 9 THEN error('late') END, 1 FROM shop.orders", "late"),
                ("UPDATE shop.orders SET nothing = 1", "no column nothing"),
                ("DELETE FROM shop.missing", "missing"),
                ("SELECT * FROM shop.missing", "missing")):
            with self.subTest(statement):
                self.assertIn(why, self.sql(statement, status=1).stderr)
        self.assertEqual(self.query("SELECT count(*) AS n FROM shop.\"orders$snapshots\""), before)

    def test_what_would_not_stand_for_itself_is_refused(self):
        self.sql("CREATE TABLE shop.log (a INT) WITH ('bucket' = '-1')")
        self.assertIn("append table", self.sql("DELETE FROM shop.log", status=1).stderr)
        self.sql("CREATE TABLE shop.sums (a INT, n BIGINT, PRIMARY KEY (a) NOT ENFORCED) "
                 "WITH ('bucket' = '1', 'merge-engine' = 'aggregation', 'fields.n.aggregate-function' = 'sum')")
        self.assertIn("merge-engine=aggregation", self.sql("UPDATE shop.sums SET n = 1", status=1).stderr)
        self.assertIn("merge-engine=aggregation", self.sql("DELETE FROM shop.sums", status=1).stderr)

    def test_statements_come_from_a_file_or_standard_input(self):
        self.orders()
        script = "-- how many\nUSE shop; SELECT count(*) AS n FROM orders;\n"
        self.assertEqual(self.run_program("sql", "-f", self.write("q.sql", script)).stdout, '{"n":9}\n')
        self.assertEqual(self.run_program("sql", stdin=script).stdout, '{"n":9}\n')
        self.assertEqual(self.run_program("sql", "--database", "shop", stdin="SELECT count(*) AS n FROM orders").stdout, '{"n":9}\n')
        out = self.folder / "o.parquet"
        self.sql("SELECT * FROM shop.orders", status=0)
        self.run_program("sql", "-c", "SELECT * FROM shop.orders", "-o", out)
        self.assertEqual(self.query(f"SELECT count(*) AS n FROM '{out}'"), [{"n": 9}])
        self.assertIn("one statement", self.run_program("sql", "-c", "SELECT 1; SELECT 2", "-o", out, status=2).stderr)

    def test_a_signal_stops_a_query(self):
        process = subprocess.Popen([PROGRAM, "--warehouse", str(self.warehouse), "sql", "-c",
                                    "SELECT count(*) FROM range(100000000000) a WHERE a.range % 7 = 3"],
                                   stderr=subprocess.PIPE, text=True, cwd=self.folder)
        self.addCleanup(process.kill)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 1, told)
        self.assertIn("interrupted", told)


class Prompt(ProgramCase):
    def start(self):
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.folder)
            os.execve(PROGRAM, [PROGRAM, "--warehouse", str(self.warehouse), "sql"],
                      {"TERM": "xterm", "LANG": "C.UTF-8", "HOME": str(self.folder), "PATH": os.environ["PATH"]})
        self.addCleanup(os.close, terminal)
        self.terminal = terminal
        self.child = child
        self.seen = ""
        self.wait_for("headrace>")

    def wait_for(self, text, seconds=30):
        """Reads on until the terminal has shown a text; what comes after it is for the next call."""
        end = time.monotonic() + seconds
        while text not in self.seen:
            ready, _, _ = select.select([self.terminal], [], [], max(0, end - time.monotonic()))
            self.assertTrue(ready, f"waited for {text!r}, saw {self.seen!r}")
            try:
                self.seen += os.read(self.terminal, 65536).decode(errors="replace")
            except OSError:
                self.fail(f"waited for {text!r}, saw {self.seen!r} and the end")
        self.seen = self.seen.split(text, 1)[1]

    def type(self, text):
        os.write(self.terminal, text.encode())

    def test_statements_take_lines_and_commands_help(self):
        self.run_program("create", "shop.people", "--schema", "id INT, name STRING", "--primary-key", "id")
        self.start()
        self.type("INSERT INTO shop.people\n")
        self.wait_for("..>")
        self.type("VALUES (1, 'Zoë');\n")
        self.wait_for("1 row inserted into shop.people")
        self.wait_for("headrace>")
        self.type("SELECT name FROM shop.peo\t")
        self.wait_for("ple ")
        self.type(" WHERE id = 1;\n")
        self.wait_for("Zoë")
        self.type("SELECT nothing;\n")
        self.wait_for("nothing")
        self.type("\\d shop.people\n")
        self.wait_for("INT NOT NULL")
        self.wait_for("headrace>")
        self.type("SELECT 'unfinished\n")
        self.wait_for("..>")
        self.type("\x03")
        self.wait_for("headrace>")
        self.type("SELECT count(*) FROM range(100000000000) a WHERE a.range % 7 = 3;\n")
        time.sleep(0.7)
        os.kill(self.child, signal.SIGINT)
        self.wait_for("interrupted")
        self.wait_for("headrace>")
        self.type("\\q\n")
        _, status = os.waitpid(self.child, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)
        history = self.folder / ".local" / "state" / "headrace" / "sql_history"
        self.assertIn("shop.people", history.read_text())


if __name__ == "__main__":
    import unittest
    unittest.main()
