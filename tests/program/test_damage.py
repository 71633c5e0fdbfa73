"""Damage by hand: an error that names the file, or the right answer; never less than there is."""

import unittest

from program_case import ProgramCase


class Damage(ProgramCase):
    def setUp(self):
        super().setUp()
        self.table = self.customers()
        for n in range(4):
            self.ingest_lines(self.table, [{"id": n, "name": "x", "plan": None}], name=f"{n}.jsonl")
        self.snapshots = self.warehouse / "shop.db/customers/snapshot"

    def test_a_missing_snapshot_between_others_is_named(self):
        (self.snapshots / "snapshot-2").unlink()
        done = self.run_program("changes", self.table, status=1)
        self.assertIn("corruption", done.stderr)
        self.assertIn("snapshot-2", done.stderr)

    def test_lying_hints_hide_nothing(self):
        for latest, earliest in (("1", "3"), ("9", "9"), ("x", ""), ("4", "4")):
            (self.snapshots / "LATEST").write_text(latest)
            (self.snapshots / "EARLIEST").write_text(earliest)
            self.assertEqual(len(self.rows("changes", self.table)), 4, (latest, earliest))
            self.assertEqual(len(self.rows("read", self.table)), 4)

    def test_an_empty_or_cut_snapshot_file_is_named(self):
        for text in ("", "{", '{"version":3}'):
            (self.snapshots / "snapshot-4").write_text(text)
            self.assertIn("snapshot-4", self.run_program("read", self.table, status=1).stderr)

    def test_contradictions_of_a_range_are_refused(self):
        self.run_program("changes", self.table, "--from-snapshot", 3, "--to-snapshot", 2, status=1)
        self.run_program("changes", self.table, "--from", "full", "--to-snapshot", 2, status=1)


if __name__ == "__main__":
    unittest.main()
