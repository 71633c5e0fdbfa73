#!/usr/bin/env python3
"""Random tables of every merge engine, changelog producer, table mode and bucket kind: headrace and Java write the same rows in the same
commits, with compactions and restarts between, each into a table of its own, and four readings must agree after every step: each
program of each table. At the end the changes must agree too, and add up to the rows.

One JVM serves all tables. RANDOM_TABLES says how many (40), HEADRACE_INTEROP_SEED repeats a run, HEADRACE_INTEROP_ONLY=7 plays
table 7 of it alone. HEADRACE_INTEROP_LIKE='lookup × .* × fixed' plays only combinations that hold this pattern.
"""

import json
import os
import random
import re
import time
import unittest

import encoding
import engines
import interop_case
import peers
from interop_case import HEADRACE, JAVA

SEED = os.environ.get("HEADRACE_INTEROP_SEED") or str(time.time_ns() % 10**9)
TABLES = int(os.environ.get("RANDOM_TABLES") or 40)
ONLY = os.environ.get("HEADRACE_INTEROP_ONLY")
LIKE = os.environ.get("HEADRACE_INTEROP_LIKE", "")
AXES = (("merge-engine={}", 0), ("changelog-producer={}", 1), ("{}", 2), ("buckets: {}", 3))


class RandomEngines(interop_case.InteropTest):
    def test_four_readings(self):
        print(f"HEADRACE_INTEROP_SEED={SEED} RANDOM_TABLES={TABLES}", flush=True)
        dealt = [c for c in engines.combinations(random.Random(f"deal {SEED}")) if re.search(LIKE, " × ".join(c))]
        outcomes = {}
        for n in range(TABLES) if ONLY is None else [int(ONLY)]:
            play = engines.draw(SEED, n, dealt[n % len(dealt)])
            with self.subTest(seed=SEED, table=n, combination=play.combination()):
                try:
                    outcome = Pair(self, n, play).run()
                except BaseException:
                    outcomes.setdefault("failed", []).append((n, play.combination()))
                    raise
                outcomes.setdefault(outcome, []).append((n, play.combination()))
        for outcome, which in sorted(outcomes.items()):
            print(f"{outcome}: {len(which)}", flush=True)
            if outcome != "held":
                for n, combination in which:
                    print(f"  table {n}: {' × '.join(combination)}", flush=True)


