"""The worked example from a real capture: the four changes of customer 8821, in order, by headrace and by Java Paimon."""

import json
import tempfile
import unittest

import peers

CDC = peers.FIXTURES / "cdc"
EXPECTED = [("+I", "trial", "Av. Paulista 1000"), ("-U", "trial", "Av. Paulista 1000"), ("+U", "pro", "Av. Paulista 1000"),
            ("-U", "pro", "Av. Paulista 1000"), ("+U", "pro", "Rua das Acácias 120"), ("-D", "pro", "Rua das Acácias 120")]


class Customer8821(unittest.TestCase):
    def test_the_four_changes_come_out_in_order(self):
        headrace, java = peers.Headrace(), peers.java()
        self.addCleanup(java.close)
        warehouse = tempfile.mkdtemp(prefix="headrace-interop-")
        headrace.run("--warehouse", warehouse, "ingest", "shop.customers", CDC / "customers.debezium-schema.jsonl", "--create", "--keys",
                     CDC / "customers.debezium-schema.keys.jsonl", "--option", "changelog-producer=input", "--commit-every", 3)
        path = f"{warehouse}/shop.db/customers"
        by_java = java.changes(path=path, **{"from": 1})
        by_headrace = headrace.run("changes", path, "--format", "jsonl").splitlines()
        self.assertEqual(sorted(by_java), sorted(by_headrace))
        for lines in (by_java, by_headrace):
            changes = [json.loads(line) for line in lines]
            self.assertEqual([(c["_rowkind"], c["plan"], c["address"]) for c in changes if c["customer_id"] == 8821], EXPECTED)


if __name__ == "__main__":
    unittest.main()
