// Which expressions of a query are equal in every row of its answer, by what its joins say.
//
// Where a side of an outer join is missing, its columns are null and equal to nothing: such a join ties less together than an inner one. Each expression
// is of one source. Pure.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sql/source_columns.h"

namespace headrace {

using Equality = std::pair<ShapeExpression, ShapeExpression>;

class EqualExpressions {
 public:
  void Join(const ShapeExpression& a, const ShapeExpression& b);
  void JoinAll(const std::vector<Equality>& equalities);
  // Of an outer join of the sources [first_left, first_right) with [first_right, end).
  void JoinSides(std::vector<Equality> equalities, int first_left, int first_right, int end, bool left_stays,
                 bool right_stays);

  // Sets; one that was joined into another is empty.
  const std::vector<std::vector<ShapeExpression>>& classes() const { return classes_; }
  size_t ClassOf(const ShapeExpression& expression);

 private:
  bool Holds(size_t class_of, int first, int end) const;

  std::map<std::string, size_t> class_of_;
  std::vector<std::vector<ShapeExpression>> classes_;
};

}  // namespace headrace
