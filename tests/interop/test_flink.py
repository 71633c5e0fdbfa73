#!/usr/bin/env python3
"""Flink 1.20 with Paimon: it reads what headrace writes, streams a table of headrace into an aggregate while headrace goes on writing,
and writes tables that headrace follows. The cluster lives in one JVM."""

import decimal
import json
import os
import subprocess
import threading
import time
import unittest

import encoding
import generate
import interop_case
import peers
import scenarios
from interop_case import HEADRACE
from model import Model, Table

FLINK = "flink"
PATIENCE = 120  # seconds until a stream must have come to its end; it takes a few
POLL = "/*+ OPTIONS('continuous.discovery-interval'='100 ms') */"
CUSTOMERS = {"id": "BIGINT NOT NULL", "plan": "STRING", "amount": "DECIMAL(10, 2)"}
# How headrace can lay out a file besides the default; Flink must read them all.
LAYOUTS = [{"file.compression": c} for c in ("uncompressed", "snappy", "lz4", "gzip")] + [
    {"headrace.parquet.integer-encoding": "plain"}, {"parquet.enable.dictionary": "false"}, {"data-file.thin-mode": "true"}]


def quoted(name):
    """db.full has a reserved word in it."""
    return ".".join(f"`{part}`" for part in name.split("."))


