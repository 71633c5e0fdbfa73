"""What is written by one program and read by all: each scenario is a feature with a table and steps.

The rows come from a fixed seed, so that every writer gets the same ones.
"""

import dataclasses

import generate
import interop_case
from interop_case import PYPAIMON
from model import Table

NO_MULTISET = "pypaimon has no MULTISET"
NO_DELETES = "pypaimon writes no deletes"
NO_CHANGELOG = "pypaimon writes no changelog files"
NO_COMPACTION = "pypaimon does not compact"
NO_UNCOMPRESSED = "pypaimon does not know file.compression=uncompressed, Java Paimon's name for Parquet without compression"
NANOS = "Java Paimon cannot read TIMESTAMP(9) as pypaimon writes it"


@dataclasses.dataclass
class Scenario:
    feature: str
    table: Table
    steps: list                # ("write", batches) or ("compact", full)
    changes: bool = False      # what a stream is given is compared too
    cannot_write: dict = dataclasses.field(default_factory=dict)  # program to reason
    cannot_read: dict = dataclasses.field(default_factory=dict)

    @property
    def method_name(self):
        return "test_" + "".join(c if c.isalnum() else "_" for c in self.feature.lower()).strip("_")

    def batches(self):
        return [batch for step, argument in self.steps if step == "write" for batch in argument]


def all_scenarios():
    return [*_types(), *_partitions(), *_keyed(), *_append(), *_packed()]


def _types():
    g = generate.Generator("types")
    everything = {"id": "INT NOT NULL", **generate.SCALARS, **generate.NANOS, **generate.NESTED}
    table = Table("db.types_keyed", everything, ["id"], options={"bucket": "2"})
    yield Scenario("all types, primary-key table", table, [("write", g.keyed_batches(table, 3, 30))], changes=True,
                   cannot_write={PYPAIMON: NO_DELETES})
    table = Table("db.types_append", everything, options={"bucket": "-1"})
    yield Scenario("all types, append table", table, [("write", g.append_batches(table, 2, 30))], changes=True,
                   cannot_write={PYPAIMON: NANOS})
    table = Table("db.types_micros", {"id": "INT NOT NULL", **generate.SCALARS, **generate.NESTED}, ["id"], options={"bucket": "2"})
    yield Scenario("all types but TIMESTAMP(9), primary-key table, upserts only", table,
                   [("write", g.keyed_batches(table, 3, 30, deletes=False, kinds=False))], changes=True)
    table = Table("db.types_multiset", {"id": "INT NOT NULL", **generate.MULTISETS}, ["id"], options={"bucket": "1"})
    yield Scenario("MULTISET", table, [("write", g.keyed_batches(table, 2, 20))], changes=True,
                   cannot_write={PYPAIMON: NO_MULTISET}, cannot_read={PYPAIMON: NO_MULTISET})


def _partitions():
    g = generate.Generator("partitions")
    for name, type_text in generate.PARTITION_TYPES.items():
        table = Table(f"db.by_{name.lower()}", {"id": "INT", "p": type_text, "v": "STRING"}, partition_keys=["p"], options={"bucket": "-1"})
        yield Scenario(f"partition key {name}, nulls among them", table, [("write", g.append_batches(table, 2, 12))])
    fields = {"region": "STRING NOT NULL", "id": "BIGINT NOT NULL", "year": "INT NOT NULL", "day": "DATE NOT NULL", "v": "STRING"}
    table = Table("db.three_levels", fields, ["id", "region", "year", "day"], ["region", "year", "day"], {"bucket": "2"})
    yield Scenario("three partition keys, primary-key table", table, [("write", g.keyed_batches(table, 3, 15, keys=12))], changes=True,
                   cannot_write={PYPAIMON: NO_DELETES})


