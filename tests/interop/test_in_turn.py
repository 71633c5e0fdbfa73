#!/usr/bin/env python3
"""Several programs write to one table in turn, and each compacts what the others wrote."""

import unittest

import generate
import interop_case
from interop_case import HEADRACE, JAVA, PYPAIMON
from model import Table

VALUES = {"v": "INT", "w": "STRING", "d": "DECIMAL(12, 2)", "t": "TIMESTAMP(6)", "a": "ARRAY<STRING>"}


class InTurn(interop_case.InteropTest):
    def play(self, feature, table, creator, batches, writers, streams=(JAVA, HEADRACE)):
        """Writers take turns; after each third write headrace and Java compact in turn, first partly, later all."""
        turns = interop_case.Turns(self, feature, table, creator)
        for n, batch in enumerate(batches):
            turns.write(writers[n % len(writers)], batch)
            if n % 3 == 2:
                turns.compact((HEADRACE, JAVA)[n // 3 % 2], full=n > len(batches) // 2)
        turns.finish(streams)

    def test_a_primary_key_table(self):
        for creator in (JAVA, HEADRACE):
            table = Table(f"db.keyed_{creator}", {"id": "BIGINT NOT NULL", **VALUES}, ["id"], options={"bucket": "2"})
            batches = generate.Generator("turns " + creator).keyed_batches(table, 10, 15, keys=40)
            self.play("primary-key table", table, creator, batches, (JAVA, HEADRACE))

    def test_a_write_only_primary_key_table(self):
        table = Table("db.write_only", {"id": "BIGINT NOT NULL", **VALUES}, ["id"], options={"bucket": "1", "write-only": "true"})
        batches = generate.Generator("write only").keyed_batches(table, 9, 15, keys=30)
        self.play("write-only primary-key table", table, JAVA, batches, (HEADRACE, JAVA))

    def test_upserts_by_all_three(self):
        table = Table("db.three", {"id": "BIGINT NOT NULL", **VALUES}, ["id"], options={"bucket": "2"})
        batches = generate.Generator("three").keyed_batches(table, 12, 12, keys=30, deletes=False, kinds=False)
        self.play("primary-key table, upserts", table, HEADRACE, batches, (PYPAIMON, HEADRACE, JAVA))

    def test_changelog_input(self):
        table = Table("db.input", {"id": "BIGINT NOT NULL", **VALUES}, ["id"], options={"bucket": "2", "changelog-producer": "input"})
        batches = generate.Generator("input").keyed_batches(table, 9, 12, keys=30, before_images=True)
        self.play("changelog-producer=input", table, HEADRACE, batches, (HEADRACE, JAVA), streams=(JAVA, PYPAIMON, HEADRACE))

    def test_sequence_field_and_partitions(self):
        table = Table("db.sequenced", {"p": "STRING NOT NULL", "id": "BIGINT NOT NULL", "seq": "BIGINT", **VALUES}, ["id", "p"], ["p"],
                      {"bucket": "1", "sequence.field": "seq"})
        batches = generate.Generator("sequenced").keyed_batches(table, 9, 15, keys=15)
        self.play("sequence.field, partitions", table, JAVA, batches, (JAVA, HEADRACE))

    def test_an_append_table_without_buckets(self):
        table = Table("db.unaware", {"p": "DATE", "id": "BIGINT", **VALUES}, partition_keys=["p"], options={"bucket": "-1"})
        g = generate.Generator("unaware")
        days = [g.value("DATE", nullable=False), None]
        batches = [[{**row, "p": days[n % 2]} for n, row in enumerate(batch)] for batch in g.append_batches(table, 12, 8)]
        self.play("append table, bucket=-1", table, HEADRACE, batches, (PYPAIMON, JAVA, HEADRACE))

    def test_an_append_table_with_buckets(self):
        table = Table("db.bucketed", {"id": "BIGINT", **VALUES}, options={"bucket": "2", "bucket-key": "id"})
        batches = generate.Generator("bucketed").append_batches(table, 12, 8)
        self.play("append table with buckets", table, JAVA, batches, (HEADRACE, PYPAIMON, JAVA))


if __name__ == "__main__":
    unittest.main()
