#!/usr/bin/env python3
"""The same rows written by Java Paimon and by headrace make the same metadata: schema files, snapshots, manifests with their
statistics, keys, sequence numbers and levels, and the same layout of the Parquet files. Only names, sizes, times and the
writer's own marks may differ, and how integers are encoded. Both tables are described by the Java peer, so headrace is not judged by itself."""

import dataclasses
import json
import pathlib
import re
import unittest

import generate
import interop_case
from interop_case import HEADRACE, JAVA
from model import Table
# Options that change what is written, beyond those of the other tests.
OPTIONS = [
    {"metadata.stats-mode": "none"}, {"metadata.stats-mode": "counts"}, {"metadata.stats-mode": "full"}, {"metadata.stats-mode": "truncate(3)"},
    {"fields.w.stats-mode": "full", "fields.v.stats-mode": "none"}, {"metadata.stats-dense-store": "false", "fields.w.stats-mode": "none"},
    {"metadata.stats-keep-first-n-columns": "2"}, {"metadata.stats-mode.per.level": "0:none,5:full"}, {"manifest.delete-file-drop-stats": "true"},
    {"data-file.thin-mode": "true"}, {"data-file.prefix": "d-", "changelog-file.prefix": "c-", "changelog-producer": "input"},
    {"data-file.path-directory": "data"}, {"bucket-function.type": "mod"}, {"ignore-delete": "true"}, {"file.compression.zstd-level": "9"},
    {"manifest.target-file-size": "2 kb", "manifest.merge-min-count": "3"}, {"num-levels": "3"}, {"parquet.enable.dictionary": "false"},
    {"manifest.compression": "null"}, {"manifest.compression": "snappy"},
]

# Of a snapshot file: chance, or the writer's own business.
SNAPSHOT_FREE = {"baseManifestList", "baseManifestListSize", "deltaManifestList", "deltaManifestListSize", "changelogManifestList",
                 "changelogManifestListSize", "commitUser", "commitIdentifier", "timeMillis", "uuid", "properties"}
# A new table of headrace says how long changes are kept; Java leaves it to its defaults.
OPTIONS_FREE = ("changelog.", "snapshot.", "headrace.")
# By default headrace packs integers and leaves the codec out, which is not Java's choice: every reader of test_packed.py is held
# against that. Here it is told to choose as Java does, so that the codecs can be compared column by column.
AS_JAVA = {"headrace.parquet.integer-encoding": "plain"}
FREE = {"size"}
UUID_AND_COUNT = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-\d+")
VALUES = {"v": "INT", "w": "STRING", "d": "DECIMAL(12, 2)"}


