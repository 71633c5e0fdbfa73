"""Every test that docs/reliability.md and docs/traps.md name exists."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CXX_TEST = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)")


def gtest_names():
    names = set()
    for folder in ("src", "tests", "cli"):
        for file in (ROOT / folder).rglob("*.cc"):
            names |= {f"{suite}.{name}" for suite, name in CXX_TEST.findall(file.read_text(encoding="utf-8"))}
    return names


def python_names():
    return {f"{file.name}::{name}" for file in (ROOT / "tests").rglob("test_*.py")
            for name in re.findall(r"def (test_\w+)\(", file.read_text(encoding="utf-8"))}


def scenario_names():
    folder = ROOT / "tests/scenarios"
    return {file.relative_to(folder).as_posix() for file in folder.rglob("*.scenario")}


def named(text):
    """In backticks: Suite.Name, test_file.py::test_name and folder/name.scenario."""
    return set(re.findall(r"`([A-Z]\w+\.[A-Z]\w+|test_\w+\.py::\w+|\w+/\w+\.scenario)`", text))


class Reliability(unittest.TestCase):
    def test_every_test_named_exists(self):
        for page, at_least in (("docs/reliability.md", 40), ("docs/traps.md", 25)):
            with self.subTest(page=page):
                wanted = named((ROOT / page).read_text(encoding="utf-8"))
                self.assertGreater(len(wanted), at_least)
                self.assertEqual(wanted - gtest_names() - python_names() - scenario_names(), set())

    def test_a_name_that_is_gone_is_seen(self):
        self.assertEqual(named("`Ab.Cd`, `test_x.py::test_y`, `a/b.scenario` and `a.b`"),
                         {"Ab.Cd", "test_x.py::test_y", "a/b.scenario"})
        self.assertNotIn("ScenarioSweep.SurvivesEverything", gtest_names())


if __name__ == "__main__":
    unittest.main()
