// SQL of one SELECT of a maintained query, by itself: from the names that stand for its sources, so that it can be asked over some of their rows.
//
// Among rows that an ORDER BY leaves equal DuckDB takes any, and the query over some of them again could take another than it took: behind what is said,
// rows are ordered by all that they hold. Borrows its arguments; one thread a connection.
#pragma once

#include <string>
#include <vector>

#include <duckdb.h>

#include "base/error.h"
#include "base/json.h"
#include "sql/query_shape.h"
#include "sql/source_columns.h"

namespace headrace {

class BranchText {
 public:
  // `tree`: of the whole query, of which `select` is a part.
  BranchText(duckdb_connection connection, const nlohmann::json& tree, const nlohmann::json& select,
             const std::vector<ShapeSource>* sources)
      : connection_(connection), tree_(tree), select_(select), sources_(*sources), names_(sources) {}

  // `text`, and of a row-wise branch or a lookup join `text_over_changes`. `outputs`: the expressions that are given, a * taken apart.
  Status Write(const std::vector<ShapeExpression>& outputs, QueryBranch* branch) const;
  // One expression, in terms of the sources' aliases.
  Result<std::string> TextOf(const nlohmann::json& expression) const;
  // Whether a SELECT of one truth, over constants, gives TRUE; not where DuckDB cannot answer it.
  bool IsTrue(const std::string& query) const;

 private:
  size_t ColumnsOfStar(const nlohmann::json& star) const;
  void ReadSources(nlohmann::json* from, size_t* source) const;
  void ShortenNames(nlohmann::json* node) const;
  void AddAllColumns(nlohmann::json* orders) const;
  void OrderWhole(nlohmann::json* node) const;
  Result<std::string> TextOfSelect(nlohmann::json select) const;

  const duckdb_connection connection_;
  const nlohmann::json& tree_;
  const nlohmann::json& select_;
  const std::vector<ShapeSource>& sources_;
  const SourceColumns names_;
};

}  // namespace headrace
