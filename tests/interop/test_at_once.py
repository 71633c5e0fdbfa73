#!/usr/bin/env python3
"""Java and headrace write to one table on a local disk at the same time, for HEADRACE_AT_ONCE_SECONDS (10) a table, as fast as they can.

Java's rename may replace a snapshot that appeared after it looked. headrace waits for whoever is about to rename before it builds on a snapshot
or acknowledges one, so every commit that either of them acknowledged must be in the table and in its changes, once."""

import json
import os
import threading
import time
import unittest

import interop_case
from interop_case import HEADRACE, JAVA
from model import Table, row_line

SECONDS = float(os.environ.get("HEADRACE_AT_ONCE_SECONDS", "10"))
OPTIONS = {"write-only": "true", "commit.max-retries": "1000"}
COMMITS_A_CALL = 10


class AtOnce(interop_case.InteropTest):
    def write_for_a_while(self, path, keyed):
        """What each writer's finished calls have written."""
        written = {JAVA: [], HEADRACE: []}
        problems = []
        until = time.monotonic() + SECONDS

        def write(writer):
            number = 0
            try:
                while time.monotonic() < until:
                    rows = []
                    for commit in range(COMMITS_A_CALL):
                        number += 1
                        row = {"_commit": commit + 1, "id": number + (1_000_000 if writer == JAVA else 0), "w": f"{writer} {number}"}
                        rows.append({**row, "_rowkind": "+I"} if keyed else row)
                    if writer == JAVA:
                        self.java.write(path=path, rows=rows, user=f"java-{number}")
                    else:
                        self.headrace.write(path, rows, keyed=keyed)
                    written[writer] += rows
            except Exception as problem:  # told below, in the main thread
                problems.append(problem)

        threads = [threading.Thread(target=write, args=(writer,)) for writer in written]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(problems, [])
        return written

    def play(self, table, keyed):
        feature = "both writing at once, write-only"
        path = self.java.create(warehouse=self.warehouse("at_once"), **table.definition())["path"]
        written = self.write_for_a_while(path, keyed)
        print(f"{table.name}: " + ", ".join(f"{len(rows)} commits of {writer}" for writer, rows in written.items()))
        want = sorted(row_line(row, table.fields) for rows in written.values() for row in rows)
        self.assertTrue(all(written.values()))
        for reader in (JAVA, HEADRACE):
            self.check(feature, "in turn", reader, "rows", sorted(self.programs[reader].scan(path=path)), want, f"of {path}")
            got = [row_line(json.loads(line), table.fields) for line in self.programs[reader].changes(path=path)]
            self.check(feature, "in turn", reader, "changes", sorted(got), want, f"of {path}")
        # The batch state of every snapshot is that of the one before it and what it says that it added.
        found = interop_case.snapshots(path)
        self.assertEqual(list(found), list(range(1, len(found) + 1)))
        total = 0
        for number, snapshot in found.items():
            total += snapshot["deltaRecordCount"]
            self.assertEqual(snapshot["totalRecordCount"], total, f"snapshot {number} of {path}")

    def test_a_primary_key_table(self):
        table = Table("db.keyed", {"id": "BIGINT NOT NULL", "w": "STRING"}, ["id"], options={"bucket": "2", **OPTIONS})
        self.play(table, keyed=True)

    def test_an_append_table(self):
        self.play(Table("db.append", {"id": "BIGINT", "w": "STRING"}, options={"bucket": "-1", **OPTIONS}), keyed=False)


if __name__ == "__main__":
    unittest.main()
