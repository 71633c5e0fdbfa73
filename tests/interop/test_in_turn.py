#!/usr/bin/env python3
"""Several programs write to one table in turn, and each compacts what the others wrote; and two write at the same time."""

import json
import threading
import time
import unittest

import generate
import interop_case
from interop_case import HEADRACE, JAVA, PYPAIMON
from model import Table, row_line

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

    def test_both_at_once(self):
        """Every commit of both is in the table and in the stream once, whoever won each race for a snapshot id. headrace goes on for
        longer: Java may replace a snapshot file that has just appeared, which headrace finds at its next commit and commits anew."""
        feature = "both writing at once, write-only"
        for table, keyed in ((Table("db.at_once", {"id": "BIGINT NOT NULL", "w": "STRING"}, ["id"],
                                    options={"bucket": "2", "write-only": "true"}), True),
                             (Table("db.at_once_append", {"id": "BIGINT", "w": "STRING"}, options={"bucket": "-1", "write-only": "true"}), False)):
            path = self.java.create(warehouse=self.warehouse("at_once"), **table.definition())["path"]
            rows = {JAVA: [{"_commit": n, "id": n, "w": f"java {n}"} for n in range(20)],
                    HEADRACE: [{"_commit": n, "_rowkind": "+I", "id": 1000 + n, "w": f"headrace {n}"} for n in range(50)]}
            problems = []

            def write(writer):
                try:
                    if writer == JAVA:
                        while not interop_case.snapshots(path) and threads[1].is_alive():
                            time.sleep(0.002)  # until headrace is in the middle of it
                        self.java.write(path=path, rows=rows[JAVA], user="java-writer")
                    else:
                        self.headrace.write(path, rows[HEADRACE], keyed=keyed)
                except Exception as problem:  # told below, in the main thread
                    problems.append(problem)

            threads = [threading.Thread(target=write, args=(writer,)) for writer in rows]
            for thread in reversed(threads):
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(problems, [])
            want = sorted(row_line(row, table.fields) for some in rows.values() for row in some)
            for reader in (JAVA, PYPAIMON, HEADRACE):
                got = self.programs[reader].scan(path=path)
                self.check(feature, "in turn", reader, "rows", sorted(got), want, f"of {path}")
            for reader in (JAVA, HEADRACE):
                got = []
                for line in self.programs[reader].changes(path=path):
                    row = json.loads(line)
                    got.append(row_line(row, table.fields))
                self.check(feature, "in turn", reader, "changes", sorted(got), want, f"of {path}")


if __name__ == "__main__":
    unittest.main()
