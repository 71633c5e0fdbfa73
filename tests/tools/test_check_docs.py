import unittest

from small_tree import SmallTreeTest

import check_docs

PROJECT = {
    "Makefile": "build: x ## programs\ntest: build\n\tctest --output-on-failure\n",
    "src/lsm/levels.h": "",
    "src/lsm/README.md": "",
    "docs/architecture.md": "# A\n",
    "cli/main.cc": 'app.add_subcommand("read", "rows"); read->add_option("--limit,-n", n, "rows"); Say("--columns a,b");',
}


class CheckDocs(SmallTreeTest):
    def problems(self, text, at="README.md"):
        return list(check_docs.problems(self.tree({**PROJECT, at: text})))

    def assert_fine(self, text, at="README.md"):
        self.assertEqual(self.problems(text, at), [])

    def assert_wrong(self, text, part, at="README.md"):
        found = self.problems(text, at)
        self.assertEqual(len(found), 1, found)
        self.assertIn(part, found[0])

    def test_paths_that_exist_are_fine_in_every_form(self):
        self.assert_fine("`src/lsm/levels.h` `lsm/levels.h` `lsm/levels` `lsm/` `src/lsm/*.h` `docs/architecture.md`")

    def test_a_path_that_is_gone_is_told_with_its_line(self):
        self.assert_wrong("a\n\n`lsm/gone.h`", "README.md:3: `lsm/gone.h` does not exist")

    def test_a_glob_must_match_something(self):
        self.assert_wrong("`src/lsm/*.java`", "does not exist")

    def test_words_with_slashes_that_are_no_paths_are_left_alone(self):
        self.assert_fine("`a/b` `snapshot/snapshot-1` `build/bin/headrace` `-U/+U` `dt=2026-01-01/bucket-0`")

    def test_a_planned_room_may_be_named_but_no_file_in_it(self):
        self.assert_fine("`sql/`")
        self.assert_wrong("`sql/planner.h`", "does not exist")

    def test_links_are_followed_from_the_document(self):
        self.assert_fine("[a](architecture.md) [b](../src/lsm/README.md#x)", "docs/b.md")
        self.assert_fine("[a](docs/architecture.md#a) [c](https://example.org/x) [d](#here)")
        self.assert_wrong("[a](docs/gone.md)", "docs/gone.md leads nowhere")

    def test_make_targets_must_exist(self):
        self.assert_fine("`make test`\n\n```\n$ make build\n```\n")
        self.assert_wrong("`make coffee`", "no such target")
        self.assert_wrong("```\nmake coffee\n```", "no such target")

    def test_commands_and_options_must_exist(self):
        self.assert_fine("```\n$ headrace read a.b --limit 3 --columns x\n+I 1 --not-looked-at\n```")
        self.assert_wrong("```\n$ build/bin/headrace read a.b --depth 3\n```", "`--depth`")
        self.assert_wrong("`headrace paint a.b`", "`headrace paint`")
        self.assert_wrong("`--depth`", "no program has this option")

    def test_an_option_on_a_continued_line_is_seen(self):
        self.assert_wrong("```\nheadrace read a.b \\\n  --depth 3\n```", "`--depth`")

    def test_options_of_other_programs_and_quoted_text_are_left_alone(self):
        self.assert_fine("`--output-on-failure`\n\n```\ngit commit --amend\nheadrace read 'a --depth' | sort --unique\n```")

    def test_a_room_with_code_needs_a_readme(self):
        found = list(check_docs.problems(self.tree({**PROJECT, "src/io/store.h": "", "src/sql/CMakeLists.txt": ""})))
        self.assertEqual(found, ["src/io: has code but no README.md"])

    def test_a_line_can_be_exempt(self):
        self.assert_fine("`lsm/gone.h` was here once <!-- unchecked -->")


if __name__ == "__main__":
    unittest.main()
