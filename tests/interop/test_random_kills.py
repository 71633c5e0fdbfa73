#!/usr/bin/env python3
"""Java and headrace write to one table in random turn, and headrace is killed in the middle of its turns, with Java going on before it comes back.

After each turn every reader is compared with the model, at the end every snapshot and the streams: each batch is there exactly once, in the
order of the snapshots. HEADRACE_INTEROP_SEED repeats a run but for the moments of the kills, HEADRACE_INTEROP_TABLES says how many tables (2).
"""

import os
import random
import time
import unittest

import generate
import interop_case
from interop_case import HEADRACE, JAVA, PYPAIMON
from test_random import FEATURE, random_table

SEED = os.environ.get("HEADRACE_INTEROP_SEED") or str(time.time_ns() % 10**9)
TABLES = int(os.environ.get("HEADRACE_INTEROP_TABLES", "2"))


class KilledTurns(interop_case.Turns):
    """Turns in which headrace dies after a while, and takes its work up again."""

    def killed(self, batches, after_seconds, others):
        """headrace writes the batches, one a commit, and is killed; Java writes `others`; headrace goes on."""
        rows = [{**row, "_commit": n} for n, batch in enumerate(batches) for row in batch]
        command = self.test.headrace.ingest(self.path, rows, keyed=self.table.keyed)
        before = self._commits_so_far()
        process = self.test.headrace.start(*command)
        time.sleep(after_seconds)
        process.kill()
        process.wait()
        done = self._commits_so_far() - before
        self.told.append(f"headrace was killed after {done} of {len(batches)} batches")
        for batch in batches[:done]:
            self.known.commit(batch)
        if before + done > 0:
            self._compare(HEADRACE)
        for batch in others:
            self.write(JAVA, batch)
        self.test.headrace.run(*command)
        self.told.append("headrace went on")
        for batch in batches[done:]:
            self.known.commit(batch)
        self._compare(HEADRACE)
        return done

    def _commits_so_far(self):
        return max(interop_case.appends(self.path).values(), default=0)


class RandomKills(interop_case.InteropTest):
    def test_killed_between_javas_commits(self):
        print(f"HEADRACE_INTEROP_SEED={SEED} HEADRACE_INTEROP_TABLES={TABLES}", flush=True)
        cut = 0
        for n in range(TABLES):
            with self.subTest(seed=SEED, table=n):
                cut += self.play(random.Random(f"kills {SEED} {n}"), n)
        print(f"kills that came in the middle: {cut}")

    def play(self, r, n):
        table = random_table(r, n)
        readers = [JAVA, HEADRACE]
        if not any("MULTISET" in t for t in table.fields.values()):
            readers.append(PYPAIMON)
        turns = KilledTurns(self, FEATURE[table.keyed], table, r.choice([JAVA, HEADRACE]), readers)
        turns.told.append(f"HEADRACE_INTEROP_SEED={SEED}, table {n}: {table}")
        g = generate.Generator(r.random())
        make = g.keyed_batches if table.keyed else g.append_batches
        more = {"keys": 20} if table.keyed else {}
        # With sequence.field a late row must not come behind a delete that a compaction has dropped: batches stay in order.
        ordered = "sequence.field" in table.options
        batches = make(table, 24, r.choice([3, 15]), **more)
        cut = 0
        while batches:
            count = r.randint(2, 6)
            mine, batches = batches[:count], batches[count:]
            theirs = []
            if not ordered and batches and r.random() < 0.7:
                theirs, batches = batches[:1], batches[1:]
            done = turns.killed(mine, r.uniform(0.02, 0.25), theirs)
            cut += 0 < done < len(mine)
            if r.random() < 0.4:
                turns.compact(r.choice([JAVA, HEADRACE]), full=r.random() < 0.5)
        turns.finish()
        return cut


if __name__ == "__main__":
    unittest.main()
