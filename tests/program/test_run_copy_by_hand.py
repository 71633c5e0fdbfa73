"""`headrace run` with a copy of a table under another key, made by the file itself."""

import unittest

from run_case import PIPELINE, RunCase


class CopyByHand(RunCase):
    def test_a_copy_under_the_join_key_serves_a_target_with_the_first_tables_key(self):
        self.chain()
        copy = ("CREATE TABLE by_customer (customer_id BIGINT, order_id BIGINT, day DATE, amount DECIMAL(12, 2), PRIMARY KEY (customer_id, order_id) NOT ENFORCED) "
                "WITH ('bucket' = '2', 'changelog-producer' = 'input');\nINSERT INTO by_customer SELECT customer_id, order_id, day, amount FROM orders;\n")
        self.pipeline(PIPELINE.replace("INSERT INTO enriched", copy + "INSERT INTO enriched").replace("FROM orders o", "FROM by_customer o"))
        self.assertIn("shop.by_customer  by o.customer_id, read in part", self.run_program("run", self.folder / "chain.sql", "--explain").stdout)
        self.enriched_stays_true(customers=range(6))


if __name__ == "__main__":
    unittest.main()