class Flink(interop_case.InteropTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.flink = peers.flink()
        cls.programs[FLINK] = cls.flink

    def rows(self, table, warehouse):
        """By Flink, in the order of the table's columns."""
        columns = ", ".join(f"`{name}`" for name in table.fields)
        return self.flink.run(warehouse=warehouse, sql=[f"SELECT {columns} FROM {quoted(table.name)}"])

    # ---- what headrace writes

    def test_flink_reads_what_headrace_writes(self):
        for scenario in scenarios.all_scenarios():
            with self.subTest(feature=scenario.feature):
                self._written(scenario.feature, scenario.table, scenario.steps)

    def test_flink_reads_every_layout_of_a_file(self):
        g = generate.Generator("layouts")
        for n, options in enumerate(LAYOUTS):
            fields = {"id": "INT NOT NULL", **generate.SCALARS, **generate.NANOS, **generate.NESTED}
            table = Table(f"db.layout_{n}", fields, ["id"], options={"bucket": "2", **options})
            feature = "every type with " + ", ".join(f"{k}={v}" for k, v in options.items())
            with self.subTest(feature=feature):
                path, known = self._written(feature, table, [("write", g.keyed_batches(table, 3, 40)), ("compact", True)])
                # the others too, who have not met these options elsewhere
                for reader in (interop_case.JAVA, interop_case.PYPAIMON, HEADRACE):
                    got, want = self.programs[reader].scan(path=path), known.latest
                    if reader == interop_case.PYPAIMON:
                        got, want = interop_case.to_micros(got, table), interop_case.to_micros(want, table)
                    self.check(feature, HEADRACE, reader, "rows", sorted(got), sorted(want), f"of {path}")

    def _written(self, feature, table, steps):
        warehouse = self.warehouse(HEADRACE)
        known = Model(table)
        path = self.headrace.create(warehouse=warehouse, **table.definition())["path"]
        for step, argument in steps:
            if step == "write":
                for batch in argument:
                    known.commit(batch)
                self.write(HEADRACE, table, path, argument)
            else:
                self.headrace.compact(path=path, full=argument)
        got = self.attempt(feature, HEADRACE, FLINK, "rows", lambda: self.rows(table, warehouse))
        self.check(feature, HEADRACE, FLINK, "rows", sorted(got), sorted(known.latest), f"of {path}")
        return path, known

    # ---- streams

    def _customers(self, producer):
        """A table of customers, its batches and what they come to. Before-images come with the rows only where the producer needs them."""
        table = Table(f"db.customers_{producer}", CUSTOMERS, ["id"], options={"bucket": "2", "changelog-producer": producer})
        g = generate.Generator("flink " + producer)
        batches = g.keyed_batches(table, 24, 12, keys=60, before_images=producer == "input")
        for batch in batches:
            for row in batch:
                row["plan"] = None if row["plan"] is None else ("trial", "pro", "team")[len(row["plan"]) % 3]
                row["amount"] = f"{len(row['amount'] or '') * row['id'] % 90000 / 100:.2f}" if row["amount"] else None
        return table, batches

    def _totals(self, known):
        totals = {}
        for line in known.latest:
            row = json.loads(line)
            count, total = totals.get(row["plan"], (0, None))
            if row["amount"] is not None:
                total = (total or decimal.Decimal(0)) + decimal.Decimal(row["amount"])
            totals[row["plan"]] = (count + 1, total)
        return [{"plan": plan, "n": n, "total": None if total is None else f"{total:.2f}"} for plan, (n, total) in totals.items()]

    def _until(self, read, want, what):
        """Reads until it is as wanted, and once more a little later: it must stay so."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            got = read()
            if got == want:
                time.sleep(1)
                got = read()
                break
            time.sleep(0.2)
        self.assertEqual(got, want, what)

    def _started(self, path):
        """The job that writes to path has made its first commit."""
        end = time.monotonic() + PATIENCE
        while not interop_case.snapshots(path):
            self.assertEqual(self.flink.status(name="writes")["status"] in ("INITIALIZING", "CREATED", "RUNNING"), True)
            self.assertLess(time.monotonic(), end, f"Flink has written nothing to {path}")
            time.sleep(0.2)

    def _aggregate(self, producer):
        """Flink streams the table into an aggregate, and writes the same into a table that headrace follows."""
        table, batches = self._customers(producer)
        known, warehouse = Model(table), self.warehouse("streams")
        path = self.headrace.create(warehouse=warehouse, **table.definition())["path"]
        for batch in batches[:4]:
            known.commit(batch)
        self.write(HEADRACE, table, path, batches[:4])

        totals = f"totals_{producer}"
        ddl = f"CREATE TABLE db.{totals} (plan STRING, n BIGINT, total DECIMAL(38, 2), PRIMARY KEY (plan) NOT ENFORCED) " \
              "WITH ('bucket' = '1', 'changelog-producer' = 'lookup')"
        self.flink.run(warehouse=warehouse, sql=[ddl])
        query = f"SELECT {{plan}} AS plan, COUNT(*) AS n, SUM(amount) AS total FROM {table.name} {POLL} GROUP BY {{plan}}"
        self.flink.follow(warehouse=warehouse, name="aggregate", sql=query.format(plan="plan"))
        named = query.format(plan="COALESCE(plan, 'none')")
        self.flink.start(warehouse=warehouse, name="writes", sql=f"INSERT INTO db.{totals} {named}")
        self._started(f"{warehouse}/db.db/{totals}")
        follower = Follower(self.headrace, f"{warehouse}/db.db/{totals}", ["plan"])
        try:
            for n, batch in enumerate(batches[4:], 1):
                known.commit(batch)
                self.write(HEADRACE, table, path, [batch])
                if n % 8 == 0:
                    self.headrace.compact(path=path, full=n % 16 == 0)
            want = sorted(encoding.dump(row) for row in self._totals(known))
            feature = f"a stream of changelog-producer={producer} into COUNT and SUM"
            self._until(lambda: sorted(self.flink.collected(name="aggregate")), want, feature)
            self.note(feature, "streams", FLINK, "changes", "holds")
            want = sorted(encoding.dump({**row, "plan": row["plan"] or "none"}) for row in self._totals(known))
            feature = f"a table with changelog-producer=lookup that Flink keeps of it ({producer})"
            self._until(lambda: sorted(self.headrace.scan(path=follower.path)), want, feature)
            self.assertEqual(self.flink.status(name="writes"), {"status": "RUNNING"})
            self.note(feature, "streams", HEADRACE, "rows", "holds")
            self._until(follower.state, want, feature)
            self.assertEqual(follower.problems, [], feature)
            self.note(feature, "streams", HEADRACE, "changes", "holds")
        except BaseException:
            type(self).failed = True
            raise
        finally:
            follower.stop()
            for name in ("aggregate", "writes"):
                self.flink.stop(name=name)

    def test_a_stream_with_producer_input(self):
        self._aggregate("input")

    def test_a_stream_with_producer_lookup(self):
        self._aggregate("lookup")


class Follower:
    """headrace changes --follow beside the test: what the changes so far add up to, and each change that does not fit what came before."""

    def __init__(self, headrace, path, keys):
        self.path, self._keys = path, keys
        self.problems, self._state, self._lock = [], {}, threading.Lock()
        command = headrace.command("changes", path, "--format", "jsonl", "--from-snapshot", 1, "--follow")
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8", env=dict(os.environ))
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in iter(self._process.stdout.readline, ""):
            row = json.loads(line)
            kind, _ = row.pop("_rowkind"), row.pop("_snapshot")
            key, text = encoding.dump([row[k] for k in self._keys]), encoding.dump(row)
            with self._lock:
                had = self._state.get(key)
                if (kind == "+I") != (had is None) and kind != "+U" or kind in ("-U", "-D") and had != text:
                    self.problems.append(f"{kind} {text} after {had}")
                if kind in ("+I", "+U"):
                    self._state[key] = text
                elif kind == "-D":
                    self._state.pop(key, None)

    def state(self):
        with self._lock:
            return sorted(self._state.values())

    def stop(self):
        self._process.terminate()
        self._process.wait()
        self._process.stdout.close()


if __name__ == "__main__":
    unittest.main()
