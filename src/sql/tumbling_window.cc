#include "sql/tumbling_window.h"

#include <map>
#include <string>

#include "sql/names.h"
#include "sql/parse_tree.h"

namespace headrace {
namespace {

using Json = nlohmann::json;

// An interval that DuckDB reads; empty: no unit of a window.
std::string SizeOfUnit(const std::string& unit) {
  static const std::map<std::string, std::string> sizes = {
      {"second", "1 second"}, {"minute", "1 minute"}, {"hour", "1 hour"},      {"day", "1 day"},
      {"week", "7 days"},     {"month", "1 month"},   {"quarter", "3 months"}, {"year", "1 year"}};
  for (const auto& [name, size] : sizes) {
    if (IsSameName(unit, name)) return "CAST('" + size + "' AS INTERVAL)";
  }
  return {};
}

// The type to which a window's beginning is cast; empty: it is not, or to something else than a time.
std::string CastOf(const Json& tree) {
  if (TextAt(tree, "class") != "CAST") return {};
  std::string type = TextAt(At(tree, "cast_type"), "id");
  const bool is_time = type == "DATE" || type == "TIMESTAMP" || type == "TIMESTAMP_S" ||
                       type == "TIMESTAMP_MS" || type == "TIMESTAMP_NS";
  return is_time ? type : std::string();
}

// Whether a condition on a time x, the beginning b of its window and the next one's e holds of each day of four years. A size and an offset are constants:
// what they do to months of all lengths, and to one window and the next, they do to all.
bool Holds(const BranchText& text, const std::string& begin, const std::string& size,
           const std::string& condition) {
  return text.IsTrue("SELECT coalesce(bool_and(" + condition + "), FALSE) FROM (SELECT x, b, b + " + size +
                     " AS e FROM (SELECT x, " + begin +
                     " AS b FROM range(TIMESTAMP '2000-01-01', TIMESTAMP '2004-01-01', INTERVAL 1 DAY) AS "
                     "days(x)))");
}

// ShapeWindow::unfit. `function` stands in `group`, in a cast to the type `cast` where there is one.
Result<std::string> WhyUnfit(const ShapeWindow& window, const ShapeExpression& group, const Json& function,
                             const std::string& cast, const BranchText& text) {
  std::string begin = TextAt(function, "function_name") + "(";
  const Json& children = At(function, "children");
  for (size_t i = 0; i < children.size(); ++i) {
    HEADRACE_ASSIGN_OR_RETURN(const std::string argument, text.TextOf(children[i]));
    begin += (i == 0 ? "" : ", ") + (i == 1 ? "x" : argument);
  }
  begin += ")";
  HEADRACE_ASSIGN_OR_RETURN(const std::string whole, text.TextOf(group.tree));
  if (!Holds(text, begin, window.size, "b <= x AND x < e"))
    return "the windows of " + whole + " are not all as long as " + window.size +
           "; write an offset that shifts all of them alike: without months, and for windows of months of "
           "fewer than 28 days";
  const bool may_cut = cast == "DATE" || cast == "TIMESTAMP_S" || cast == "TIMESTAMP_MS";
  if (may_cut &&
      !Holds(text, begin, window.size, "CAST(b AS " + cast + ") = b AND CAST(e AS " + cast + ") = e"))
    return whole + " makes one of windows that begin apart, since " + cast +
           " cuts their beginnings; leave the CAST out, write CAST(… AS TIMESTAMP(6)), or take windows that "
           "begin at whole " +
           (cast == "DATE"          ? "days"
            : cast == "TIMESTAMP_S" ? "seconds"
                                    : "milliseconds");
  return std::string();
}

}  // namespace

Result<std::optional<ShapeWindow>> WindowOf(const ShapeExpression& group, const SourceColumns& names,
                                            const BranchText& text) {
  const std::string cast = CastOf(group.tree);
  const Json& tree = cast.empty() ? group.tree : At(group.tree, "child");
  const Json& children = At(tree, "children");
  if (TextAt(tree, "class") != "FUNCTION" || !children.is_array() || children.size() < 2) return std::nullopt;
  const ShapeExpression time = names.Named(children[1]);
  if (!time.is_known || time.column_of < 0) return std::nullopt;
  ShapeWindow window;
  window.column = time.column;
  const std::string function = TextAt(tree, "function_name");
  if (function == "date_trunc" || function == "datetrunc") {
    window.size = SizeOfUnit(TextAt(At(children[0], "value"), "value"));
    if (window.size.empty() || children.size() != 2) return std::nullopt;
  } else if (function == "time_bucket") {
    for (size_t i = 0; i < children.size(); ++i) {
      const ShapeExpression argument = names.Named(children[i]);
      if (i != 1 && (!argument.is_known || !argument.sources.empty())) return std::nullopt;
    }
    HEADRACE_ASSIGN_OR_RETURN(window.size, text.TextOf(children[0]));
  } else {
    return std::nullopt;
  }
  HEADRACE_ASSIGN_OR_RETURN(window.unfit, WhyUnfit(window, group, tree, cast, text));
  return window;
}

}  // namespace headrace
