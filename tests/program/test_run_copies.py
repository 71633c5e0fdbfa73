"""`headrace run` with copies of tables under another key, made by the planner."""

import unittest

from run_case import PIPELINE, RunCase


class Copies(RunCase):
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


if __name__ == "__main__":
    unittest.main()
