#!/usr/bin/env python3
"""The peers themselves, before anything is judged by them: what they read from the fixtures is what Java Paimon once read, and
what they write from the fixtures' inputs reads back to the same. headrace has no part in this test."""

import json
import pathlib
import shutil
import tempfile
import unittest

import encoding
import peers

# Tables of the kinds that headrace reads and writes: deduplicate and append, Parquet.
TABLES = [
    ("append-bucketed", "t"), ("append-unaware", "t"), ("changelog-input-random", "events"), ("compress-zstd", "t_parquet"),
    ("customer-8821-input", "customers"), ("customer-8821-none", "customers"), ("dedup-sequence", "ascending"),
    ("keys-composite", "k_bucket_key"), ("keys-decimals", "k_decimal_38_18"), ("keys-floats", "k_double"),
    ("keys-strings", "k_varchar"), ("lsm-many-runs", "t"), ("lsm-partial", "t"), ("manifests", "merging"),
    ("partitioned", "by_timestamp"), ("partitioned", "by_double"), ("partitioned", "three_levels"),
    ("types-parquet", "appended"), ("types-parquet", "pk"), ("types-parquet", "multisets"),
]

# pypaimon 2.1.0 has no MULTISET, and its merging reader cuts nanoseconds to microseconds.
PYPAIMON_CANNOT = {("types-parquet", "multisets"), ("types-parquet", "pk")}

# It writes no deletes, and TIMESTAMP(9) in a way that Java Paimon 1.3.1 fails to read.
PYPAIMON_CANNOT_WRITE = {("types-parquet", "appended"), ("types-parquet", "pk"), ("customer-8821-input", "customers"),
                         ("partitioned", "three_levels")}


def fixture_path(fixture, table):
    return peers.FIXTURES / fixture / "warehouse" / "peer.db" / table


def expected(fixture, table, kind):
    """(name's last part, lines) of the files expected/<table>.<kind>[-N].jsonl; sorted, for order across buckets is chance."""
    for path in sorted((peers.FIXTURES / fixture / "expected").glob(f"{table}.{kind}*.jsonl")):
        last = path.name.removesuffix(".jsonl").rpartition("-")[2]
        yield last, sorted(path.read_text(encoding="utf-8").splitlines())


