import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import conformance


class Conformance(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        conformance.RESULTS = pathlib.Path(self.folder.name)
        conformance.PAGE = pathlib.Path(self.folder.name, "page.md")

    def leave(self, name, *results):
        lines = [json.dumps(dict(zip(("feature", "writer", "reader", "what", "result", "why"), r))) + "\n" for r in results]
        (conformance.RESULTS / f"{name}.jsonl").write_text("".join(lines))

    def leave_all(self, *results):
        for name in conformance.CLASSES:
            self.leave(name)
        self.leave("HeadraceWrites", *results)

    def text(self):
        return conformance.page(conformance.load()[0])

    def test_a_cell_says_what_held_and_a_dash_where_nothing_ran(self):
        self.leave("HeadraceWrites", ("nested", "headrace", "java", "rows", "holds"), ("nested", "headrace", "java", "changes", "holds"))
        self.assertIn("| nested | rows, changes | – | – |", self.text())

    def test_packed_integers_have_a_column_for_each_of_their_readers(self):
        self.leave("Packed", ("keys", "packed, headrace", "java", "rows", "holds"), ("keys", "packed, headrace", "duckdb", "rows", "holds"))
        self.assertIn("| keys | rows | – | – | – | – | – | rows |", self.text())

    def test_a_failure_shows_whatever_else_held(self):
        self.leave("A", ("nested", "headrace", "java", "rows", "holds"))
        self.leave("B", ("nested", "headrace", "java", "rows", "fails"))
        self.leave("C", ("nested", "headrace", "java", "rows", "holds"))
        self.assertIn("**rows fails**", self.text())

    def test_what_a_program_cannot_is_a_numbered_reason(self):
        self.leave("PypaimonWrites", ("compaction", "pypaimon", "", "rows", "cannot", "it does not compact"))
        self.assertIn("| compaction | [1] | [1] | [1] |", self.text())
        self.assertIn("1. it does not compact.", self.text())

    def test_the_page_is_made_of_whole_runs_only(self):
        self.leave("HeadraceWrites", ("nested", "headrace", "java", "rows", "holds"))
        self.assertEqual(conformance.main([]), 1)
        self.assertFalse(conformance.PAGE.exists())
        self.leave_all(("nested", "headrace", "java", "rows", "holds"))
        self.assertEqual(conformance.main([]), 0)
        self.assertEqual(conformance.main(["--check"]), 0)

    def test_a_page_that_says_otherwise_than_the_last_run_is_told(self):
        self.leave_all(("nested", "headrace", "java", "rows", "holds"))
        conformance.main([])
        self.leave("HeadraceWrites", ("nested", "headrace", "java", "rows", "fails"))
        self.assertEqual(conformance.main(["--check"]), 1)

    def test_a_part_of_a_run_is_checked_against_its_part_of_the_page(self):
        self.leave_all(("nested", "headrace", "java", "rows", "holds"), ("maps", "headrace", "java", "rows", "holds"))
        conformance.main([])
        for file in conformance.RESULTS.glob("*.jsonl"):
            file.unlink()
        self.leave("HeadraceWrites", ("maps", "headrace", "java", "rows", "holds"))
        self.assertEqual(conformance.main(["--check"]), 0)
        self.leave("HeadraceWrites", ("maps", "headrace", "java", "changes", "holds"))
        self.assertEqual(conformance.main(["--check"]), 1)


if __name__ == "__main__":
    unittest.main()
