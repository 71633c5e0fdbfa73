import unittest

from small_tree import SmallTreeTest

import check_layers

ROOMS = {
    "src/base/CMakeLists.txt": "headrace_room(base LIBS headrace_dep::fmt)",
    "src/io/CMakeLists.txt": "headrace_room(io DEPENDS base)",
    "src/format/CMakeLists.txt": "headrace_room(format DEPENDS base LIBS headrace_dep::zstd)",
    "src/file/CMakeLists.txt": "# files\nheadrace_room(file\n  DEPENDS io format)",
    "src/catalog/CMakeLists.txt": "headrace_room(catalog DEPENDS io)",
    "src/base/error.h": "#pragma once\n",
    "src/io/store.h": '#include "base/error.h"\n#include <vector>\n',
    "src/format/schema.h": "",
    "src/file/reader.h": '#include "base/error.h"\n#include "format/schema.h"\n',
}


class CheckLayers(SmallTreeTest):
    def problems(self, extra):
        return list(check_layers.problems(self.tree({**ROOMS, **extra})))

    def test_a_tree_that_only_goes_down_is_fine(self):
        self.assertEqual(self.problems({}), [])

    def test_a_sibling_is_not_seen(self):
        self.assertEqual(len(self.problems({"src/io/bad.cc": '\n#include "format/schema.h"\n'})), 1)
        self.assertIn("src/io/bad.cc:2: io and format are siblings", self.problems(
            {"src/io/bad.cc": '\n#include "format/schema.h"\n'})[0])

    def test_a_higher_room_is_not_seen(self):
        found = self.problems({"src/format/bad.h": '#include "file/reader.h"\n'})
        self.assertIn("format (floor 1) may not include file (floor 2)", found[0])

    def test_angle_brackets_do_not_hide_an_include(self):
        self.assertEqual(len(self.problems({"src/format/bad.h": "#  include <file/reader.h>\n"})), 1)

    def test_a_lower_room_must_be_declared(self):
        found = self.problems({"src/catalog/bad.cc": '#include "format/schema.h"\n'})
        self.assertIn("its CMakeLists.txt does not depend on format", found[0])

    def test_a_room_reached_through_another_counts_as_declared(self):
        self.assertEqual(self.problems({"src/catalog/good.cc": '#include "base/error.h"\n'}), [])

    def test_a_declared_dependency_must_go_down(self):
        found = self.problems({"src/io/CMakeLists.txt": "headrace_room(io DEPENDS base file)"})
        self.assertIn("io (floor 1) depends on file (floor 2)", found[0])

    def test_faces_see_only_the_public_api(self):
        self.assertEqual(self.problems({"cli/good.cc": '#include "headrace/table.h"\n#include "cli/good.h"\n'}), [])
        for face in ("cli/bad.cc", "bench/bad.cc", "python/bad.cc"):
            self.assertEqual(len(self.problems({face: '#include "base/error.h"\n'})), 1, face)

    def test_micro_benchmarks_and_tests_see_everything(self):
        self.assertEqual(self.problems({"bench/micro/a.cc": '#include "file/reader.h"\n',
                                        "tests/laws/a.cc": '#include "file/reader.h"\n'}), [])

    def test_public_headers_stand_alone(self):
        found = self.problems({"include/headrace/table.h": '#include "base/error.h"\n'})
        self.assertIn("a public header may include only", found[0])

    def test_rooms_do_not_see_the_public_api_but_the_api_room_does(self):
        found = self.problems({"src/file/bad.cc": '#include "headrace/table.h"\n#include "headrace/error.h"\n',
                               "src/api/CMakeLists.txt": "headrace_room(api DEPENDS file)",
                               "src/api/good.cc": '#include "headrace/table.h"\n'})
        self.assertEqual(len(found), 1)

    def test_an_include_without_its_room_is_refused(self):
        self.assertIn('should be "io/store.h"', self.problems({"src/io/bad.cc": '#include "store.h"\n'})[0])

    def test_a_missing_file_is_told(self):
        self.assertIn("does not exist", self.problems({"src/io/bad.cc": '#include "base/gone.h"\n'})[0])

    def test_an_unknown_room_is_refused(self):
        self.assertIn("attic is no room", self.problems({"src/attic/a.cc": '#include "base/error.h"\n'})[0])


if __name__ == "__main__":
    unittest.main()
