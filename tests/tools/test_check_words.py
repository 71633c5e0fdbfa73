import pathlib
import unittest

from small_tree import SmallTreeTest

import check_words

UNFINISHED = "TO" + "DO"
MACHINE = "/wo" + "rk/x"
TEMPORARY = "/t" + "mp/x"


class CheckWords(SmallTreeTest):
    def found(self, name, text):
        return len(list(check_words.problems_in(pathlib.PurePosixPath(name), text)))

    def test_unfinished_work_is_told_everywhere(self):
        self.assertEqual(self.found("docs/a.md", f"x\n{UNFINISHED}: later\n"), 1)
        self.assertEqual(self.found("src/io/a.cc", f"// {UNFINISHED}(me)\n"), 1)
        self.assertEqual(self.found("src/io/a.cc", f"int {UNFINISHED}S;\n"), 0)

    def test_paths_of_one_machine_are_told(self):
        self.assertEqual(self.found("cmake/a.cmake", f'set(x "{MACHINE}")'), 1)
        self.assertEqual(self.found("docs/a.md", "frame" + MACHINE), 0)

    def test_temporary_paths_are_told_in_build_files_only(self):
        self.assertEqual(self.found("CMakeLists.txt", TEMPORARY), 1)
        self.assertEqual(self.found("README.md", TEMPORARY), 0)

    def test_the_big_arrow_header_is_refused_in_headers_only(self):
        self.assertEqual(self.found("src/io/a.h", "#include <arrow/api.h>\n"), 1)
        self.assertEqual(self.found("src/io/a.cc", "#include <arrow/api.h>\n"), 0)

    def test_rooms_do_not_throw_but_may_speak_of_it(self):
        self.assertEqual(self.found("src/io/a.cc", "  throw std::runtime_error(x);\n"), 1)
        self.assertEqual(self.found("src/io/a.cc", "// never throw std::x(…)\n  catch (...) {\n"), 0)
        self.assertEqual(self.found("src/io/a_test.cc", "  throw std::runtime_error(x);\n"), 0)

    def test_the_tool_does_not_complain_about_itself(self):
        text = pathlib.Path(check_words.__file__).read_text()
        self.assertEqual(self.found("tools/check_words.py", text), 0)


if __name__ == "__main__":
    unittest.main()