class Metadata(interop_case.InteropTest):
    def pair(self, table, steps):
        """The table of each writer, after the same steps."""
        paths = {}
        for writer in (JAVA, HEADRACE):
            program = self.programs[writer]
            made = dataclasses.replace(table, options=table.options | AS_JAVA) if writer == HEADRACE else table
            paths[writer] = program.create(warehouse=self.warehouse(writer), **made.definition())["path"]
            for step, argument in steps:
                if step == "write":
                    self.write(writer, table, paths[writer], argument)
                else:
                    program.compact(path=paths[writer], full=argument)
        return paths

    def compare(self, feature, table, steps):
        paths = self.pair(table, steps)
        for what, of in (("schema file", self.schemas), ("snapshot files", self.snapshots), ("manifests", self.manifests),
                         ("manifest entries", self.entries), ("live files", self.live), ("Parquet layout", self.layouts)):
            with self.subTest(feature=feature, what=what):
                got, want = of(paths[HEADRACE]), of(paths[JAVA])
                self.check(feature, HEADRACE, "metadata", what, got, want, f"of {paths[HEADRACE]} against {paths[JAVA]}")

    def schemas(self, path):
        out = []
        for file in sorted(pathlib.Path(path, "schema").glob("schema-*")):
            schema = json.loads(file.read_text(encoding="utf-8"))
            schema["timeMillis"] = 0
            schema["options"] = {k: v for k, v in schema["options"].items() if not k.startswith(OPTIONS_FREE)}
            out += [f"{file.name} {key}: {json.dumps(value, sort_keys=True)}" for key, value in schema.items()]
        return out

    def numbers(self, path):
        """Snapshot ids to their places among those that changed files: headrace ends an ingest with an empty commit of its position."""
        changing = [n for n, s in interop_case.snapshots(path).items() if s["deltaRecordCount"] or s["commitKind"] != "APPEND"]
        return {number: place for place, number in enumerate(changing, 1)}

    def snapshots(self, path):
        """Values where they are no chance; of the rest, that they are there."""
        out = []
        places = self.numbers(path)
        for number, snapshot in interop_case.snapshots(path).items():
            if number not in places:
                continue
            number = snapshot["id"] = places[number]
            for key, value in snapshot.items():
                if key in ("uuid", "properties"):
                    continue  # newer fields, which Java 1.3.1 passes over
                out.append(f"{number} {key}: {'…' if key in SNAPSHOT_FREE else json.dumps(value)}")
        return sorted(out)

    def lines(self, path, kind):
        out = []
        places = self.numbers(path)
        for line in self.java.entries(path=path):
            entry = json.loads(line)
            if "snapshot" in entry:
                if entry["snapshot"] not in places:
                    continue
                entry["snapshot"] = places[entry["snapshot"]]
            if entry["kind"] == kind:
                entry["name"] = UUID_AND_COUNT.sub("…", entry["name"])
                out.append(json.dumps({k: v for k, v in entry.items() if k not in FREE}, ensure_ascii=False))
        return sorted(out)

    def manifests(self, path):
        return self.lines(path, "manifest")

    def entries(self, path):
        return self.lines(path, "entry")

    def live(self, path):
        return self.lines(path, "live")

    def layouts(self, path):
        """Of each live file, by what identifies it in both tables."""
        out = []
        for line in self.java.entries(path=path):
            entry = json.loads(line)
            if entry["kind"] == "live" or (entry["kind"] == "entry" and entry["list"] == "changelog"):
                where = f"{entry['kind']} {entry['dir']} level {entry['level']} sequence {entry['minSequence']}-{entry['maxSequence']} "
                out += [where + part for part in self.pypaimon.parquet(file=f"{path}/{entry['dir']}/{entry['name']}")]
        return sorted(out)

    def test_all_types_in_a_primary_key_table(self):
        fields = {"id": "INT NOT NULL", **generate.SCALARS, **generate.NANOS, **generate.NESTED, **generate.MULTISETS}
        table = Table("db.types", fields, ["id"], options={"bucket": "2", "write-only": "true"})
        batches = generate.Generator("meta types").keyed_batches(table, 2, 40)
        self.compare("metadata: all types, primary-key table", table, [("write", batches), ("compact", True)])

    def test_all_types_in_an_append_table(self):
        fields = {"id": "INT", **generate.SCALARS, **generate.NANOS, **generate.NESTED, **generate.MULTISETS}
        table = Table("db.types_append", fields, options={"bucket": "-1", "write-only": "true"})
        self.compare("metadata: all types, append table", table, [("write", generate.Generator("meta append").append_batches(table, 2, 40))])

    def test_keys_of_every_type(self):
        for n, key_type in enumerate(generate.KEY_TYPES + ["BOOLEAN", "DOUBLE", "TIMESTAMP(9)", "CHAR(5)", "BINARY(4)", "TIME(3)"]):
            table = Table(f"db.key_{n}", {"k": f"{key_type} NOT NULL", **VALUES}, ["k"], options={"bucket": "2", "write-only": "true"})
            batches = generate.Generator("meta keys").keyed_batches(table, 2, 20)
            self.compare(f"metadata: key {key_type}", table, [("write", batches)])

    def test_partitions(self):
        for name, type_text in generate.PARTITION_TYPES.items():
            table = Table(f"db.by_{name.lower()}", {"id": "INT", "p": type_text, "v": "STRING"}, partition_keys=["p"],
                          options={"bucket": "-1", "write-only": "true"})
            # Few partitions: with more than ten (write-max-writers-to-spill) Java buffers rows and numbers them twice.
            g = generate.Generator("meta partitions")
            values = [None, *(g.value(type_text, nullable=False) for _ in range(4))]
            batches = [[{**row, "p": g.random.choice(values)} for row in batch] for batch in g.append_batches(table, 2, 12)]
            self.compare(f"metadata: partition key {name}", table, [("write", batches)])

    def test_changelog_input_and_full_compaction(self):
        table = Table("db.input", {"id": "BIGINT NOT NULL", **VALUES}, ["id"],
                      options={"bucket": "2", "write-only": "true", "changelog-producer": "input"})
        batches = generate.Generator("meta input").keyed_batches(table, 4, 20, before_images=True)
        self.compare("metadata: changelog-producer=input, full compaction", table, [("write", batches), ("compact", True)])

    def test_sequence_field(self):
        table = Table("db.sequenced", {"id": "BIGINT NOT NULL", "seq": "BIGINT", **VALUES}, ["id"],
                      options={"bucket": "1", "write-only": "true", "sequence.field": "seq"})
        batches = generate.Generator("meta sequenced").keyed_batches(table, 3, 25, keys=20)
        self.compare("metadata: sequence.field, full compaction", table, [("write", batches), ("compact", True)])

    def test_bucketed_append_table(self):
        table = Table("db.bucketed", {"id": "BIGINT", **VALUES}, options={"bucket": "3", "bucket-key": "id", "write-only": "true"})
        batches = generate.Generator("meta bucketed").append_batches(table, 3, 12)
        self.compare("metadata: append table with buckets, compacted", table, [("write", batches), ("compact", True)])

    def test_many_commits_merge_their_manifests_alike(self):
        table = Table("db.many", {"id": "BIGINT NOT NULL", **VALUES}, ["id"],
                      options={"bucket": "1", "write-only": "true", "manifest.merge-min-count": "4"})
        batches = generate.Generator("meta many").keyed_batches(table, 12, 3)
        self.compare("metadata: manifest merging", table, [("write", batches)])

    def test_options_that_change_what_is_written(self):
        for n, options in enumerate(OPTIONS):
            table = Table(f"db.options_{n}", {"id": "BIGINT NOT NULL", **VALUES}, ["id"], options={"bucket": "2", "write-only": "true", **options})
            batches = generate.Generator("meta options").keyed_batches(table, 4, 12, keys=20)
            told = ", ".join(f"{k}={v}" for k, v in options.items())
            with self.subTest(options=told):
                self.compare(f"metadata: {told}", table, [("write", batches), ("compact", True)])

    def test_names_of_partition_folders(self):
        for n, options in enumerate([{"partition.legacy-name": "false"}, {"partition.default-name": "nothing"}]):
            for name, type_text in generate.PARTITION_TYPES.items():
                table = Table(f"db.folders_{n}_{name.lower()}", {"id": "INT", "p": type_text}, partition_keys=["p"],
                              options={"bucket": "-1", "write-only": "true", **options})
                g = generate.Generator("meta folders")
                values = [None, *(g.value(type_text, nullable=False) for _ in range(7))]
                batch = [{"id": k, "p": value} for k, value in enumerate(values)]
                told = ", ".join(f"{k}={v}" for k, v in options.items())
                with self.subTest(options=told, key=name):
                    self.compare(f"metadata: {told}, partition key {name}", table, [("write", [batch])])


if __name__ == "__main__":
    unittest.main()
