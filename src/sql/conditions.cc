// DuckDB's parse tree, which it gives as JSON, searched for conditions.
#include "sql/conditions.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "sql/duckdb_handle.h"
#include "sql/names.h"
#include "sql/parse_tree.h"

namespace headrace {
namespace {

using Json = nlohmann::json;

// "-525" with scale 2 is "-5.25".
std::string DecimalText(int64_t unscaled, int scale) {
  std::string digits = std::to_string(unscaled < 0 ? -unscaled : unscaled);
  if (static_cast<int>(digits.size()) <= scale)
    digits.insert(0, static_cast<size_t>(scale) + 1 - digits.size(), '0');
  if (scale > 0) digits.insert(digits.size() - static_cast<size_t>(scale), ".");
  return (unscaled < 0 ? "-" : "") + digits;
}

// So long is a text that a cast to the type keeps as it is: of a longer one the time of day, or digits, are cut. Of another type none.
size_t LongestTimeText(const std::string& type) {
  if (type == "DATE") return std::string_view("2024-01-05").size();
  if (type == "TIMESTAMP") return std::string_view("2024-01-05 10:00:00.000000").size();
  if (type == "TIMESTAMP_NS") return std::string_view("2024-01-05 10:00:00.000000000").size();
  return 0;
}

std::optional<SqlConstant> ConstantOf(const Json& node) {
  if (TextAt(node, "class") == "CAST") {
    const auto inner = ConstantOf(At(node, "child"));
    const bool same = inner && inner->kind == SqlConstant::Kind::kText &&
                      inner->text.size() <= LongestTimeText(TextAt(At(node, "cast_type"), "id"));
    return same ? std::optional(SqlConstant{SqlConstant::Kind::kTime, inner->text}) : std::nullopt;
  }
  const Json& value = At(node, "value");
  if (TextAt(node, "class") != "CONSTANT" || At(value, "is_null") != Json(false)) return std::nullopt;
  const std::string id = TextAt(At(value, "type"), "id");
  const Json& plain = At(value, "value");
  if (id == "VARCHAR" && plain.is_string())
    return SqlConstant{SqlConstant::Kind::kText, plain.get<std::string>()};
  if (!plain.is_number_integer()) return std::nullopt;
  if (id == "TINYINT" || id == "SMALLINT" || id == "INTEGER" || id == "BIGINT")
    return SqlConstant{SqlConstant::Kind::kNumber, std::to_string(plain.get<int64_t>())};
  const Json& scale = At(At(At(value, "type"), "type_info"), "scale");
  if (id != "DECIMAL") return std::nullopt;
  return SqlConstant{SqlConstant::Kind::kNumber,
                     DecimalText(plain.get<int64_t>(), scale.is_number_integer() ? scale.get<int>() : 0)};
}

using Is = ColumnCondition::Is;

std::optional<Is> IsOf(const std::string& type, bool flipped) {
  if (type == "COMPARE_EQUAL") return Is::kEqual;
  if (type == "COMPARE_LESSTHAN") return flipped ? Is::kGreater : Is::kLess;
  if (type == "COMPARE_LESSTHANOREQUALTO") return flipped ? Is::kGreaterOrEqual : Is::kLessOrEqual;
  if (type == "COMPARE_GREATERTHAN") return flipped ? Is::kLess : Is::kGreater;
  if (type == "COMPARE_GREATERTHANOREQUALTO") return flipped ? Is::kLessOrEqual : Is::kGreaterOrEqual;
  return std::nullopt;
}

// The conjuncts of one WHERE, over the table that stands alone in its FROM.
class Conjuncts {
 public:
  explicit Conjuncts(const Json& from) : table_(TextAt(from, "table_name")), alias_(TextAt(from, "alias")) {}

  void Add(const Json& node) {
    const std::string type = TextAt(node, "type");
    if (type == "CONJUNCTION_AND") {
      for (const Json& child : At(node, "children")) Add(child);
    } else if (type == "COMPARE_BETWEEN") {
      AddComparison(At(node, "input"), Is::kGreaterOrEqual, At(node, "lower"));
      AddComparison(At(node, "input"), Is::kLessOrEqual, At(node, "upper"));
    } else if (TextAt(node, "class") == "COMPARISON") {
      const bool flipped = ColumnOf(At(node, "left")).empty();
      if (const auto is = IsOf(type, flipped))
        AddComparison(At(node, flipped ? "right" : "left"), *is, At(node, flipped ? "left" : "right"));
    } else if (type == "COMPARE_IN" || type == "OPERATOR_IS_NULL" || type == "OPERATOR_IS_NOT_NULL") {
      AddOperator(type, At(node, "children"));
    }
  }

