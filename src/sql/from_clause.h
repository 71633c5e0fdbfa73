// FROM of a query that is to be maintained: its tables, what its joins make equal, and which tables' rows give their parts of the answer by themselves.
//
// Fills `sources` and `linear` of a branch. What is no table and no join of tables by equal columns is kUnsupported by name.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "sql/branch_text.h"
#include "sql/equal_expressions.h"
#include "sql/query_shape.h"
#include "sql/shape_check.h"
#include "sql/source_columns.h"

namespace headrace {

class FromClause {
 public:
  // All are borrowed. `used` is the database of names without one.
  // `looked_up`: where the names of tables begin that stand FOR SYSTEM_TIME AS OF a row's.
  FromClause(QueryBranch* branch, const std::string& used, const ColumnsOf& columns_of,
             const ShapeCheck& check, const std::set<size_t>& looked_up, const BranchText& text)
      : branch_(*branch),
        names_(&branch->sources),
        used_(used),
        columns_of_(columns_of),
        check_(check),
        looked_up_(looked_up),
        text_(text) {}

  Status AddSources(const nlohmann::json& from);
  // What a condition says to be equal, of two sources that are there.
  std::vector<Equality> Equalities(const nlohmann::json& condition) const;

  EqualExpressions& equal() { return equal_; }
  const EqualExpressions& equal() const { return equal_; }
  bool has_using() const { return has_using_; }

  // What to write instead of it.
  static Status PivotIsNotMaintained();

 private:
  Status AddTable(const nlohmann::json& table);
  Status AddJoin(const nlohmann::json& join);
  Status AddLookup(const std::string& type, const std::string& how, const std::vector<Equality>& equalities);
  Result<Equality> Using(const std::string& column, int first_left, int first_right);
  bool IsOfRows(const ShapeExpression& expression) const;

  QueryBranch& branch_;
  const SourceColumns names_;
  const std::string& used_;
  const ColumnsOf& columns_of_;
  const ShapeCheck& check_;
  const std::set<size_t>& looked_up_;
  const BranchText& text_;
  EqualExpressions equal_;
  bool has_using_ = false;
};

}  // namespace headrace
