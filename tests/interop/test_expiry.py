#!/usr/bin/env python3
"""Snapshots and changelogs that Java Paimon and headrace expire in turn: what is retained reads the same in both, and neither
deletes what the other, a tag or a consumer still needs."""

import json
import pathlib
import shutil
import unittest

import generate
import interop_case
from interop_case import HEADRACE, JAVA, PYPAIMON
from model import Model, Table

VALUES = {"v": "INT", "w": "STRING"}
KEEP = {"snapshot.num-retained.min": "3", "snapshot.num-retained.max": "4"}
LONGER = {**KEEP, "changelog.num-retained.min": "3", "changelog.num-retained.max": "9"}


class History:
    """A table that writers commit to in turn, each expiring after its commit, beside the model's state of every snapshot."""

    def __init__(self, test, feature, table, creator):
        self.test, self.feature, self.table = test, feature, table
        self.known = Model(table)
        self.path = pathlib.Path(test.programs[creator].create(warehouse=test.warehouse("expiry"), **table.definition())["path"])
        self.state = {}    # snapshot id to rows, of every snapshot that ever was
        self.changes = {}  # snapshot id to changes
        self.tags = {}     # name to rows

    def numbers(self, kind):
        return sorted(int(f.name.removeprefix(kind + "-")) for f in (self.path / kind).glob(kind + "-*"))

    def write(self, writer, batch):
        last = max(self.state, default=0)
        self.known.commit(batch)
        if writer == HEADRACE:
            self.test.headrace.write(self.path, batch, keyed=self.table.keyed)
        else:
            self.test.programs[writer].write(path=self.path, rows=batch, user=f"{writer}-writer")
        self._learn(last, brought_rows=True)

    def compact(self, writer):
        last = max(self.state)
        self.test.programs[writer].compact(path=self.path, full=True)
        self._learn(last, brought_rows=False)

    def _learn(self, last, brought_rows):
        newest = self.numbers("snapshot")[-1]
        for number in range(last + 1, newest + 1):
            self.state[number] = self.known.latest
            first = brought_rows and number == last + 1
            self.changes[number] = self.known.changes[-1] if first else []

    def tag(self, name):
        """As Java's createTag: the snapshot's own JSON under another name."""
        newest = self.numbers("snapshot")[-1]
        (self.path / "tag").mkdir(exist_ok=True)
        shutil.copy(self.path / "snapshot" / f"snapshot-{newest}", self.path / "tag" / f"tag-{name}")
        self.tags[name] = self.state[newest]

    def compare(self, expirer):
        t = self.test
        for number in self.numbers("snapshot"):
            for reader in (JAVA, HEADRACE):
                got = t.attempt(self.feature, expirer, reader, "rows", lambda: t.programs[reader].scan(path=self.path, snapshot=number))
                t.check(self.feature, expirer, reader, "rows", sorted(got), sorted(self.state[number]), f"of snapshot {number} of {self.path}")
        first = min(self.numbers("snapshot") + self.numbers("changelog"))
        want = {n: sorted(c) for n, c in self.changes.items() if n >= first and c}
        for reader in (JAVA, HEADRACE):
            got = {}
            for line in t.attempt(self.feature, expirer, reader, "changes", lambda: t.programs[reader].changes(path=self.path, **{"from": first})):
                row = json.loads(line)
                kind, number = row.pop("_rowkind"), row.pop("_snapshot")
                got.setdefault(number, []).append(f"{kind} {interop_case.encoding.dump(row)}")
            t.check(self.feature, expirer, reader, "changes", {n: sorted(v) for n, v in got.items()}, want, f"from snapshot {first} of {self.path}")
        for name, rows in self.tags.items():
            got = t.attempt(self.feature, expirer, JAVA, "tag", lambda: t.java.scan(path=self.path, options={"scan.tag-name": name}))
            t.check(self.feature, expirer, JAVA, "tag", sorted(got), sorted(rows), f"of tag {name} of {self.path}")


