#include "sql/shape_check.h"

#include <algorithm>
#include <cctype>

#include "sql/duckdb_handle.h"
#include "sql/parse_tree.h"

namespace headrace {
namespace {

using Json = nlohmann::json;

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

Result<std::set<std::string>> FunctionsWhere(duckdb_connection connection, const std::string& condition) {
  DuckResult result;
  const std::string ask = "SELECT DISTINCT lower(function_name) FROM duckdb_functions() WHERE " + condition;
  if (duckdb_query(connection, ask.c_str(), result.get()) != DuckDBSuccess)
    return Invalid(duckdb_result_error(result.get()));
  std::set<std::string> names;
  for (idx_t row = 0; row < duckdb_row_count(result.get()); ++row) {
    char* name = duckdb_value_varchar(result.get(), 0, row);
    names.insert(name == nullptr ? "" : name);
    duckdb_free(name);
  }
  return names;
}

// Aggregates whose value depends on the order in which rows come. Those that choose among equals alone, as arg_max, are not meant.
bool NeedsOrder(const std::string& function) {
  static const std::set<std::string> ordered = {
      "first",        "last",    "any_value",        "arbitrary",        "list", "array_agg", "string_agg",
      "group_concat", "listagg", "json_group_array", "json_group_object"};
  return ordered.count(function) != 0;
}

// Functions that are written without parentheses, which the parser takes for columns. Any other name is a column's, be it a function's as well: uuid.
bool IsWordOfTheMoment(const std::string& name) {
  static const std::set<std::string> words = {"current_timestamp", "current_time", "current_date",
                                              "localtime", "localtimestamp"};
  return words.count(name) != 0;
}

}  // namespace

Result<ShapeCheck> ShapeCheck::Open(duckdb_connection connection) {
  ShapeCheck check;
  HEADRACE_ASSIGN_OR_RETURN(check.aggregates_, FunctionsWhere(connection, "function_type = 'aggregate'"));
  HEADRACE_ASSIGN_OR_RETURN(
      check.unsteady_, FunctionsWhere(connection, "function_type = 'scalar' AND stability <> 'CONSISTENT'"));
  check.aggregates_.insert("count_star");
  // Macros of DuckDB's, which its list does not call aggregates, or of the moment.
  for (const char* macro : {"geomean", "geometric_mean", "weighted_avg", "wavg", "json_group_array",
                            "json_group_object", "json_group_structure"})
    check.aggregates_.insert(macro);
  check.unsteady_.insert("ago");
  check.unsteady_.erase("error");  // it has no value at all
  return check;
}

Status ShapeCheck::CheckFunction(const Json& node) const {
  const std::string name = Lower(TextAt(node, "function_name"));
  if (unsteady_.count(name) != 0)
    return Unsupported(
        name,
        "() changes by itself, so what it gave cannot be kept true; take a column of the source instead");
  if (name == "age" && At(node, "children").size() == 1)
    return Unsupported(
        "age() of one time tells it from today, so what it gave cannot be kept true; write age(a, b)");
  if (name == "unnest")
    return Unsupported(
        "unnest() gives several rows of one, which nothing tells apart, so it is not maintained; keep the "
        "list as it is, "
        "and unnest it where the target is read");
  const Json& orders = At(At(node, "order_bys"), "orders");
  if (TextAt(node, "class") == "FUNCTION" && NeedsOrder(name) && (!orders.is_array() || orders.empty()))
    return Unsupported(name, "() depends on the order in which rows are read; write ", name,
                       "(… ORDER BY …) with an order that tells all rows apart, or min() or max()");
  return Status::OK();
}

Status ShapeCheck::CheckExpressions(const Json& node) const {
  if (node.is_array()) {
    for (const Json& each : node) HEADRACE_RETURN_NOT_OK(CheckExpressions(each));
    return Status::OK();
  }
  if (!node.is_object()) return Status::OK();
  const std::string kind = TextAt(node, "class");
  if (kind == "SUBQUERY")
    return Unsupported(
        "a subquery inside an expression is not maintained; write it as a JOIN, or as a table of its own by "
        "another INSERT");
  if (kind == "STAR")
    return Unsupported("COLUMNS and * inside an expression stand for several; name the columns");
  if (kind == "PARAMETER") return Unsupported("a parameter has no value here; write the value");
  if (kind == "FUNCTION" || kind == "WINDOW") HEADRACE_RETURN_NOT_OK(CheckFunction(node));
  if (kind == "COLUMN_REF") {
    const Json& names = At(node, "column_names");
    if (names.is_array() && names.size() == 1 && IsWordOfTheMoment(Lower(names[0].get<std::string>())))
      return Unsupported(
          names[0].get<std::string>(),
          " changes by itself, so what it gave cannot be kept true; take a column of the source instead");
  }
  for (const Json& each : node) HEADRACE_RETURN_NOT_OK(CheckExpressions(each));
  return Status::OK();
}

ShapeCheck::Choice ShapeCheck::ChoiceOf(const Json& node) {
  static const std::set<std::string> by_place = {"WINDOW_ROW_NUMBER", "WINDOW_NTILE", "WINDOW_LEAD",
                                                 "WINDOW_LAG"};
  static const std::set<std::string> of_frame = {"WINDOW_FIRST_VALUE", "WINDOW_LAST_VALUE",
                                                 "WINDOW_NTH_VALUE"};
  static const std::set<std::string> functions = {
      "arg_max", "argmax", "max_by", "arg_min", "argmin", "min_by", "arg_max_null", "arg_min_null", "mode"};
  const std::string kind = TextAt(node, "class"), type = TextAt(node, "type");
  const std::string name = Lower(TextAt(node, "function_name"));
  Choice choice;
  if (kind != "WINDOW" && kind != "FUNCTION") return choice;
  // With DISTINCT, DuckDB orders by the arguments alone, which tell all apart.
  const bool chooses = At(node, "distinct") != Json(true) &&
                       (functions.count(name) != 0 || (NeedsOrder(name) && !name.starts_with("json_")));
  if (kind == "FUNCTION") {
    choice.by_arguments = chooses;
    return choice;
  }
  const bool counts_rows = TextAt(node, "start").ends_with("_ROWS") || TextAt(node, "end").ends_with("_ROWS");
  const std::string leaves_out = TextAt(node, "exclude_clause");
  choice.by_window =
      by_place.count(type) != 0 || (counts_rows && leaves_out != "GROUP" && leaves_out != "TIES");
  choice.by_arguments = of_frame.count(type) != 0 || (type == "WINDOW_AGGREGATE" && chooses);
  return choice;
}

bool ShapeCheck::HasAggregate(const Json& node) const {
  if (node.is_array())
    return std::any_of(node.begin(), node.end(), [this](const Json& each) { return HasAggregate(each); });
  if (!node.is_object() || TextAt(node, "class") == "WINDOW") return false;
  if (TextAt(node, "class") == "FUNCTION" && aggregates_.count(Lower(TextAt(node, "function_name"))) != 0 &&
      At(node, "is_operator") != Json(true))
    return true;
  return std::any_of(node.begin(), node.end(), [this](const Json& each) { return HasAggregate(each); });
}

}  // namespace headrace
