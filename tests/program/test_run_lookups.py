"""Lookup joins by `headrace run`: a row keeps what it found until it changes itself, through runs and a rebuild."""

import json
import unittest

from program_case import ProgramCase

SOURCES = """
CREATE TABLE shop.customers (customer_id BIGINT, plan STRING, PRIMARY KEY (customer_id) NOT ENFORCED) WITH ('bucket' = '2');
CREATE TABLE shop.orders (order_id BIGINT, customer_id BIGINT, amount INT, PRIMARY KEY (order_id) NOT ENFORCED) WITH ('bucket' = '2');
CREATE TABLE shop.clicks (page STRING, customer_id BIGINT) WITH ('bucket' = '-1');
INSERT INTO shop.customers VALUES (1, 'trial'), (2, 'pro');
INSERT INTO shop.orders VALUES (10, 1, 40), (11, 2, 25), (12, 9, 7);
INSERT INTO shop.clicks VALUES ('/', 1), ('/buy', 2), ('/', 9);
"""
PIPELINE = """
USE shop;
CREATE TABLE enriched (order_id BIGINT, plan STRING, amount INT, PRIMARY KEY (order_id) NOT ENFORCED)
  WITH ('bucket' = '1', 'changelog-producer' = 'input');
CREATE TABLE visits (page STRING, plan STRING) WITH ('bucket' = '-1');
INSERT INTO enriched
  SELECT o.order_id, c.plan, o.amount
  FROM orders AS o LEFT JOIN customers FOR SYSTEM_TIME AS OF o.proc_time AS c ON o.customer_id = c.customer_id;
INSERT INTO visits
  SELECT v.page, c.plan FROM clicks AS v JOIN customers FOR SYSTEM_TIME AS OF PROCTIME() AS c USING (customer_id);
"""


class Lookups(ProgramCase):
    def sql(self, text):
        return self.run_program("sql", "-f", self.write("statements.sql", text), "--format", "jsonl")

    def answer(self, query):
        return [list(json.loads(line).values()) for line in self.sql(query).stdout.splitlines()]

    def run_once(self, *options):
        return self.run_program("run", self.folder / "shop.sql", "--once", *options)

    def setUp(self):
        super().setUp()
        self.sql(SOURCES)
        self.write("shop.sql", PIPELINE)

    def test_a_row_keeps_what_it_found(self):
        told = self.run_once("--explain").stdout
        self.assertIn("by lookup: each change of shop.orders is joined", told)
        self.assertIn("shop.customers  looked up by customer_id = o.customer_id", told)
        self.run_once()
        self.sql("INSERT INTO shop.customers VALUES (1, 'team'), (9, 'pro'); DELETE FROM shop.customers WHERE customer_id = 2")
        self.run_once()
        self.assertEqual(self.answer("SELECT * FROM shop.enriched ORDER BY 1"), [[10, "trial", 40], [11, "pro", 25], [12, None, 7]])
        self.sql("UPDATE shop.orders SET amount = amount + 1 WHERE order_id >= 11; INSERT INTO shop.clicks VALUES ('/', 1), ('/', 2); "
                 "DELETE FROM shop.orders WHERE order_id = 10")
        self.run_once()
        self.assertEqual(self.answer("SELECT * FROM shop.enriched ORDER BY 1"), [[11, None, 26], [12, "pro", 8]])
        self.assertEqual(self.answer("SELECT * FROM shop.visits ORDER BY ALL"), [["/", "team"], ["/", "trial"], ["/buy", "pro"]])
        changes = self.run_program("changes", "shop.enriched", "--from-snapshot", "2", "--format", "jsonl").stdout.splitlines()
        self.assertEqual(sorted((list(json.loads(line).values())[0], *list(json.loads(line).values())[2:]) for line in changes),
                         sorted([("-D", 10, "trial", 40), ("-U", 11, "pro", 25), ("+U", 11, None, 26), ("-U", 12, None, 7), ("+U", 12, "pro", 8)]))
        self.run_program("check", "shop.enriched", "--data", "--changelog")

    def test_a_rebuild_looks_everything_up_anew(self):
        self.run_once()
        self.sql("INSERT INTO shop.customers VALUES (1, 'team')")
        text = PIPELINE[:PIPELINE.index("INSERT INTO visits")]
        self.write("shop.sql", text)
        self.run_once("--rebuild")
        self.assertEqual(self.answer("SELECT * FROM shop.enriched ORDER BY 1"), [[10, "team", 40], [11, "pro", 25], [12, None, 7]])

    def test_a_table_is_looked_up_by_its_primary_key_alone(self):
        self.write("shop.sql", PIPELINE.replace("o.customer_id = c.customer_id", "CAST(o.amount AS STRING) = c.plan"))
        failed = self.run_program("run", self.folder / "shop.sql", "--once", status=1)
        self.assertIn("goes by its primary key (customer_id) alone", failed.stderr)
        self.assertIn("by another INSERT", failed.stderr)


if __name__ == "__main__":
    unittest.main()