class Expiry(interop_case.InteropTest):
    def play(self, feature, name, options, creator, writers):
        table = Table(f"db.{name}", {"id": "BIGINT NOT NULL", **VALUES}, ["id"], options={"bucket": "2", **options})
        history = History(self, feature, table, creator)
        batches = generate.Generator(name).keyed_batches(table, 16, 8, keys=20, before_images=options.get("changelog-producer") == "input")
        for n, batch in enumerate(batches):
            writer = writers[n % len(writers)]
            history.write(writer, batch)
            if n in (3, 9):
                history.tag(f"t{n}")
            if n % 5 == 4:
                history.compact((JAVA, HEADRACE)[n // 5 % 2])
            if n % 3 == 2:
                history.compare(writer)
        self.assertLessEqual(len(history.numbers("snapshot")), 4)
        self.assertGreater(history.numbers("snapshot")[0], 10)
        return history

    def test_snapshots_in_turn(self):
        self.play("expiry of snapshots, in turn", "in_turn", KEEP, JAVA, (JAVA, HEADRACE))
        self.play("expiry of snapshots, in turn", "input_in_turn", {**KEEP, "changelog-producer": "input"}, HEADRACE, (HEADRACE, JAVA, JAVA))

    def test_java_reads_what_headrace_expired(self):
        history = self.play("expiry of snapshots", "by_headrace", {**KEEP, "changelog-producer": "input"}, HEADRACE, (HEADRACE,))
        self.headrace.run("expire", history.path, "--retain-max", 1)
        self.assertEqual(len(history.numbers("snapshot")), 1)
        history.compare(HEADRACE)
        # What headrace left is what Java's expiry goes on from.
        for batch in generate.Generator("more").keyed_batches(history.table, 4, 5, keys=20, before_images=True):
            history.write(JAVA, batch)
        history.compare(JAVA)

    def test_headrace_reads_what_java_expired(self):
        history = self.play("expiry of snapshots", "by_java", KEEP, JAVA, (JAVA,))
        self.headrace.run("expire", history.path, "--retain-max", 2)
        history.compare(HEADRACE)

    def test_changelogs_outlive_their_snapshots(self):
        for producer in ("input", "none"):
            for creator, writers in ((JAVA, (JAVA, HEADRACE)), (HEADRACE, (HEADRACE,)), (JAVA, (JAVA,))):
                name = f"longer_{producer}_{creator}_{len(writers)}"
                # Java 1.3.1 fails to expire changelogs while there are fewer snapshots than it is to retain at least: 3 here.
                history = self.play(f"changelogs outlive snapshots, {producer}", name, {**LONGER, "changelog-producer": producer}, creator, writers)
                self.assertGreater(len(history.numbers("changelog")), 2, name)

    def test_a_consumer_holds_back_both(self):
        feature = "a consumer holds snapshots back"
        table = Table("db.consumed", {"id": "BIGINT NOT NULL", **VALUES}, ["id"], options={"bucket": "1", **KEEP})
        history = History(self, feature, table, JAVA)
        batches = generate.Generator("consumed").keyed_batches(table, 12, 5, keys=10)
        for n, batch in enumerate(batches):
            if n == 2:
                (history.path / "consumer").mkdir(exist_ok=True)
                (history.path / "consumer" / "consumer-reader").write_text('{\n  "nextSnapshot" : 2\n}', encoding="utf-8")
            history.write((JAVA, HEADRACE)[n % 2], batch)
        self.assertEqual(history.numbers("snapshot")[0], 2)
        told = self.headrace.run("expire", history.path, "--dry-run")
        self.assertIn("consumer 'reader' reads snapshot 2 next", told)
        history.compare(HEADRACE)
        (history.path / "consumer" / "consumer-reader").unlink()
        history.write(HEADRACE, batches[0])
        self.assertLessEqual(len(history.numbers("snapshot")), 4)
        history.compare(HEADRACE)


if __name__ == "__main__":
    unittest.main()
