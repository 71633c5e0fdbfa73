"""Eight processes write the same keys into one table at once: every acknowledged row is there once, and the same versions win before and after
a full compaction. HEADRACE_CRASH_ALL=1: a hundred commits each."""

import json
import os
import subprocess
import unittest

from program_case import PROGRAM, ProgramCase

WRITERS = 8
COMMITS = 100 if os.environ.get("HEADRACE_CRASH_ALL") else 15
ROWS = 6


class ManyWriters(ProgramCase):
    def test_eight_processes_at_once(self):
        table = self.customers("--option", "commit.max-retries=1000", "--option", "commit.max-retry-wait=100 ms")
        processes = []
        for writer in range(WRITERS):
            # One key of its own a commit and five that all writers fight for.
            lines = []
            for commit in range(COMMITS):
                keys = [1000 + writer * 1000 + commit] + [(writer + commit * k) % 20 for k in range(1, ROWS)]
                lines += [{"id": key, "name": f"w{writer}", "plan": f"{commit}.{n}"} for n, key in enumerate(keys)]
            file = self.write(f"writer-{writer}.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
            command = [PROGRAM, "--warehouse", str(self.warehouse), "ingest", table, str(file), "--format", "json", "--commit-every", str(ROWS)]
            processes.append((lines, subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)))
        written = []
        for lines, process in processes:
            _, errors = process.communicate(timeout=550)
            self.assertEqual(process.returncode, 0, errors)
            written += lines

        changes = self.rows("changes", table)
        plain = [{k: c[k] for k in ("id", "name", "plan")} for c in changes]
        order = lambda row: json.dumps(row, sort_keys=True)  # noqa: E731
        self.assertEqual(sorted(plain, key=order), sorted(written, key=order), "every acknowledged row once")
        winners = {row["id"]: row for row in plain}
        expected = sorted(winners.values(), key=order)
        self.assertEqual(sorted(self.rows("read", table), key=order), expected, "the last in the order of snapshots")
        self.run_program("compact", table, "--full")
        self.assertEqual(sorted(self.rows("read", table), key=order), expected, "after a full compaction")
        self.assertEqual(self.rows("changes", table), changes)


if __name__ == "__main__":
    unittest.main()
