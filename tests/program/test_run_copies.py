"""`headrace run` with copies of tables under another key, made by hand and by the planner; and the pipelines of the documents."""

import os
import random
import subprocess
import unittest

from program_case import FIXTURES, PROGRAM
from run_case import ENRICHED, PIPELINE, PLANS, RunCase, SEED


class Copies(RunCase):
    def test_a_copy_under_the_join_key_serves_a_target_with_the_first_tables_key(self):
        self.chain()
        copy = ("CREATE TABLE by_customer (customer_id BIGINT, order_id BIGINT, day DATE, amount DECIMAL(12, 2), PRIMARY KEY (customer_id, order_id) NOT ENFORCED) "
                "WITH ('bucket' = '2', 'changelog-producer' = 'input');\nINSERT INTO by_customer SELECT customer_id, order_id, day, amount FROM orders;\n")
        self.pipeline(PIPELINE.replace("INSERT INTO enriched", copy + "INSERT INTO enriched").replace("FROM orders o", "FROM by_customer o"))
        self.assertIn("shop.by_customer  by o.customer_id, read in part", self.run_program("run", self.folder / "chain.sql", "--explain").stdout)
        self.enriched_stays_true(customers=range(6))

    def enriched_stays_true(self, customers=(*range(6), "NULL")):
        draw = random.Random(SEED)
        for step in range(12):
            changes = [f"INSERT INTO shop.orders VALUES ({draw.randrange(30)}, {draw.choice(customers)}, DATE '2026-05-0{draw.randrange(1, 4)}', {draw.randrange(100)})" for _ in range(4)]
            changes.append(f"INSERT INTO shop.customers VALUES ({draw.randrange(6)}, 'n{step}', '{draw.choice(PLANS)}')")
            if step % 3 == 2:
                changes.append(f"DELETE FROM shop.orders WHERE order_id = {draw.randrange(30)}")
                changes.append(f"DELETE FROM shop.customers WHERE customer_id = {draw.randrange(6)}")
            self.sql("; ".join(changes))
            self.run_once()
            expected = ENRICHED.format(orders="shop.orders", customers="shop.customers")
            differing = f"(FROM shop.enriched EXCEPT ({expected})) UNION ALL (({expected}) EXCEPT FROM shop.enriched)"
            self.assertEqual(self.query(f"SELECT * FROM ({differing})"), [], f"HEADRACE_SEED={SEED}")
            self.assertEqual(self.query("SELECT (SELECT count(*) FROM shop.enriched) - (SELECT count(*) FROM shop.orders) AS n"), [{"n": 0}])

    def chain_with_copies(self):
        self.chain()
        self.pipeline("SET 'copies' = 'true';\n" + PIPELINE)

    def test_the_planner_makes_and_shows_them_when_told_to(self):
        self.chain_with_copies()
        explained = self.run_program("run", self.folder / "chain.sql", "--explain")
        self.assertIn("created table shop.orders_by_customer_id", explained.stderr)
        self.assertIn("INSERT INTO shop.orders_by_customer_id  (job copies.shop.orders_by_customer_id)\n  row by row: the changes of shop.orders", explained.stdout)
        self.assertIn("shop.orders_by_customer_id  by o.customer_id, read in part", explained.stdout)
        self.enriched_stays_true()
        self.assertIn("shop.orders_by_customer_id", self.run_program("jobs", "shop.enriched").stdout)

    def test_with_copies_and_without_them_are_two_statements(self):
        self.chain()
        self.assertIn("of a copy by customer_id a part would be read (SET 'copies' = 'true')", self.run_program("run", self.folder / "chain.sql", "--explain").stdout)
        self.run_once()
        held = self.warehouse / "shop.db/orders/consumer/consumer-headrace-chain.shop.enriched"
        self.assertTrue(held.exists())
        self.pipeline("SET 'copies' = 'true';\n" + PIPELINE)
        self.assertIn("holds what another statement made", self.run_once(status=1).stderr)
        self.run_once("--rebuild")
        self.assertFalse(held.exists(), "what is read no more is held no more")
        self.pipeline("SET 'copy' = 'true';\n" + PIPELINE)
        self.assertIn("SET 'copy': a pipeline has one setting, SET 'copies' = 'true'", self.run_once(status=1).stderr)

    def test_a_copy_follows_what_becomes_of_its_source(self):
        self.chain_with_copies()
        self.sql("ALTER TABLE shop.orders ADD note STRING; INSERT INTO shop.orders VALUES (1, 1, DATE '2026-05-01', 3, 'n')")
        self.run_once()
        self.sql("ALTER TABLE shop.orders ADD later STRING")  # which the copy has not, and no statement asks for
        self.sql("INSERT INTO shop.orders VALUES (2, 1, DATE '2026-05-01', 4, 'n', 'l')")
        self.run_once()
        self.run_program("alter", "shop.orders", "retype", "amount", "DECIMAL(20, 2)")
        told = self.run_once(status=1).stderr
        self.assertIn("let the copy follow: headrace alter shop.orders_by_customer_id retype amount 'DECIMAL(20, 2)'", told)
        self.run_program("alter", "shop.orders_by_customer_id", "retype", "amount", "DECIMAL(20, 2)")
        self.run_once()
        self.sql("ALTER TABLE shop.orders DROP note")
        self.assertIn("--rebuild", self.run_once(status=1).stderr)
        self.run_once("--rebuild")
        self.sql("DELETE FROM shop.orders WHERE order_id = 1")
        self.run_once()
        self.assertEqual(self.query("SELECT order_id, amount FROM shop.enriched"), [{"order_id": 2, "amount": "4.00"}])

    def test_a_statement_may_stand_before_the_one_that_makes_its_source(self):
        self.chain()
        first = ("CREATE TABLE days (plan STRING, days BIGINT, PRIMARY KEY (plan) NOT ENFORCED) WITH ('bucket' = '1', 'changelog-producer' = 'input');\n"
                 "INSERT INTO days SELECT plan, count(DISTINCT day) FROM enriched GROUP BY plan;\n")
        text = PIPELINE.replace("INSERT INTO enriched", first + "INSERT INTO enriched")
        self.pipeline(text)
        self.sql("INSERT INTO shop.orders VALUES (5, 1, DATE '2026-05-01', 3), (6, NULL, DATE '2026-05-02', 4)")
        self.run_once()
        self.pipeline("SET 'copies' = 'true';\n" + text)
        self.run_once("--rebuild")
        self.assertEqual(self.query("FROM shop.days"), [{"plan": "unknown", "days": 2}])
        self.assertEqual([row["_rowkind"] for row in self.rows("changes", "shop.days", "--from", "earliest")], ["+I"], "what was right was not taken away in between")

    def test_pipelines_share_a_copy(self):
        self.chain_with_copies()
        self.sql("INSERT INTO shop.orders VALUES (5, 1, DATE '2026-05-01', 3), (6, NULL, DATE '2026-05-01', 4)")
        self.run_once()
        self.sql("DELETE FROM shop.orders WHERE order_id = 6; UPDATE shop.orders SET customer_id = 2 WHERE order_id = 5")
        self.run_once("--name", "other")
        self.assertEqual(self.query("SELECT order_id, customer_id FROM shop.orders_by_customer_id"), [{"order_id": 5, "customer_id": 2}])

    def test_a_table_that_is_no_copy_is_not_taken_for_one(self):
        self.chain_with_copies()
        columns = "order_id BIGINT, customer_id BIGINT, day DATE, amount DECIMAL(12, 2), _copy_key BIGINT"
        self.sql(f"CREATE TABLE shop.orders_by_customer_id ({columns}, PRIMARY KEY (_copy_key, order_id) NOT ENFORCED) WITH ('bucket' = '1'); "
                 "INSERT INTO shop.orders_by_customer_id VALUES (77, 1, DATE '2026-05-01', 3, 1)")
        self.assertIn("none tells where the copy of shop.orders stands", self.run_once(status=1).stderr)
        self.run_once("--rebuild")
        self.assertEqual(self.query("SELECT count(*) AS n FROM shop.orders_by_customer_id"), [{"n": 0}])

    def test_a_copy_that_the_file_makes_itself_is_told(self):
        self.chain_with_copies()
        made = "CREATE TABLE orders_by_customer_id (order_id BIGINT, PRIMARY KEY (order_id) NOT ENFORCED) WITH ('bucket' = '1');\n"
        self.pipeline("SET 'copies' = 'true';\n" + PIPELINE.replace("CREATE TABLE enriched", made + "CREATE TABLE enriched"))
        self.assertIn("which the pipeline makes itself; give that table another name", self.run_once(status=1).stderr)

    def test_rows_that_move_within_a_copy_are_not_taken_row_by_row_into_the_first_key(self):
        self.chain()
        self.pipeline("USE shop;\nCREATE TABLE moved (customer_id BIGINT, order_id BIGINT, PRIMARY KEY (customer_id, order_id) NOT ENFORCED) WITH ('bucket' = '1');\n"
                      "CREATE TABLE back (order_id BIGINT, customer_id BIGINT, PRIMARY KEY (order_id) NOT ENFORCED) WITH ('bucket' = '1');\n"
                      "INSERT INTO moved SELECT customer_id, order_id FROM orders;\nINSERT INTO back SELECT order_id, customer_id FROM moved;\n")
        self.assertIn("two may differ in customer_id alone", self.run_once(status=1).stderr)


