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

    def test_a_stage_goes_on_and_says_so(self):
        self.run_program("create", "shop.sales", "--schema", "region STRING, amount BIGINT")
        pipeline = self.write("totals.sql", """
            CREATE TABLE shop.totals (region STRING, sales BIGINT, amount TINYINT, PRIMARY KEY (region) NOT ENFORCED)
              WITH ('bucket' = '1', 'merge-engine' = 'aggregation', 'fields.default-aggregate-function' = 'sum', 'changelog-producer' = 'lookup',
                    'snapshot.num-retained.min' = '1', 'snapshot.num-retained.max' = '1');
            INSERT INTO shop.totals SELECT region, count(*), sum(amount) FROM shop.sales GROUP BY region""")
        run = lambda: self.run_program("run", pipeline, "--once")
        self.ingest_lines("shop.sales", [{"region": "north", "amount": 100}], name="1.jsonl")
        self.assertNotIn("but", run().stderr)
        self.ingest_lines("shop.sales", [{"region": "north", "amount": 100}], name="2.jsonl")
        told = run().stderr
        self.assertIn("shop.totals: rows are committed, but compacting bucket 0 of table shop.totals", told)
        self.assertIn("the sum 100 + 100 overflows TINYINT", told)
        self.ingest_lines("shop.sales", [{"region": "north", "amount": 1}], name="3.jsonl")
        self.assertIn("shop.totals: 1 row in 1 commit", run().stderr)
        # What keeps old snapshots from being ended is told as well.
        tags = self.warehouse / "shop.db" / "totals" / "tag"
        tags.mkdir(exist_ok=True)
        (tags / "tag-broken").write_text("{")
        self.ingest_lines("shop.sales", [{"region": "north", "amount": 1}], name="4.jsonl")
        self.assertIn("shop.totals: rows are committed, but old snapshots could not be ended: ", run().stderr)