class PeerTest(unittest.TestCase):
    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        cls.java = peers.java()
        cls.pypaimon = peers.pypaimon()
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="headrace-peer-"))

    @classmethod
    def tearDownClass(cls):
        cls.java.close()
        cls.pypaimon.close()
        shutil.rmtree(cls.folder)

    def test_java_reads_the_fixtures_to_their_expected_lines(self):
        for fixture, table in TABLES:
            path = fixture_path(fixture, table)
            with self.subTest(fixture=fixture, table=table):
                for snapshot, want in expected(fixture, table, "scan-"):
                    self.assertEqual(sorted(self.java.scan(path=path, snapshot=snapshot)), want, f"snapshot {snapshot}")
                for first, want in expected(fixture, table, "changes-from-"):
                    self.assertEqual(sorted(self.java.changes(path=path, **{"from": first})), want, f"changes from {first}")
                for _, want in expected(fixture, table, "placement"):
                    self.assertEqual(sorted(self.java.scan(path=path, placement=True)), want)

    def test_java_describes_the_fixtures_as_before(self):
        for fixture, table in TABLES:
            with self.subTest(fixture=fixture, table=table):
                for _, want in expected(fixture, table, "info"):
                    got = self.java.info(path=fixture_path(fixture, table))
                    # A number may be spelled 1E+20 or 1e+20: compared as values.
                    self.assertEqual(_values(got), _values(want))

    def test_java_keeps_key_order_inside_a_bucket(self):
        for fixture, table in TABLES:
            for _, _ in expected(fixture, table, "ordered"):
                with self.subTest(fixture=fixture, table=table):
                    want = (peers.FIXTURES / fixture / "expected" / f"{table}.ordered.jsonl").read_text(encoding="utf-8")
                    got = self.java.scan(path=fixture_path(fixture, table), placement=True, ordered=True)
                    self.assertEqual(_by_bucket(got), _by_bucket(want.splitlines()))

    def test_pypaimon_reads_the_fixtures_to_their_expected_lines(self):
        for fixture, table in TABLES:
            if (fixture, table) in PYPAIMON_CANNOT:
                continue
            path = fixture_path(fixture, table)
            with self.subTest(fixture=fixture, table=table):
                for snapshot, want in expected(fixture, table, "scan-"):
                    self.assertEqual(sorted(self.pypaimon.scan(path=path, snapshot=snapshot)), want, f"snapshot {snapshot}")
                for first, want in expected(fixture, table, "changes-from-"):
                    got = self.pypaimon.changes(path=path, **{"from": int(first)})
                    self.assertEqual(sorted(got), want, f"changes from {first}")

    def test_what_the_peers_write_from_a_fixtures_input_reads_to_its_expected_rows(self):
        """The tables that were made by writing alone: each commit of the input is one snapshot."""
        for fixture, table in [("types-parquet", "appended"), ("types-parquet", "pk"), ("customer-8821-input", "customers"),
                               ("partitioned", "three_levels"), ("partitioned", "by_timestamp"), ("keys-composite", "k_bucket_key")]:
            schema = json.loads((fixture_path(fixture, table) / "schema" / "schema-0").read_text(encoding="utf-8"))
            fields = {f["name"]: str(encoding.from_schema_json(f["type"])) for f in schema["fields"]}
            rows = peers.FIXTURES / fixture / "input" / f"{table}.jsonl"
            for peer in (self.java, self.pypaimon):
                if peer is self.pypaimon and (fixture, table) in PYPAIMON_CANNOT_WRITE:
                    continue
                with self.subTest(fixture=fixture, table=table, writer=peer.name):
                    made = peer.create(warehouse=self.folder / peer.name, table=f"db.{fixture.replace('-', '_')}_{table}", fields=fields,
                                       primaryKeys=schema["primaryKeys"], partitionKeys=schema["partitionKeys"],
                                       options=schema["options"])
                    peer.write(path=made["path"], input=rows, user="writer", identifier=1, options={"write-only": "true"})
                    for snapshot, want in expected(fixture, table, "scan-"):
                        self.assertEqual(sorted(self.java.scan(path=made["path"], snapshot=snapshot)), want)
                    for _, want in expected(fixture, table, "placement"):
                        self.assertEqual(sorted(self.java.scan(path=made["path"], placement=True)), want)
                    for first, want in expected(fixture, table, "changes-from-"):
                        self.assertEqual(sorted(self.java.changes(path=made["path"], **{"from": first})), want)
                    mine = json.loads((pathlib.Path(made["path"]) / "schema" / "schema-0").read_text(encoding="utf-8"))
                    if peer is self.java:
                        self.assertEqual({**mine, "timeMillis": 0}, {**schema, "timeMillis": 0})

    def test_java_writes_what_it_is_given_down_to_the_bytes_of_a_row(self):
        lines = self.java.binary(fields={"a": "INT NOT NULL", "b": "STRING"}, buckets=4,
                                 rows=[{"a": 1, "b": "short"}, {"a": -1, "b": "longer than seven bytes"}, {"a": 7, "b": None}])
        got = [json.loads(line) for line in lines]
        self.assertEqual(got[0]["bytes"], "0000000000000000" "0100000000000000" "73686f7274000085")
        self.assertEqual(got[2]["bytes"], "0002000000000000" "0700000000000000" "0000000000000000")
        self.assertEqual(got[0]["serialized"], "00000002" + got[0]["bytes"])
        self.assertTrue(all(0 <= line["bucket"] < 4 for line in got))

    def test_a_failing_request_is_an_error_and_the_peer_lives_on(self):
        for peer in (self.java, self.pypaimon):
            with self.assertRaises(peers.PeerError):
                peer.scan(path=self.folder / "nothing-here")
            self.assertEqual(peer.ping()["peer"], peer.name)


def _values(lines):
    return sorted((json.loads(line) for line in lines), key=lambda v: json.dumps(v, sort_keys=True))


def _by_bucket(lines):
    buckets = {}
    for line in lines:
        row = json.loads(line)
        buckets.setdefault((json.dumps(row["_partition"]), row["_bucket"]), []).append(line)
    return buckets


if __name__ == "__main__":
    unittest.main()
