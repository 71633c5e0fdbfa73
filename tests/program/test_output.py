"""Rows leave in every form with the same values."""

import csv
import io
import subprocess
import unittest

from program_case import PROGRAM, ProgramCase

COLUMNS = "id INT, n BIGINT, d DECIMAL(10, 2), s STRING, t TIMESTAMP(0), b BYTES, f DOUBLE, a ARRAY<INT>"
ROWS = [{"id": 1, "n": 9007199254740993, "d": "12.30", "s": 'quote " and, comma', "t": "2024-02-29T12:34:56", "b": "0a0b", "f": 0.1, "a": [1, 2]},
        {"id": 2, "n": None, "d": None, "s": "", "t": None, "b": None, "f": None, "a": None},
        {"id": 3, "n": -1, "d": "-0.01", "s": "línea\ndos 日本", "t": "1969-12-31T23:59:59", "b": "", "f": -0.0, "a": []}]


class Output(ProgramCase):
    def setUp(self):
        super().setUp()
        self.run_program("create", "d.t", "--schema", COLUMNS, "--primary-key", "id", "--option", "bucket=1")
        self.ingest_lines("d.t", ROWS, "--binary", "hex")

    def test_json_lines_hold_every_value(self):
        self.assertEqual(self.rows("read", "d.t", "--ordered"), ROWS)

    def test_csv_tells_null_from_empty_text(self):
        text = self.run_program("read", "d.t", "--ordered", "--format", "csv").stdout
        parsed = list(csv.reader(io.StringIO(text)))
        self.assertEqual(parsed[0], ["id", "n", "d", "s", "t", "b", "f", "a"])
        self.assertEqual(parsed[1], ["1", "9007199254740993", "12.30", 'quote " and, comma', "2024-02-29T12:34:56", "0a0b", "0.1", "[1,2]"])
        self.assertIn('2,,,"",,,,\n', text)

    def test_a_drawn_table_has_lines_and_a_count(self):
        text = self.run_program("read", "d.t", "--ordered", "--format", "table", "--columns", "id,s").stdout
        self.assertEqual(text.splitlines()[0], "┌────┬────────────────────┐")
        self.assertIn("│  3 │ línea\\ndos 日本    │", text)
        self.assertTrue(text.endswith("3 rows\n"))

    def test_the_extension_of_the_output_file_tells_the_form(self):
        for name, start in (("x.jsonl", b'{"id":1'), ("x.csv", b"id,n,d"), ("x.parquet", b"PAR1"), ("x.arrow", b"ARROW1")):
            path = self.folder / name
            self.run_program("read", "d.t", "--ordered", "--output", path)
            self.assertTrue(path.read_bytes().startswith(start), name)
        self.run_program("read", "d.t", "--output", self.folder / "x.unknown", status=1)

    def test_what_was_written_can_be_ingested_again(self):
        for name in ("x.jsonl", "x.csv", "x.parquet", "x.arrow"):
            path = self.folder / name
            self.run_program("read", "d.t", "--columns", "id,n,d,s,t,f", "--output", path)
            table = "d." + name.replace(".", "_")
            self.run_program("create", table, "--schema", "id INT, n BIGINT, d DECIMAL(10, 2), s STRING, t TIMESTAMP(0), f DOUBLE",
                             "--primary-key", "id", "--option", "bucket=1")
            self.run_program("ingest", table, path)
            expected = [{k: v for k, v in row.items() if k in ("id", "n", "d", "s", "t", "f")} for row in ROWS]
            self.assertEqual(self.rows("read", table, "--ordered"), expected, name)

    def test_binary_forms_go_through_a_pipe(self):
        for form, start in (("parquet", b"PAR1"), ("arrow", b"\xff\xff\xff\xff"), ("arrow-stream", b"\xff\xff\xff\xff")):
            done = subprocess.run([PROGRAM, "--warehouse", str(self.warehouse), "read", "d.t", "--format", form], capture_output=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(done.stdout.startswith(start), form)

    def test_a_failed_read_leaves_the_output_file_as_it_was(self):
        path = self.write("kept.jsonl", "what was there\n")
        next((self.warehouse / "d.db/t/bucket-0").glob("data-*")).unlink()
        self.run_program("read", "d.t", "--output", path, status=1)
        self.assertEqual(path.read_text(), "what was there\n")
        self.assertEqual([p.name for p in self.folder.glob("kept*")], ["kept.jsonl"])

    def test_a_full_output_is_an_error_that_names_it(self):
        for command in (["read", "d.t"], ["inspect", "d.t"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([PROGRAM, "--warehouse", str(self.warehouse), *command], stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, 1, command)
            self.assertIn("No space left", done.stderr)

    def test_an_unknown_format_names_those_that_exist(self):
        self.assertIn("arrow-stream", self.run_program("read", "d.t", "--format", "xml", status=2).stderr)


if __name__ == "__main__":
    unittest.main()
