// What a maintained query must not hold anywhere in its parse tree: functions whose value changes by itself, subqueries, parameters.
//
// Also tells aggregate functions from others, by DuckDB's own list. Made once a query; one thread.
#pragma once

#include <set>
#include <string>

#include <duckdb.h>

#include "base/error.h"
#include "base/json.h"

namespace headrace {

class ShapeCheck {
 public:
  static Result<ShapeCheck> Open(duckdb_connection connection);

  // kUnsupported names what was found and what to write instead.
  Status CheckExpressions(const nlohmann::json& node) const;

  // Whether an aggregate function is called in the expression, not counting those of window functions.
  bool HasAggregate(const nlohmann::json& node) const;

  // Where a function, or a window's, may choose among rows that an ORDER BY does not tell apart.
  struct Choice {
    bool by_window = false;     // by the order of the window: more columns there change nothing else
    bool by_arguments = false;  // by the order within its parentheses; a window's own is that of its frame
  };
  static Choice ChoiceOf(const nlohmann::json& node);

 private:
  Status CheckFunction(const nlohmann::json& node) const;

  std::set<std::string> aggregates_;
  std::set<std::string> unsteady_;  // volatile, or of the moment of the query
};

}  // namespace headrace
