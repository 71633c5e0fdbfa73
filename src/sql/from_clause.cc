#include "sql/from_clause.h"

#include <utility>

#include "sql/parse_tree.h"

namespace headrace {

using Json = nlohmann::json;

Status FromClause::AddSources(const Json& from) {
  const std::string type = TextAt(from, "type");
  if (type == "BASE_TABLE") return AddTable(from);
  if (type == "JOIN") return AddJoin(from);
  if (type == "EMPTY")
    return Unsupported("a SELECT without FROM never changes; insert its rows once by headrace sql");
  if (type == "SUBQUERY")
    return Unsupported("a subquery in FROM is not maintained; make it a table of its own by another INSERT");
  if (type == "TABLE_FUNCTION")
    return Unsupported("a function in FROM is not followed for changes; read from a table");
  if (type == "PIVOT") return PivotIsNotMaintained();
  if (type == "EXPRESSION_LIST") return Unsupported("VALUES never change; insert them once by headrace sql");
  if (type == "SHOW_REF")
    return Unsupported(
        "DESCRIBE, SUMMARIZE and SHOW are not maintained; read from tables and joins of tables");
  return Unsupported("FROM holds what is not maintained (", type, "); read from tables and joins of tables");
}

Status FromClause::PivotIsNotMaintained() {
  return Unsupported(
      "PIVOT and UNPIVOT are not maintained; write the columns out: sum(v) FILTER (WHERE k = 'a') AS a, … "
      "GROUP BY, or for UNPIVOT a SELECT a column, put together by UNION ALL");
}

Status FromClause::AddTable(const Json& table) {
  if (!IsEmpty(At(table, "sample")) || !IsEmpty(At(table, "at_clause")) ||
      !IsEmpty(At(table, "column_name_alias")))
    return Unsupported("SAMPLE, AT and aliases of columns after table ", TextAt(table, "table_name"),
                       " are not maintained; leave them out");
  ShapeSource source;
  source.database = TextAt(table, "schema_name");
  source.table = TextAt(table, "table_name");
  if (source.database.empty()) source.database = used_;
  if (source.database.empty())
    return Invalid("table ", source.table, " lacks its database; write db.", source.table,
                   ", or USE db; first");
  source.alias = TextAt(table, "alias").empty() ? source.table : TextAt(table, "alias");
  source.is_lookup = looked_up_.count(At(table, "query_location").get<size_t>()) != 0;
  HEADRACE_ASSIGN_OR_RETURN(source.columns, columns_of_(source.database, source.table));
  branch_.sources.push_back(std::move(source));
  branch_.linear.push_back(true);
  return Status::OK();
}

Status FromClause::AddJoin(const Json& join) {
  const std::string type = TextAt(join, "join_type"), how = TextAt(join, "ref_type");
  if (type != "INNER" && type != "LEFT" && type != "RIGHT" && type != "FULL")
    return Unsupported(type, " joins are not maintained; INNER, LEFT, RIGHT and FULL joins are");
  if (how != "REGULAR" && how != "CROSS")
    return Unsupported(how, " joins are not maintained; write the columns that must be equal in ON or USING");
  const int first_left = static_cast<int>(branch_.sources.size());
  HEADRACE_RETURN_NOT_OK(AddSources(At(join, "left")));
  const int first_right = static_cast<int>(branch_.sources.size());
  HEADRACE_RETURN_NOT_OK(AddSources(At(join, "right")));
  const int end = static_cast<int>(branch_.sources.size());
  HEADRACE_RETURN_NOT_OK(check_.CheckExpressions(At(join, "condition")));
  std::vector<Equality> equalities = Equalities(At(join, "condition"));
  for (const Json& column : At(join, "using_columns")) {
    HEADRACE_ASSIGN_OR_RETURN(Equality equality, Using(column.get<std::string>(), first_left, first_right));
    equalities.push_back(std::move(equality));
  }
  const bool is_table = TextAt(At(join, "right"), "type") == "BASE_TABLE";
  if (is_table && branch_.sources.back().is_lookup) return AddLookup(type, how, equalities);
  if (type == "INNER") {
    equal_.JoinAll(equalities);
  } else {
    equal_.JoinSides(std::move(equalities), first_left, first_right, end, type != "RIGHT", type != "LEFT");
  }
  for (int i = first_left; i < end; ++i) {
    const bool is_left = i < first_right;
    if (type == "FULL" || (type == "LEFT" && !is_left) || (type == "RIGHT" && is_left))
      branch_.linear[static_cast<size_t>(i)] = false;
  }
  return Status::OK();
}

// What the last source is looked up by: its columns that are equal to what the first source alone tells.
Status FromClause::AddLookup(const std::string& type, const std::string& how,
                             const std::vector<Equality>& equalities) {
  ShapeSource& source = branch_.sources.back();
  const int place = static_cast<int>(branch_.sources.size()) - 1;
  if ((type != "INNER" && type != "LEFT") || how != "REGULAR")
    return Unsupported("table ", source.ToString(), " is looked up (FOR SYSTEM_TIME AS OF) by a ",
                       how == "REGULAR" ? type : how,
                       " join; a row looks its partner up by JOIN or LEFT JOIN … ON the primary key");
  branch_.linear.back() = false;
  branch_.is_lookup = true;
  for (const auto& [first, second] : equalities) {
    const bool is_first = first.column_of == place;
    const ShapeExpression& column = is_first ? first : second;
    const ShapeExpression& value = is_first ? second : first;
    if (column.column_of != place || value.sources != std::set<int>{0}) continue;
    HEADRACE_ASSIGN_OR_RETURN(std::string text, text_.TextOf(value.tree));
    source.lookup_keys.push_back({column.column, std::move(text)});
  }
  return Status::OK();
}

Result<Equality> FromClause::Using(const std::string& column, int first_left, int first_right) {
  has_using_ = true;
  ShapeExpression sides[2];
  const int bounds[3] = {first_left, first_right, static_cast<int>(branch_.sources.size())};
  for (int side = 0; side < 2; ++side) {
    int found = -1;
    for (int i = bounds[side]; i < bounds[side + 1] && found < 0; ++i) {
      if (!names_.FindColumn(i, column).empty()) found = i;
    }
    if (found < 0) return Invalid("USING (", column, "): one side of the join has no such column");
    sides[side] = names_.ColumnExpression(found, names_.FindColumn(found, column));
  }
  return Equality(std::move(sides[0]), std::move(sides[1]));
}

std::vector<Equality> FromClause::Equalities(const Json& node) const {
  std::vector<Equality> found;
  if (TextAt(node, "type") == "CONJUNCTION_AND") {
    for (const Json& child : At(node, "children")) {
      for (Equality& equality : Equalities(child)) found.push_back(std::move(equality));
    }
    return found;
  }
  if (TextAt(node, "type") != "COMPARE_EQUAL" || TextAt(node, "class") != "COMPARISON") return found;
  ShapeExpression left = names_.Named(At(node, "left")), right = names_.Named(At(node, "right"));
  if (IsOfRows(left) && IsOfRows(right) && left.sources != right.sources)
    found.emplace_back(std::move(left), std::move(right));
  return found;
}

// Its value tells a row of one source. Of a side of an outer join that may be missing only a column as it is does: COALESCE and IS NULL have a
// value without any row.
bool FromClause::IsOfRows(const ShapeExpression& expression) const {
  return expression.is_known && expression.sources.size() == 1 &&
         (expression.column_of >= 0 || branch_.linear[static_cast<size_t>(*expression.sources.begin())]);
}

}  // namespace headrace