def _keyed():
    g = generate.Generator("keyed")
    values = {"v": "INT", "w": "STRING", "d": "DECIMAL(12, 2)"}
    for key_types in (["INT", "STRING"], ["BIGINT", "DECIMAL(20, 4)", "TIMESTAMP(3)"], ["BYTES"], ["DATE", "SMALLINT", "DOUBLE"]):
        fields = {**{f"k{i}": f"{t} NOT NULL" for i, t in enumerate(key_types)}, **values}
        table = Table("db.key_" + key_types[0].lower(), fields, [f"k{i}" for i in range(len(key_types))], options={"bucket": "3"})
        yield Scenario("primary key " + ", ".join(key_types), table, [("write", g.keyed_batches(table, 2, 30))],
                       cannot_write={PYPAIMON: NO_DELETES})
    fields = {"id": "BIGINT NOT NULL", **values}
    table = Table("db.compacting", fields, ["id"], options={"bucket": "2", "num-sorted-run.compaction-trigger": "3"})
    yield Scenario("many commits, compacted on the way", table, [("write", g.keyed_batches(table, 10, 20))], changes=True,
                   cannot_write={PYPAIMON: NO_COMPACTION})
    table = Table("db.full", fields, ["id"], options={"bucket": "2", "write-only": "true"})
    yield Scenario("write-only, then full compaction", table,
                   [("write", g.keyed_batches(table, 4, 20)), ("compact", True), ("write", g.keyed_batches(table, 2, 20)), ("compact", True)],
                   changes=True, cannot_write={PYPAIMON: NO_COMPACTION})
    for suffix, before_images in (("", False), (" with before-images", True)):
        table = Table("db.input" + suffix[-1:], fields, ["id"], options={"bucket": "2", "changelog-producer": "input"})
        yield Scenario("changelog-producer=input" + suffix, table,
                       [("write", g.keyed_batches(table, 5, 20, before_images=before_images)), ("compact", True)], changes=True,
                       cannot_write={PYPAIMON: NO_CHANGELOG})
    table = Table("db.sequenced", {"id": "BIGINT NOT NULL", "seq": "BIGINT", **values}, ["id"], options={"bucket": "2", "sequence.field": "seq"})
    yield Scenario("sequence.field", table, [("write", g.keyed_batches(table, 4, 25, keys=20)), ("compact", True),
                                             ("write", g.keyed_batches(table, 1, 25, keys=20))],
                   cannot_write={PYPAIMON: NO_DELETES})
    sequenced = {"id": "BIGINT NOT NULL", "seq": "BIGINT", "seq2": "INT", **values}
    table = Table("db.sequenced_twice", sequenced, ["id"], options={"bucket": "1", "sequence.field": "seq,seq2"})
    yield Scenario("sequence.field of two columns", table, [("write", g.keyed_batches(table, 4, 25, keys=20))],
                   cannot_write={PYPAIMON: NO_DELETES})
    table = Table("db.rolled", fields | {"pad": "STRING"}, ["id"], options={"bucket": "1", "target-file-size": "16 kb"})
    yield Scenario("target-file-size: levels of many files", table, [("write", _many_rows(g, table, 3)), ("compact", True)],
                   cannot_write={PYPAIMON: NO_COMPACTION})
    table = Table("db.flushed", fields | {"pad": "STRING"}, ["id"],
                  options={"bucket": "1", "write-buffer-size": "640 kb", "write-buffer-spillable": "false"})
    yield Scenario("write-buffer-size: many files in one commit", table, [("write", _many_rows(g, table, 20))],
                   cannot_write={PYPAIMON: NO_DELETES})
    for codec in ("uncompressed", "snappy", "lz4", "gzip", "zstd"):
        table = Table(f"db.codec_{codec}", {"id": "BIGINT NOT NULL", **values}, ["id"], options={"bucket": "1", "file.compression": codec})
        yield Scenario(f"file.compression={codec}", table, [("write", g.keyed_batches(table, 2, 20, deletes=False, kinds=False))],
                       cannot_write={PYPAIMON: NO_UNCOMPRESSED} if codec == "uncompressed" else {})


def _many_rows(g, table, width):
    """Two commits of 2500 rows with numbered keys: 1500 of the first come again in the second, one in ten as a delete."""
    batches = []
    for first in (0, 1000):
        batch = [{"_rowkind": "-D" if first and n % 10 == 0 else "+I", **g.row(table), "id": n} for n in range(first, first + 2500)]
        batches.append([{**row, "pad": f"{row['id'] * 2654435761 % 2**61:020d}" * width} for row in batch])
    return batches


def _append():
    g = generate.Generator("append")
    fields = {"id": "BIGINT", "v": "STRING", "n": "INT"}
    table = Table("db.unaware", fields, options={"bucket": "-1"})
    yield Scenario("append table, bucket=-1, compacted", table,
                   [("write", g.append_batches(table, 6, 10)), ("compact", False), ("write", g.append_batches(table, 1, 10))], changes=True,
                   cannot_write={PYPAIMON: NO_COMPACTION})
    table = Table("db.bucketed", fields, options={"bucket": "3", "bucket-key": "id"})
    yield Scenario("append table with buckets, compacted", table,
                   [("write", g.append_batches(table, 6, 10)), ("compact", True), ("write", g.append_batches(table, 1, 10))], changes=True,
                   cannot_write={PYPAIMON: NO_COMPACTION})
    table = Table("db.bucketed_simple", fields, options={"bucket": "3", "bucket-key": "id", "write-only": "true"})
    yield Scenario("append table with buckets", table, [("write", g.append_batches(table, 3, 10))], changes=True)


def _packed():
    """Rows enough for integers to be packed, which no other writer does. What the encoding itself needs is in test_packed.py."""
    g = generate.Generator("packed")
    everything = {"id": "INT NOT NULL", **generate.SCALARS, **generate.NANOS, **generate.NESTED}
    options = {"bucket": "2"}
    table = Table("db.packed_types", everything, ["id"], options=options)
    yield Scenario("packed integers: all types, primary-key table", table, [("write", g.keyed_batches(table, 4, 300)), ("compact", True)],
                   changes=True, cannot_write={PYPAIMON: NO_DELETES})
    table = Table("db.packed_append", everything, options={**options, "bucket": "-1"})
    yield Scenario("packed integers: all types, append table", table, [("write", g.append_batches(table, 2, 500))], changes=True,
                   cannot_write={PYPAIMON: NANOS})
    fields = {"id": "BIGINT NOT NULL", "v": "INT", "w": "STRING", "d": "DECIMAL(12, 2)", "pad": "STRING"}
    table = Table("db.packed_rows", fields, ["id"], options={**options, "bucket": "1", "target-file-size": "64 kb"})
    yield Scenario("packed integers: many rows", table, [("write", _many_rows(g, table, 3)), ("compact", True)],
                   cannot_write={PYPAIMON: NO_COMPACTION})


def written_by(writer):
    """A class decorator: a test method for each scenario, played by that writer."""

    def add(cls):
        for scenario in all_scenarios():
            def test(self, scenario=scenario):
                interop_case.play(self, writer, scenario)
            test.__doc__ = scenario.feature
            assert not hasattr(cls, scenario.method_name), scenario.feature
            setattr(cls, scenario.method_name, test)
        return cls

    return add

