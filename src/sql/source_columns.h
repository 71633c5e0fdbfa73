// Expressions of a query whose columns are named with their sources, and the names by which a query may call a column.
//
// A column may be said alone, behind its table's alias, or behind database and table; what follows it is a part of it. DuckDB's parse tree (parse_tree.h)
// comes in and goes out. Borrows the sources, which may grow meanwhile. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "sql/query_shape.h"

namespace headrace {

struct ShapeExpression {
  nlohmann::json tree;
  std::set<int> sources;
  bool is_known = true;  // every column is one of a source
  int column_of = -1;    // it is a column as it is, of that source
  std::string column;

  // The same for expressions that differ only in where they stand and what they are called.
  std::string Canonical() const { return tree.dump(); }
};

class SourceColumns {
 public:
  explicit SourceColumns(const std::vector<ShapeSource>* sources) : sources_(*sources) {}

  // The source that the query calls so; -1: none.
  int FindAlias(const std::string& name) const;
  // The column as the source spells it; empty when it has none.
  std::string FindColumn(int source, const std::string& name) const;
  ShapeExpression ColumnExpression(int source, const std::string& column) const;
  ShapeExpression Named(nlohmann::json node) const;

 private:
  void NameColumn(nlohmann::json* node, ShapeExpression* whole) const;
  void NameColumns(nlohmann::json* node, ShapeExpression* whole) const;

  const std::vector<ShapeSource>& sources_;
};

}  // namespace headrace