class Pair:
    """The two tables of one play."""

    def __init__(self, test, n, play):
        self.test, self.n, self.play, self.table = test, n, play, play.table
        self.paths = {}
        self.told = [f"HEADRACE_INTEROP_SEED={SEED} HEADRACE_INTEROP_ONLY={n}: {' × '.join(play.combination())}: {play.table}"]

    def run(self):
        try:
            return self._run()
        except peers.PeerError as error:
            self._fail(str(error)[:3000])

    def _run(self):
        refused = {}
        for writer in (JAVA, HEADRACE):
            try:
                made = self.test.programs[writer].create(warehouse=self.test.warehouse(writer), **self.table.definition())
                self.paths[writer] = made["path"]
            except peers.PeerError as error:
                refused[writer] = str(error).split("\n")[0]
        if refused:
            if len(refused) == 2:
                return "refused by both"
            self._fail(f"only {' '.join(refused)} refuses the table: {refused}")
        self._steps()
        return "held"

    def _steps(self):
        for step, argument in self.play.steps:
            if step == "write":
                self.told.append(f"wrote {[len(b) for b in argument]}")
                rows = [{**row, "_commit": n} for n, batch in enumerate(argument, 1) for row in batch]
                self.test.java.write(path=self.paths[JAVA], rows=rows, user="java-writer", wait=True, compacting=True)
                self.test.headrace.write(self.paths[HEADRACE], rows)
            else:
                self.told.append("compacted all" if argument else "compacted")
                for writer, path in self.paths.items():
                    self.test.programs[writer].compact(path=path, full=argument)
            self._rows()
        self._changes()
        self._gets()
        self._note("rows", "holds")

    def _ordered(self, lines):
        """Rows with the elements sorted of which Java keeps a hash table: their order says nothing."""
        options = self.table.options
        functions = {n: options.get(f"fields.{n}.aggregate-function") for n in self.table.fields}
        loose = [n for n, f in functions.items()
                 if f in ("merge_map", "nested_update") or (f == "collect" and options.get(f"fields.{n}.distinct") == "true")]
        if not loose:
            return lines
        rows = [json.loads(line) for line in lines]
        return [encoding.dump({n: sorted(v, key=encoding.dump) if n in loose and v is not None else v for n, v in row.items()}) for row in rows]

    def _rows(self):
        want = self._ordered(self.test.java.scan(path=self.paths[JAVA]))
        for writer, reader in ((JAVA, HEADRACE), (HEADRACE, JAVA), (HEADRACE, HEADRACE)):
            got = self._ordered(self.test.programs[reader].scan(path=self.paths[writer]))
            self._same("rows", writer, reader, sorted(got), sorted(want))
        self.rows = want

    def _gets(self):
        keys = {encoding.dump({k: json.loads(line)[k] for k in self.table.primary_keys}): line for line in self.rows}
        for text, line in list(keys.items())[:2]:
            if "\\u0000" in text:
                continue  # no argument of a program holds a zero byte
            for writer, path in self.paths.items():
                self._same("get", writer, HEADRACE, self._ordered([self.test.headrace.get(path=path, key=json.loads(text))]), [line])

    def _changes(self):
        readings = [(w, r, self._groups(self.test.programs[r].changes(path=self.paths[w]))) for w, r in
                    ((JAVA, JAVA), (JAVA, HEADRACE), (HEADRACE, JAVA), (HEADRACE, HEADRACE))]
        want = readings[0][2]
        for writer, reader, got in readings[1:]:
            if self.play.exact:
                for place in range(max(len(got), len(want))):
                    self._same(f"changes of group {place}", writer, reader, *(g[place] if place < len(g) else [] for g in (got, want)))
            self._note("changes", "holds", writer, reader)
        if self.play.producer in ("lookup", "full-compaction"):
            for writer, reader, got in readings:
                self._same("what the changes add up to", writer, reader, *self._sums(got))

    def _groups(self, lines):
        """The changes of each snapshot that has some, in order of the keys and, of a key, as delivered."""
        by_snapshot = {}
        for line in lines:
            row = json.loads(line)
            kind, number = row.pop("_rowkind"), row.pop("_snapshot")
            by_snapshot.setdefault(number, []).append((self._key(row), kind, self._ordered([encoding.dump(row)])[0]))
        return [[f"{kind} {line}" for _, kind, line in sorted(group, key=lambda change: change[0])] for _, group in sorted(by_snapshot.items())]

    def _key(self, row):
        names = self.table.primary_keys + [p for p in self.table.partition_keys if p not in self.table.primary_keys]
        return encoding.dump([row[name] for name in names])

    def _sums(self, groups):
        """What the changes add up to, and the rows; both without a column whose changes alone make no change."""
        ignored = self.table.options.get("changelog-producer.row-deduplicate-ignore-fields")
        without = lambda lines: sorted(encoding.dump({n: v for n, v in json.loads(line).items() if n != ignored}) for line in lines)
        return without(self._sum(groups)), without(self.rows)

    def _sum(self, groups):
        state = {}
        for group in groups:
            for change in group:
                key = self._key(json.loads(change[3:]))
                if change[:2] in ("+I", "+U"):
                    state[key] = change[3:]
                else:
                    state.pop(key, None)
        return state.values()

    def _note(self, what, result, writer=None, reader=None):
        pairs = [(writer, reader)] if writer else [(JAVA, JAVA), (JAVA, HEADRACE), (HEADRACE, JAVA), (HEADRACE, HEADRACE)]
        for text, place in AXES:
            for w, r in pairs:
                self.test.note(text.format(self.play.combination()[place]), f"random, {w}", r, what, result)

    def _same(self, what, writer, reader, got, want):
        if got != want:
            self._note("changes" if "changes" in what else "rows", "fails", writer, reader)
            more = "" if sorted(map(str, got)) != sorted(map(str, want)) else f"\n  got  {got}\n  want {want}"
            self._fail(f"{what} of {writer}'s table read by {reader}, against Java's reading of its own: {interop_case.difference(got, want)}{more}")

    def _fail(self, text):
        type(self.test).failed = True
        text = f"{text}\n  {self.paths}\n  after {'; '.join(self.told)}"
        print(f"table {self.n}: {text}", flush=True)  # at once: a run of many tables takes a while
        self.test.fail(text)


if __name__ == "__main__":
    unittest.main()
