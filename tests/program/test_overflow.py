"""A sum that its column cannot hold: an error for that key and bucket by name, while everything else goes on."""

from program_case import ProgramCase


class Overflow(ProgramCase):
    def totals(self, *options):
        self.run_program("create", "shop.totals", "--schema", "region STRING, id BIGINT, amount TINYINT", "--primary-key",
                         "region,id", "--partition-by", "region", "--option", "bucket=1", "--option",
                         "merge-engine=aggregation", "--option", "fields.amount.aggregate-function=sum", *options)
        return "shop.totals"

    def rows_of(self, table, amounts, name):
        lines = [{"region": region, "id": 7, "amount": amount} for region, amount in amounts]
        return self.ingest_lines(table, lines, name=name)

    def test_other_buckets_are_compacted_and_the_key_is_named(self):
        table = self.totals("--option", "write-only=true")
        self.rows_of(table, [("north", 127), ("south", 1)], "1.jsonl")
        self.rows_of(table, [("north", 1), ("south", 2)], "2.jsonl")
        done = self.run_program("compact", table, "--full", status=1)
        self.assertIn("4 files became 3", done.stderr)
        self.assertIn("region=north", done.stderr)
        self.assertIn("key (id=7): column 'amount': the sum 127 + 1 overflows TINYINT", done.stderr)
        self.assertNotIn("region=south", done.stderr)
        got = self.rows("get", table, "region=south", "id=7")
        self.assertEqual([row["amount"] for row in got], [3])
        failed = self.run_program("read", table, status=1)
        self.assertIn("the sum 127 + 1 overflows TINYINT", failed.stderr)

    def test_an_ingest_goes_on_and_says_so(self):
        table = self.totals("--option", "num-sorted-run.compaction-trigger=2")
        self.rows_of(table, [("north", 127), ("south", 1)], "1.jsonl")
        done = self.rows_of(table, [("north", 1), ("south", 2)], "2.jsonl")
        self.assertIn("rows are committed, but compacting", done.stderr)
        self.assertIn("the sum 127 + 1 overflows TINYINT", done.stderr)
        done = self.rows_of(table, [("south", 4)], "3.jsonl")
        self.assertNotIn("overflows", done.stderr)
        # Taken back, the sum still passes what the column holds on its way.
        self.rows_of(table, [("north", -20), ("north", 127), ("north", 127)], "4.jsonl")
        self.assertEqual([row["amount"] for row in self.rows("get", table, "region=south", "id=7")], [7])
        failed = self.run_program("get", table, "region=north", "id=7", status=1)
        self.assertIn("overflows TINYINT", failed.stderr)