class Documented(RunCase):
    def test_the_first_pipeline_of_the_documents_does_what_they_say(self):
        text = (FIXTURES.parent.parent / "docs/pipelines.md").read_text().split("## A first one")[1].split("## What can be kept")[0]
        tables, pipeline, commands, shown = [part.split("\n", 1)[1] for part in text.split("```")[1::2]]
        self.pipeline(pipeline, "revenue.sql")
        script = f"set -e; headrace() {{ '{PROGRAM}' --warehouse '{self.warehouse}' \"$@\"; }}\n{tables}{commands}"
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=self.folder, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(shown.rsplit("rows", 1)[0], done.stdout)
        self.assertIn("by touched keys", done.stdout)


    def test_the_first_pipeline_of_the_readme_does_what_it_says(self):
        """Each command, with all that it prints."""
        readme = (FIXTURES.parent.parent / "README.md").read_text()
        block = readme.split("<!-- pipeline -->\n```\n")[1].split("```")[0]
        environment = {**os.environ, "PATH": f"{os.path.dirname(PROGRAM)}:{os.environ['PATH']}", "HEADRACE_WAREHOUSE": str(self.warehouse)}
        for part in block.split("\n$ ")[1:]:  # behind the first, which sets what is set here
            if "<<" in part.split("\n")[0]:
                command, shown = part.rsplit("\nEND", 1)
                command += "\nEND\n"
            else:
                command, shown = part.split("\n", 1) if "\n" in part else (part, "")
                while command.endswith("\\"):
                    more, shown = shown.split("\n", 1)
                    command += "\n" + more
            done = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self.folder, env=environment, timeout=120)
            told = done.stdout.replace(str(self.warehouse), "/home/ana/chain")
            with self.subTest(command):
                self.assertEqual((done.returncode, told.strip()), (0, shown.strip()))


if __name__ == "__main__":
    unittest.main()