  std::vector<ColumnCondition> Take() { return std::move(conditions_); }

 private:
  // Empty: no column of the table, as far as its name tells. A column that holds rows may have the name of the table: then a part follows.
  std::string ColumnOf(const Json& node) const {
    const Json& names = At(node, "column_names");
    if (TextAt(node, "class") != "COLUMN_REF" || !names.is_array() || names.empty() || names.size() > 2)
      return "";
    if (names.size() == 2 && !IsSameName(names[0].get<std::string>(), alias_.empty() ? table_ : alias_))
      return "";
    return names.back().get<std::string>();
  }

  void AddComparison(const Json& left, Is is, const Json& right) {
    const std::string column = ColumnOf(left);
    const auto constant = ConstantOf(right);
    if (!column.empty() && constant) conditions_.push_back({column, is, {*constant}});
  }

  void AddOperator(const std::string& type, const Json& children) {
    if (!children.is_array() || children.empty()) return;
    ColumnCondition condition{ColumnOf(children[0]), Is::kIn, {}};
    if (condition.column.empty()) return;
    if (type != "COMPARE_IN") {
      condition.is = type == "OPERATOR_IS_NULL" ? Is::kNull : Is::kNotNull;
    } else {
      for (size_t i = 1; i < children.size(); ++i) {
        auto constant = ConstantOf(children[i]);
        if (!constant) return;
        condition.constants.push_back(std::move(*constant));
      }
    }
    conditions_.push_back(std::move(condition));
  }

  const std::string table_;
  const std::string alias_;
  std::vector<ColumnCondition> conditions_;
};

// Goes through the whole tree: counts the tables, and reads the WHERE of every SELECT from one of them.
class TreeSearch {
 public:
  // False where something stands in a FROM that may hide a table.
  bool Visit(const Json& node) {
    if (node.is_array())
      return std::all_of(node.begin(), node.end(), [this](const Json& each) { return Visit(each); });
    if (!node.is_object()) return true;
    const std::string type = TextAt(node, "type");
    if (type == "TABLE_FUNCTION" && !IsHarmless(TextAt(At(node, "function"), "function_name"))) return false;
    if (type == "BASE_TABLE") ++seen_[Key(node)];
    if (type == "SELECT_NODE") ReadSelect(node);
    return std::all_of(node.begin(), node.end(), [this](const Json& each) { return Visit(each); });
  }

  std::vector<TableConditions> Take() {
    std::vector<TableConditions> taken;
    for (auto& [key, conditions] : found_) {
      if (seen_[key] == 1 && !conditions.conditions.empty()) taken.push_back(std::move(conditions));
    }
    return taken;
  }

 private:
  static bool IsHarmless(const std::string& function) {
    return function == "range" || function == "generate_series" || function == "unnest";
  }
  // Tables whose names differ only in case are one for DuckDB; a name with and without its database may be one too.
  static std::string Key(const Json& table) {
    std::string key = TextAt(table, "table_name");
    std::transform(key.begin(), key.end(), key.begin(), [](unsigned char c) { return std::tolower(c); });
    return key;
  }

  void ReadSelect(const Json& node) {
    const Json& from = At(node, "from_table");
    if (TextAt(from, "type") != "BASE_TABLE" || from.contains("sample") || from.contains("at_clause") ||
        from.contains("column_name_alias") || node.contains("sample"))
      return;
    Conjuncts conjuncts(from);
    conjuncts.Add(At(node, "where_clause"));
    found_[Key(from)] = {TextAt(from, "schema_name"), TextAt(from, "table_name"), conjuncts.Take()};
  }

  std::map<std::string, int> seen_;
  std::map<std::string, TableConditions> found_;
};

bool HasNoCollation(duckdb_connection connection) {
  DuckResult result;
  const bool asked = duckdb_query(connection, "SELECT 1 WHERE current_setting('default_collation') = ''",
                                  result.get()) == DuckDBSuccess;
  return asked && duckdb_row_count(result.get()) == 1;
}

}  // namespace

Result<std::vector<TableConditions>> FindConditions(duckdb_connection connection,
                                                    const std::string& statement) {
  // With a collation for all texts, texts that differ may be equal.
  const Result<Json> tree = ParseTreeOf(connection, statement, /*with_defaults=*/false);
  if (!HasNoCollation(connection) || !tree.ok()) return std::vector<TableConditions>();
  TreeSearch search;
  if (!search.Visit(At(*tree, "statements"))) return std::vector<TableConditions>();
  return search.Take();
}

}  // namespace headrace
