#include "sql/equal_expressions.h"

#include <optional>
#include <set>

namespace headrace {

void EqualExpressions::Join(const ShapeExpression& a, const ShapeExpression& b) {
  const size_t x = ClassOf(a), y = ClassOf(b);
  if (x == y) return;
  for (auto& [text, place] : class_of_) {
    if (place == y) place = x;
  }
  auto& into = classes_[x];
  into.insert(into.end(), classes_[y].begin(), classes_[y].end());
  classes_[y].clear();
}

size_t EqualExpressions::ClassOf(const ShapeExpression& expression) {
  const auto [place, is_new] = class_of_.emplace(expression.Canonical(), classes_.size());
  if (is_new) classes_.push_back({expression});
  return place->second;
}

void EqualExpressions::JoinAll(const std::vector<Equality>& equalities) {
  for (const Equality& equality : equalities) Join(equality.first, equality.second);
}

// Of an outer join: a side that is missing ties nothing together. What is equal to two things of the side that stays, which may differ then, is
// taken for the one of them that all tables of that side have, and that it is equal to the other only decides whether the row is joined.
void EqualExpressions::JoinSides(std::vector<Equality> equalities, int first_left, int first_right, int end,
                                 bool left_stays, bool right_stays) {
  struct Tie {
    size_t left, right;
    const Equality* equality;
  };
  const auto is_left = [&](const ShapeExpression& side) { return *side.sources.begin() < first_right; };
  std::vector<Tie> ties;
  for (Equality& equality : equalities) {
    if (is_left(equality.first) == is_left(equality.second)) continue;
    if (!is_left(equality.first)) std::swap(equality.first, equality.second);
    ties.push_back({ClassOf(equality.first), ClassOf(equality.second), &equality});
  }
  const auto best = [&](size_t Tie::*of, size_t Tie::*other, size_t value, int first, int last) {
    std::optional<size_t> found;
    for (const Tie& tie : ties) {
      if (tie.*of != value) continue;
      if (!found || (!Holds(*found, first, last) && Holds(tie.*other, first, last))) found = tie.*other;
    }
    return *found;
  };
  std::vector<const Equality*> sure;
  for (const Tie& tie : ties) {
    if (left_stays && best(&Tie::right, &Tie::left, tie.right, first_left, first_right) != tie.left) continue;
    if (right_stays && best(&Tie::left, &Tie::right, tie.left, first_right, end) != tie.right) continue;
    sure.push_back(tie.equality);
  }
  for (const Equality* equality : sure) Join(equality->first, equality->second);
}

// Whether the class has something of every source in that range.
bool EqualExpressions::Holds(size_t class_of, int first, int end) const {
  std::set<int> seen;
  for (const ShapeExpression& member : classes_[class_of]) seen.insert(*member.sources.begin());
  for (int source = first; source < end; ++source) {
    if (seen.count(source) == 0) return false;
  }
  return true;
}

}  // namespace headrace
