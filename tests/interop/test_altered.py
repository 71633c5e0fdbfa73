#!/usr/bin/env python3
"""A table's schema changed by headrace and by Java Paimon in turn, with rows written by both under each schema: both read the same
rows from each snapshot of the end, before and after compactions, and the same changes of schema make the same schema files."""

import json
import pathlib
import shutil
import tempfile
import unittest

import peers

# What is changed, and the columns of a row afterwards: a function of its number.
STEPS = [
    ([], lambda i: {"id": i, "a": i * 10, "b": i + 0.5, "s": f"s{i}", "n": {"x": i, "y": f"y{i}"}, "l": [i, None]}),
    ([{"add": "f", "type": "BIGINT"}, {"add": "g", "type": "ROW<p INT, q STRING>", "first": True}, {"add": "h", "type": "DATE", "after": "a"}],
     lambda i: {"g": {"p": i, "q": "q"}, "id": i, "a": i, "h": "2024-02-29", "b": 1.5, "s": "t", "n": None, "l": [], "f": 1 << 40}),
    ([{"rename": "s", "to": "title"}, {"drop": "b"}, {"retype": "a", "type": "BIGINT"}, {"retype": "h", "type": "TIMESTAMP(3)"}],
     lambda i: {"g": None, "id": i, "a": 1 << 41, "h": "2024-02-29T01:02:03.004", "title": f"t{i}", "n": {"x": 1, "y": None}, "l": None, "f": i}),
    ([{"add": "n.z", "type": "DOUBLE"}, {"rename": "n.y", "to": "yy"}, {"retype": "n.x", "type": "BIGINT"}, {"retype": "l.element", "type": "BIGINT"}],
     lambda i: {"g": None, "id": i, "a": i, "h": None, "title": None, "n": {"x": 1 << 42, "yy": "v", "z": 0.25}, "l": [1 << 43], "f": None}),
    ([{"drop": "g"}, {"add": "b", "type": "STRING", "after": "id"}, {"rename": "id", "to": "key"}, {"set": "write-buffer-size", "to": "64 mb"}],
     lambda i: {"key": i, "b": "again", "a": i, "h": None, "title": f"u{i}", "n": None, "l": None, "f": i}),
]
FIELDS = {"id": "BIGINT NOT NULL", "a": "INT", "b": "DOUBLE", "s": "STRING", "n": "ROW<x INT, y STRING>", "l": "ARRAY<INT>"}


class Altered(unittest.TestCase):
    def setUp(self):
        self.headrace, self.java = peers.Headrace(), peers.java()
        self.addCleanup(self.java.close)
        self.addCleanup(self.headrace.close)
        self.warehouse = tempfile.mkdtemp(prefix="headrace-interop-")
        self.addCleanup(shutil.rmtree, self.warehouse, ignore_errors=True)

    def agree(self, path):
        ours, theirs = self.headrace.scan(path), self.java.scan(path=path)
        self.assertEqual(sorted(ours), sorted(theirs))
        return [json.loads(line) for line in ours]

    def play(self, name, keyed, options, first):
        path = self.headrace.create(self.warehouse, f"db.{name}", FIELDS, ["id"] if keyed else [], options=options)["path"]
        programs = [self.headrace, self.java] if first == 0 else [self.java, self.headrace]
        for number, (changes, row) in enumerate(STEPS):
            alters, writes = programs[number % 2], programs[(number + 1) % 2]
            if changes:
                alters.alter(path=path, changes=changes)
            self.agree(path)
            for writer, ids in ((writes, range(number, number + 4)), (alters, range(number + 2, number + 6))):
                rows = [{"_commit": 1, **({"_rowkind": "+I"} if keyed else {}), **row(i)} for i in ids]
                writer.write(path=path, rows=rows, **({"keyed": False} if writer is self.headrace and not keyed else {}))
                self.agree(path)
        self.assertEqual(sorted(self.headrace.changes(path)), sorted(self.java.changes(path=path, **{"from": 1})))
        if "deletion-vectors.enabled" in options:  # Java's last rows may lie in level 0, which is not seen
            self.java.compact(path=path, full=True)
        before = self.agree(path)
        self.assertEqual(len(before), len(STEPS) + 5 if keyed else 8 * len(STEPS))
        for program in programs:
            program.compact(path=path, full=True)
            self.assertEqual(sorted(map(json.dumps, self.agree(path))), sorted(map(json.dumps, before)))
        self.headrace.run("check", path, "--data")

    def test_a_primary_key_table(self):
        for first in (0, 1):
            self.play(f"keyed_{first}", True, {"bucket": "1", "changelog-producer": "input"}, first)

    def test_deletion_vectors(self):
        self.play("vectors", True, {"bucket": "1", "deletion-vectors.enabled": "true"}, 1)

    def test_an_append_table(self):
        self.play("appended", False, {"bucket": "-1"}, 0)

    def test_both_make_the_same_schemas(self):
        paths = []
        for program in (self.headrace, self.java):
            path = self.headrace.create(self.warehouse, f"db.by_{program.name}", FIELDS, ["id"], options={"bucket": "1", "sequence.field": "a"})["path"]
            paths.append(path)
            for changes, _ in STEPS[1:]:
                for change in changes:
                    program.alter(path=path, changes=[change])
            program.alter(path=path, changes=[{"rename": "a", "to": "version"}])
        ours, theirs = ([{**json.loads(file.read_text()), "timeMillis": 0} for file in sorted(pathlib.Path(path, "schema").glob("schema-*"), key=lambda f: int(f.name[7:]))]
                        for path in paths)
        self.assertEqual(ours, theirs)
        self.assertEqual(len(ours), 1 + sum(len(changes) for changes, _ in STEPS) + 1)


if __name__ == "__main__":
    unittest.main()
