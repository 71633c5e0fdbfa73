import io
import contextlib
import unittest

from small_tree import SmallTreeTest

import report

CODE = '''// A comment { with a brace
#define MACRO(x) { x
namespace headrace {
namespace {
constexpr char kText[] = "{ not a brace";
constexpr int kTable[] = {1, 2, 3};

Result<int> Add(const std::map<int, int>& a, int b,
                int c) {
  auto f = [&](int x) { return x; };
  if (b) { return f(c); }
  return R"({"a": {)";
}
}  // namespace

class Thing final : public Base {
 public:
  explicit Thing(int a) : a_{a}, b_(2) {}
  int a() const { return a_; }
  void Far(int x, int y) override;
  enum class Kind { kA, kB };
 private:
  int a_ = 0;
  std::function<int(int)> f_;
};

template <typename T>
void Thing::Far(int x, int y) {
  for (;;) {
  }
}
bool operator==(const Thing& a, const Thing& b) { return a.a() == b.a(); }
}  // namespace headrace
'''


class Report(SmallTreeTest):
    def test_functions_and_their_lengths_are_found(self):
        functions, _ = report.scan("a.cc", CODE)
        self.assertEqual([(f.name, f.line, f.lines, f.parameters) for f in functions], [
            ("Add", 8, 6, 3),
            ("Thing::Thing", 18, 1, 1),
            ("Thing::a", 19, 1, 0),
            ("Thing::Far", 27, 5, 2),
            ("operator==", 32, 1, 2),
        ])

    def test_methods_are_counted_without_fields_and_enums(self):
        _, classes = report.scan("a.cc", CODE)
        self.assertEqual([(c.name, c.methods) for c in classes], [("Thing", 3)])

    def test_a_nested_class_defined_outside_keeps_its_whole_name(self):
        _, classes = report.scan("a.cc", "struct Tape::Cursor {\n  int At(int i);\n};\nclass A : public B<C::D> {\n};\n")
        self.assertEqual([c.name for c in classes], ["Tape::Cursor", "A"])

    def test_comments_strings_and_macros_are_blanked_and_lines_stay(self):
        blank = report.blank_out(CODE)
        self.assertEqual(blank.count("\n"), CODE.count("\n"))
        self.assertEqual(blank.count("{"), blank.count("}"))

    def test_comment_lines_are_counted(self):
        self.assertEqual(report.count_comment_lines("// a\nint x;  // b\n/* c\nd */\n"), 3)

    def test_a_whole_report_is_printed(self):
        root = self.tree({"src/io/a.cc": CODE, "src/io/a_test.cc": CODE})
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            self.assertEqual(report.main(["--root", str(root), "--headers", "0"]), 0)
        self.assertIn("src/io/a.cc:8 Add", out.getvalue())


if __name__ == "__main__":
    unittest.main()
