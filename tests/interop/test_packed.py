#!/usr/bin/env python3
"""Integers as headrace packs them by default (DELTA_BINARY_PACKED without a codec, dictionaries, plain) before every reader there is.

No encoding that Java Paimon would not choose is a default unless all of them read it to the right rows: Java Paimon, Flink,
pypaimon and pypaimon-rust read the tables; pyarrow and DuckDB, which know nothing of Paimon, the data files of compacted ones."""

import json
import unittest

import generate
import interop_case
import peers
from interop_case import HEADRACE, JAVA, PYPAIMON
from model import Model, Table

FLINK, RUST, ARROW, DUCKDB = "flink", "pypaimon-rust", "pyarrow", "duckdb"
WRITER = "packed, headrace"
INTEGERS = {
    "c_tinyint": "TINYINT", "c_smallint": "SMALLINT", "c_int": "INT", "c_bigint": "BIGINT", "c_decimal_9_2": "DECIMAL(9, 2)",
    "c_decimal_18_4": "DECIMAL(18, 4)", "c_date": "DATE", "c_time": "TIME(3)", "c_ts0": "TIMESTAMP(0)", "c_ts3": "TIMESTAMP(3)",
    "c_ts6": "TIMESTAMP(6)", "c_ltz3": "TIMESTAMP(3) WITH LOCAL TIME ZONE", "c_ltz6": "TIMESTAMP(6) WITH LOCAL TIME ZONE", "c_string": "STRING",
}
NESTED = {"c_array": "ARRAY<INT>", "c_array_array": "ARRAY<ARRAY<BIGINT>>", "c_map": "MAP<INT, BIGINT>",
          "c_row": "ROW<a INT, b STRING, c ROW<d DATE, e ARRAY<SMALLINT>>>"}
# What the writer tells apart by a file's first rows.
SHAPES = {"up": "BIGINT", "wide": "BIGINT", "wide_int": "INT", "few": "BIGINT", "one": "INT", "none": "BIGINT", "skewed": "BIGINT",
          "gaps": "INT", "day": "DATE", "price": "DECIMAL(12, 2)", "at": "TIMESTAMP(3)", "name": "STRING"}
WIDE_VALUES = [-2**63, 2**63 - 1, 0, -1, 10**15]
MANY = 40_000
GROUPS_WIDE = 16  # columns that cannot be packed: a row group is closed by its size


