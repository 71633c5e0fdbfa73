#!/usr/bin/env python3
"""Random tables, random rows, random turns: types and options of everything in scope, from a printed seed.

HEADRACE_INTEROP_SEED repeats a run, HEADRACE_INTEROP_TABLES says how many tables (8).
"""

import os
import random
import time
import unittest

import generate
import interop_case
from interop_case import HEADRACE, JAVA, PYPAIMON
from model import Table

SEED = os.environ.get("HEADRACE_INTEROP_SEED") or str(time.time_ns() % 10**9)
TABLES = int(os.environ.get("HEADRACE_INTEROP_TABLES", "8"))
# Options that a table may have besides; a file or its metadata looks other by each.
SPICE = [
    ("metadata.stats-mode", ["none", "counts", "full", "truncate(3)"]), ("metadata.stats-dense-store", ["false"]),
    ("metadata.stats-keep-first-n-columns", ["2"]), ("manifest.merge-min-count", ["2", "4"]), ("manifest.target-file-size", ["2 kb"]),
    ("partition.legacy-name", ["false"]), ("target-file-size", ["16 kb"]), ("write-buffer-size", ["640 kb"]),
    ("manifest.delete-file-drop-stats", ["true"]), ("parquet.enable.dictionary", ["false"]), ("compaction.min.file-num", ["2", "3"]),
    ("compaction.size-ratio", ["0", "50"]), ("compaction.max-size-amplification-percent", ["10", "1000"]),
]
KEYED_SPICE = [("data-file.thin-mode", ["true"]), ("num-levels", ["3", "7"]), ("full-compaction.delta-commits", ["2"])]
FEATURE = {True: "random primary-key tables", False: "random append tables"}


def random_columns(r, multisets):
    """Up to nine columns, at least one; keys get theirs apart."""
    pool = list({**generate.SCALARS, **generate.NANOS, **generate.NESTED, **(generate.MULTISETS if multisets else {})}.items())
    return dict(r.sample(pool, r.randint(1, 9)))


def random_table(r, n):
    """Every third table is an append table, every fourth may have what pypaimon does not read: each run has some of each."""
    name = f"db.random_{n}"
    partitions = {f"p{i}": r.choice(list(generate.PARTITION_TYPES.values())) for i in range(r.choice([0, 0, 1, 1, 2]))}
    columns, options = random_columns(r, multisets=n % 4 == 3), {}
    if r.random() < 0.3:
        options["file.compression"] = r.choice(["uncompressed", "snappy", "zstd"])
    if r.random() < 0.3:
        options["write-only"] = "true"
    for key, values in r.sample(SPICE + (KEYED_SPICE if n % 3 != 1 else []), r.choice([0, 1, 3])):
        options[key] = r.choice(values)
    if n % 3 == 1:
        fields = {**partitions, "id": "BIGINT", **columns}
        options["bucket"] = r.choice(["-1", "-1", "1", "3"])
        if options["bucket"] != "-1":
            options["bucket-key"] = "id"
        return Table(name, fields, [], list(partitions), options)
    keys = {f"k{i}": r.choice(generate.KEY_TYPES) for i in range(r.choice([1, 1, 2, 3]))}
    fields = {n: f"{t} NOT NULL" for n, t in {**partitions, **keys}.items()} | columns
    options["bucket"] = r.choice(["1", "2", "4"])
    if r.random() < 0.5:
        options["num-sorted-run.compaction-trigger"] = r.choice(["2", "3", "5"])
    if r.random() < 0.4:
        options["changelog-producer"] = "input"
    if r.random() < 0.3:
        fields["seq"] = "BIGINT"
        options["sequence.field"] = "seq"
    names = list(fields)
    r.shuffle(names)  # keys and partition keys stand anywhere among the columns
    primary = list(keys) + list(partitions)
    r.shuffle(primary)
    return Table(name, {n: fields[n] for n in names}, primary, list(partitions), options)


class Random(interop_case.InteropTest):
    def test_random_tables(self):
        print(f"HEADRACE_INTEROP_SEED={SEED} HEADRACE_INTEROP_TABLES={TABLES}", flush=True)
        for n in range(TABLES):
            with self.subTest(seed=SEED, table=n):
                self.play(random.Random(f"{SEED} {n}"), n, f"HEADRACE_INTEROP_SEED={SEED}, table {n}")

    def play(self, r, n, told):
        table = random_table(r, n)
        readers = [JAVA, HEADRACE]
        if not any("MULTISET" in t for t in table.fields.values()):
            readers.append(PYPAIMON)
        turns = interop_case.Turns(self, FEATURE[table.keyed], table, r.choice([JAVA, HEADRACE]), readers)
        turns.told.append(f"{told}: {table}")
        g = generate.Generator(r.random())
        commits, rows = r.randint(4, 8), r.choice([1, 10, 40])
        batches = g.keyed_batches(table, commits, rows, keys=r.choice([3, 20, 60])) if table.keyed else g.append_batches(table, commits, rows)
        for batch in batches:
            turns.write(r.choice([JAVA, HEADRACE]), batch)
            if r.random() < 0.3:
                turns.compact(r.choice([JAVA, HEADRACE]), full=r.random() < 0.5)
        turns.finish()


if __name__ == "__main__":
    unittest.main()