class Packed(interop_case.InteropTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.readers = peers.readers()
        cls.flink = peers.flink()
        cls.programs |= {"readers": cls.readers, FLINK: cls.flink}

    def made(self, feature, table, steps):
        known = Model(table)
        path = self.headrace.create(warehouse=self.warehouse(HEADRACE), **table.definition())["path"]
        for step, argument in steps:
            if step == "write":
                for batch in argument:
                    known.commit(batch)
                self.attempt(feature, WRITER, HEADRACE, "rows", lambda: self.write(HEADRACE, table, path, argument))
            else:
                self.headrace.compact(path=path, full=argument)
        return path, known

    def files(self, path):
        live = (json.loads(line) for line in self.java.entries(path=path))
        return [f"{path}/{entry['dir']}/{entry['name']}" for entry in live if entry["kind"] == "live"]

    def reading(self, reader, table, path):
        if reader == RUST:
            return self.readers.rust(path=path)
        if reader == ARROW:
            return self.readers.pyarrow(path=path, files=self.files(path))
        if reader == DUCKDB:
            return self.readers.duckdb(path=path, files=self.files(path))
        if reader == FLINK:
            columns = ", ".join(f"`{name}`" for name in table.fields)
            return self.flink.run(warehouse=self.warehouse(HEADRACE), sql=[f"SELECT {columns} FROM {table.name}"])
        return self.programs[reader].scan(path=path)

    def compare(self, feature, table, path, known, of_files):
        """Data files hold the rows of the table only when nothing is left to merge in them."""
        for reader in (JAVA, PYPAIMON, HEADRACE, FLINK, RUST, *((ARROW, DUCKDB) if of_files else ())):
            with self.subTest(feature=feature, reader=reader):
                got = self.attempt(feature, WRITER, reader, "rows", lambda: self.reading(reader, table, path))
                self.check(feature, WRITER, reader, "rows", sorted(got), sorted(known.latest), f"of {path}")

    def encodings(self, path):
        """Of each column, over all live files: what its values are encoded with."""
        found = {}
        for line in self.readers.layout(files=self.files(path)):
            chunk = json.loads(line)
            what = {"DELTA_BINARY_PACKED", "RLE_DICTIONARY", "PLAIN_DICTIONARY"} & set(chunk["encodings"])
            found.setdefault(chunk["column"], set()).update(what or {"PLAIN"})
        return found

    # ---- every type, nulls and extremes

    def test_every_type_in_runs_to_be_merged(self):
        feature = "every integer type, primary-key table of several runs"
        table = Table("db.types_runs", {"id": "INT NOT NULL", **INTEGERS, **NESTED}, ["id"], options={"bucket": "2", "write-only": "true"})
        batches = generate.Generator("packed runs").keyed_batches(table, 4, 300, keys=400)
        path, known = self.made(feature, table, [("write", batches)])
        self.compare(feature, table, path, known, of_files=False)

    def test_every_type_compacted(self):
        feature = "every integer type, primary-key table, compacted"
        table = Table("db.types_compacted", {"id": "BIGINT NOT NULL", **INTEGERS, **NESTED}, ["id"], options={"bucket": "2", "write-only": "true"})
        batches = generate.Generator("packed compacted").keyed_batches(table, 4, 300, keys=400)
        path, known = self.made(feature, table, [("write", batches), ("compact", True)])
        self.compare(feature, table, path, known, of_files=True)

    def test_every_type_in_an_append_table(self):
        feature = "every integer type, append table"
        table = Table("db.types_append", {"id": "INT", **INTEGERS, **NESTED}, options={"bucket": "-1", "write-only": "true"})
        path, known = self.made(feature, table, [("write", generate.Generator("packed append").append_batches(table, 2, 600))])
        self.compare(feature, table, path, known, of_files=True)

    def test_keys_of_every_integer_type(self):
        for type_text in ("TINYINT", "SMALLINT", "INT", "BIGINT", "DATE", "DECIMAL(9, 2)", "DECIMAL(18, 4)", "TIMESTAMP(3)", "TIMESTAMP(6)"):
            feature = f"key {type_text}, in runs and compacted"
            table = Table("db.key_" + "".join(c for c in type_text.lower() if c.isalnum()), {"k": f"{type_text} NOT NULL", "v": "BIGINT"}, ["k"],
                          options={"bucket": "2", "write-only": "true"})
            batches = generate.Generator("packed key " + type_text).keyed_batches(table, 3, 150, keys=200)
            path, known = self.made(feature, table, [("write", batches)])
            self.compare(feature, table, path, known, of_files=False)
            self.headrace.compact(path=path, full=True)
            self.compare(feature, table, path, known, of_files=True)

    # ---- many pages and row groups, and every encoding

    def shapes(self, first, count, seed):
        r = generate.Generator(seed).random
        gaps = first
        for n in range(first, first + count):
            gaps += r.randint(1, 50)
            yield {"up": n, "wide": r.randint(-2**63, 2**63 - 1), "wide_int": r.choice([-2**31, 2**31 - 1, r.randint(-2**31, 2**31 - 1)]),
                   "few": r.choice(WIDE_VALUES), "one": 7, "none": None, "skewed": int(r.paretovariate(0.4)) % 2**60,
                   "gaps": None if n % 9 == 0 else gaps, "day": f"20{r.randrange(10, 25)}-{r.randint(1, 12):02d}-{r.randint(1, 28):02d}",
                   "price": f"{r.randrange(10**6) / 100:.2f}", "name": f"n{n % 1000}",
                   "at": f"2024-01-{1 + n // 86400:02d}T{n // 3600 % 24:02d}:{n // 60 % 60:02d}:{n % 60:02d}.{r.randrange(1000):03d}"}

    def check_encodings(self, path):
        found = self.encodings(path)
        packed, dictionary = {"DELTA_BINARY_PACKED"}, {"RLE_DICTIONARY"}
        for column, want in (("up", packed), ("wide", packed), ("gaps", packed), ("day", packed), ("at", packed), ("few", dictionary),
                             ("skewed", {"PLAIN"})):
            self.assertEqual(found[column], want, f"{column} in {path}")

    def row_groups(self, path):
        return max(json.loads(line)["group"] for line in self.readers.layout(files=self.files(path))) + 1

    def test_many_pages_in_key_order_and_in_none(self):
        for name, order in (("sorted", lambda n: n), ("random", lambda n: n * 2654435761 % 2**40 - 2**39)):
            feature = f"many pages, {name} keys, primary-key table"
            table = Table(f"db.pages_{name}", {"id": "BIGINT NOT NULL", **SHAPES}, ["id"], options={"bucket": "1", "write-only": "true"})
            rows = [{"_rowkind": "+I", "id": order(row["up"]), **row} for row in self.shapes(0, MANY, "packed pages")]
            again = [{"_rowkind": "+I", "id": order(row["up"]), **row} for row in self.shapes(MANY // 2, 1000, "packed pages, again")]
            path, known = self.made(feature, table, [("write", [rows, again])])
            self.compare(feature, table, path, known, of_files=False)
            self.headrace.compact(path=path, full=True)
            self.compare(feature, table, path, known, of_files=True)
            if name == "sorted":
                self.check_encodings(path)

    def test_many_pages_in_an_append_table(self):
        feature = "many pages, append table"
        table = Table("db.pages_append", SHAPES, options={"bucket": "-1", "write-only": "true"})
        path, known = self.made(feature, table, [("write", [list(self.shapes(0, MANY, "packed append pages"))])])
        self.check_encodings(path)
        self.compare(feature, table, path, known, of_files=True)

    def test_many_row_groups(self):
        feature = "many row groups, primary-key table, compacted"
        wide = [f"wide{i}" for i in range(GROUPS_WIDE)]
        table = Table("db.grouped", {"id": "BIGINT NOT NULL", "few": "BIGINT", **{name: "BIGINT" for name in wide}}, ["id"],
                      options={"bucket": "1", "write-only": "true"})
        r = generate.Generator("packed groups").random
        rows = [{"_rowkind": "+I", "id": n * 7, "few": r.choice(WIDE_VALUES), **{name: r.randint(-2**63, 2**63 - 1) for name in wide}}
                for n in range(MANY)]
        path, known = self.made(feature, table, [("write", [rows[::2], rows[1::2]])])  # a single run would be moved, not written
        self.headrace.run("--memory", "1mb", "compact", path, "--full")
        self.assertGreater(self.row_groups(path), 1)
        self.compare(feature, table, path, known, of_files=True)

    def test_plain_is_what_java_paimon_would_choose(self):
        feature = "headrace.parquet.integer-encoding=plain"
        options = {"bucket": "1", "write-only": "true", "headrace.parquet.integer-encoding": "plain"}
        table = Table("db.plain", {"id": "BIGINT NOT NULL", **SHAPES}, ["id"], options=options)
        rows = [{"_rowkind": "+I", "id": row["up"], **row} for row in self.shapes(0, 3000, "packed plain")]
        path, known = self.made(feature, table, [("write", [rows]), ("compact", True)])
        self.assertNotIn({"DELTA_BINARY_PACKED"}, self.encodings(path).values())
        self.compare(feature, table, path, known, of_files=True)


if __name__ == "__main__":
    unittest.main()
