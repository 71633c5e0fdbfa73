// Merging by columns gives what merging row by row gives, and any grouping of neighbours gives what merging all at once gives.
#include "lsm/segment_merger.h"

#include <map>
#include <optional>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "file/physical_columns.h"
#include "lsm/test_table.h"
#include "lsm/window_merge.h"

namespace headrace {
namespace {

using Cell = std::optional<int64_t>;
using Cells = std::vector<Cell>;  // all columns, the key first

struct Row {
  int8_t kind = 0;
  int64_t number = 0;
  Cells cells;

  bool operator==(const Row&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Row& row) {
  out << ShortName(static_cast<RowKind>(row.kind)) << "@" << row.number << "(";
  for (const Cell& cell : row.cells) out << (cell ? std::to_string(*cell) : "null") << " ";
  return out << ")";
}

struct EngineCase {
  std::string columns;  // BIGINTs, `k` first
  MergePolicy policy;
  std::string kinds = "+";  // which kinds come: + add, U -U, D -D
  bool groups_alike = true;
};

AggregateRule Rule(AggregateFunction function, bool ignore_retract = false) {
  AggregateRule rule;
  rule.function = function;
  rule.name = "f";
  rule.ignore_retract = ignore_retract;
  return rule;
}

class Merging {
 public:
  explicit Merging(const EngineCase& c) : case_(c) {
    auto schema = std::make_shared<TableSchema>();
    schema->fields = ParseColumns(c.columns).ValueOrDie();
    schema->primary_keys = {"k"};
    schema_ = schema;
    merger_ = SegmentMerger::Make(*schema_, c.policy, schema_->ColumnNames(), nullptr).ValueOrDie();
  }

  std::vector<std::string> names() const { return schema_->ColumnNames(); }
  size_t PlaceOf(const std::string& name) const { return static_cast<size_t>(schema_->FieldIndex(name)); }
  bool IsNullable(size_t column) const { return schema_->fields[column].type.nullable; }

  // By the merger; each version lies in one of two batches. Nothing when there is no result.
  std::optional<Row> Merge(const std::vector<Row>& versions) const {
    Result<MergedRows> merged = TryMerge(versions);
    EXPECT_TRUE(merged.ok()) << merged.status();
    if (!merged.ok() || merged->size() == 0) return std::nullopt;
    Row row{merged->kinds[0], merged->numbers[0], {}};
    for (const auto& column : merged->values) {
      const auto& values = static_cast<const arrow::Int64Array&>(*column);
      row.cells.push_back(values.IsNull(0) ? Cell() : Cell(values.Value(0)));
    }
    return row;
  }

  Result<MergedRows> TryMerge(const std::vector<Row>& versions) const {
    std::vector<MergeSource> sources(2);
    std::vector<std::vector<Row>> batches(2);
    Segments segments;
    segments.starts = {0};
    for (size_t i = 0; i < versions.size(); ++i) {
      std::vector<Row>& batch = batches[i * 7 % 3 % 2];
      segments.rows.push_back(
          {static_cast<uint32_t>(&batch - batches.data()), static_cast<uint32_t>(batch.size())});
      batch.push_back(versions[i]);
    }
    std::vector<std::vector<int64_t>> numbers(2);
    std::vector<std::vector<int8_t>> kinds(2);
    for (size_t b = 0; b < 2; ++b) {
      for (const Row& row : batches[b]) {
        numbers[b].push_back(row.number);
        kinds[b].push_back(row.kind);
      }
      numbers[b].push_back(0);
      kinds[b].push_back(0);
      sources[b].numbers = numbers[b].data();
      sources[b].kinds = kinds[b].data();
      for (const std::string& name : merger_->reads()) {
        arrow::Int64Builder column;
        for (const Row& row : batches[b]) {
          const Cell& cell = row.cells[PlaceOf(name)];
          EXPECT_TRUE((cell ? column.Append(*cell) : column.AppendNull()).ok());
        }
        sources[b].columns.push_back(column.Finish().ValueOrDie());
      }
    }
    return merger_->Merge(segments, sources);
  }

 private:
  const EngineCase& case_;
  std::shared_ptr<const TableSchema> schema_;
  std::unique_ptr<SegmentMerger> merger_;
};

// The rules of an engine told once more, one row after the other.
class Model {
 public:
  Model(const EngineCase& c, const Merging& merging) : case_(c), merging_(merging), policy_(c.policy) {}

  std::optional<Row> Merge(std::vector<Row> versions) {
    if (policy_.ignore_delete) std::erase_if(versions, [](const Row& row) { return IsRetract(row.kind); });
    if (versions.empty()) return std::nullopt;
    if (versions.size() == 1) return versions[0];
    if (policy_.engine == MergeEngine::kDeduplicate) return versions.back();
    if (policy_.engine == MergeEngine::kFirstRow) return versions.front();
    state_ = Cells(versions[0].cells.size());
    firsts_.clear();
    added_ = false;
    begun_ = false;
    removal_.reset();
    for (const Row& row : versions)
      policy_.engine == MergeEngine::kAggregation ? Aggregate(row) : Update(row);
    if (removal_) return Row{3, versions.back().number, removal_->cells};
    state_[0] = versions.back().cells[0];
    const bool insert = added_ || policy_.engine == MergeEngine::kAggregation;
    return Row{insert ? int8_t{0} : versions.back().kind, versions.back().number, state_};
  }

 private:
  void Restart(const Row& row) {
    for (size_t c = 0; c < state_.size(); ++c) state_[c] = merging_.IsNullable(c) ? Cell() : row.cells[c];
    firsts_.clear();
    begun_ = true;
  }

  void Aggregate(const Row& row) {
    removal_.reset();
    if (policy_.rules.remove_on_delete && row.kind == 3) {
      Restart(row);
      removal_ = row;
      return;
    }
    for (const auto& [name, rule] : policy_.rules.aggregates) Apply(name, rule, row, /*late=*/false);
  }

  void Update(const Row& row) {
    const bool retract = IsRetract(row.kind);
    removal_.reset();
    if (retract && policy_.rules.groups.empty()) {
      if (!begun_ || row.kind == 3) Restart(row);
      if (row.kind == 3) Remove(row);
      return;
    }
    if (retract && !begun_) Restart(row);
    if (!retract) added_ = begun_ = true;
    for (const SequenceGroup& group : policy_.rules.groups) {
      if (retract && row.kind == 3 && group.removes_row && IsSet(group, row) && !IsLate(group, row)) {
        Restart(row);
        return Remove(row);
      }
    }
    std::set<std::string> grouped;
    for (const SequenceGroup& group : policy_.rules.groups) {
      grouped.insert(group.order.begin(), group.order.end());
      grouped.insert(group.columns.begin(), group.columns.end());
      if (IsSet(group, row)) UpdateGroup(group, row, IsLate(group, row));
    }
    if (retract) return;
    for (const std::string& name : merging_.names()) {
      const size_t c = merging_.PlaceOf(name);
      if (!grouped.contains(name) && row.cells[c]) state_[c] = row.cells[c];
    }
  }

  void Remove(const Row& row) { removal_ = row; }

  void UpdateGroup(const SequenceGroup& group, const Row& row, bool late) {
    const bool retract = IsRetract(row.kind);
    for (const std::string& name : group.columns) {
      const size_t c = merging_.PlaceOf(name);
      const auto rule = policy_.rules.aggregates.find(name);
      if (rule != policy_.rules.aggregates.end()) {
        Apply(name, rule->second, row, late);
      } else if (!late) {
        state_[c] = retract ? Cell() : row.cells[c];
      }
    }
    for (const std::string& name : group.order) {
      if (!late) state_[merging_.PlaceOf(name)] = row.cells[merging_.PlaceOf(name)];
    }
  }

  bool IsSet(const SequenceGroup& group, const Row& row) const {
    for (const std::string& name : group.order) {
      if (row.cells[merging_.PlaceOf(name)]) return true;
    }
    return false;
  }

  bool IsLate(const SequenceGroup& group, const Row& row) const {
    for (const std::string& name : group.order) {
      const Cell& comes = row.cells[merging_.PlaceOf(name)];
      const Cell& has = state_[merging_.PlaceOf(name)];
      if (comes != has) return comes < has;  // nothing is the smallest
    }
    return false;
  }

  void Apply(const std::string& name, const AggregateRule& rule, const Row& row, bool late) {
    Cell& acc = state_[merging_.PlaceOf(name)];
    const Cell& in = row.cells[merging_.PlaceOf(name)];
    if (IsRetract(row.kind)) {
      if (rule.ignore_retract) return;
      if (rule.function == AggregateFunction::kSum && in) acc = acc ? *acc - *in : -*in;
      if (rule.function == AggregateFunction::kLastValue) acc.reset();
      if (rule.function == AggregateFunction::kLastNonNullValue && in) acc.reset();
      return;
    }
    switch (rule.function) {
      case AggregateFunction::kSum:
        if (in) acc = acc.value_or(0) + *in;
        return;
      case AggregateFunction::kProduct:
        if (in) acc = acc.value_or(1) * *in;
        return;
      case AggregateFunction::kMax: acc = std::max(acc, in); return;
      case AggregateFunction::kMin:
        if (in && (!acc || *in < *acc)) acc = in;
        return;
      case AggregateFunction::kLastValue:
        if (!late) acc = in;
        return;
      case AggregateFunction::kLastNonNullValue:
        if (in && (!late || !acc)) acc = in;
        return;
      case AggregateFunction::kFirstValue:
        if (firsts_.insert(name).second != late) acc = in;
        return;
      case AggregateFunction::kFirstNonNullValue:
        if (!late && in && firsts_.insert(name).second) acc = in;
        if (late && !(acc && firsts_.insert(name).second)) acc = in;
        return;
      default: FAIL();
    }
  }

  const EngineCase& case_;
  const Merging& merging_;
  const MergePolicy& policy_;
  Cells state_;
  std::set<std::string> firsts_;
  bool added_ = false;
  bool begun_ = false;
  std::optional<Row> removal_;
};

std::vector<EngineCase> Cases() {
  using F = AggregateFunction;
  std::vector<EngineCase> cases;
  const auto add = [&](std::string columns, MergeEngine engine, std::string kinds,
                       bool alike) -> EngineCase& {
    EngineCase& c = cases.emplace_back();
    c.columns = std::move(columns);
    c.policy.engine = engine;
    c.kinds = std::move(kinds);
    c.groups_alike = alike;
    return c;
  };
  const std::string plain = "k BIGINT NOT NULL, a BIGINT, b BIGINT, c BIGINT NOT NULL";
  add(plain, MergeEngine::kDeduplicate, "++UD", true);
  add(plain, MergeEngine::kDeduplicate, "++UD", true).policy.ignore_delete = true;
  add(plain, MergeEngine::kFirstRow, "+", true);
  add(plain, MergeEngine::kFirstRow, "+++UD", true).policy.ignore_delete = true;
  add(plain, MergeEngine::kPartialUpdate, "+", true);
  // A named exception, as in Java: a delete and what was added after it become an add, and what is older then shows through again.
  add(plain, MergeEngine::kPartialUpdate, "++++UD", false).policy.rules.remove_on_delete = true;
  add(plain, MergeEngine::kPartialUpdate, "+++UD", true).policy.ignore_delete = true;

  const std::string functions =
      "k BIGINT NOT NULL, s BIGINT, p BIGINT, x BIGINT, n BIGINT, l BIGINT, m BIGINT, f BIGINT, g BIGINT";
  std::map<std::string, AggregateRule> rules = {{"s", Rule(F::kSum)},
                                                {"p", Rule(F::kProduct, true)},
                                                {"x", Rule(F::kMax, true)},
                                                {"n", Rule(F::kMin, true)},
                                                {"l", Rule(F::kLastValue)},
                                                {"m", Rule(F::kLastNonNullValue)},
                                                {"f", Rule(F::kFirstValue, true)},
                                                {"g", Rule(F::kFirstNonNullValue, true)}};
  add(functions, MergeEngine::kAggregation, "+", true).policy.rules.aggregates = rules;
  // A retraction that is parted from its value is merged as if the value had never been.
  add(functions, MergeEngine::kAggregation, "++UD", false).policy.rules.aggregates = rules;
  EngineCase& removing = add(functions + ", z BIGINT NOT NULL", MergeEngine::kAggregation, "++++D", false);
  removing.policy.rules.aggregates = rules;
  for (auto& [name, rule] : removing.policy.rules.aggregates) rule.ignore_retract = false;
  removing.policy.rules.aggregates["z"] = Rule(F::kLastNonNullValue);
  removing.policy.rules.remove_on_delete = true;

  const std::string grouped =
      "k BIGINT NOT NULL, a BIGINT, b BIGINT, g1 BIGINT, c BIGINT, d BIGINT, g2 BIGINT, g3 BIGINT, e BIGINT";
  const std::vector<SequenceGroup> groups = {{{"g1"}, {"a", "b"}}, {{"g2", "g3"}, {"c", "d"}}};
  add(grouped, MergeEngine::kPartialUpdate, "+", true).policy.rules.groups = groups;
  add(grouped, MergeEngine::kPartialUpdate, "+++UD", false).policy.rules.groups = groups;
  EngineCase& sums = add(grouped, MergeEngine::kPartialUpdate, "+", true);
  sums.policy.rules.groups = groups;
  sums.policy.rules.aggregates = {{"b", Rule(F::kSum)}, {"d", Rule(F::kMax)}};
  for (const F function :
       {F::kSum, F::kLastValue, F::kLastNonNullValue, F::kFirstValue, F::kFirstNonNullValue}) {
    EngineCase& late = add(grouped, MergeEngine::kPartialUpdate, "+++UD", false);
    late.policy.rules.groups = groups;
    late.policy.rules.aggregates = {{"b", Rule(function, !CanRetract(function))}, {"d", Rule(F::kMin, true)}};
  }
  EngineCase& removes = add(grouped, MergeEngine::kPartialUpdate, "++++UD", false);
  removes.policy.rules.groups = groups;
  removes.policy.rules.groups[0].removes_row = true;
  return cases;
}

std::vector<Row> RandomVersionsOf(const EngineCase& c, const Merging& merging, Random* random) {
  std::vector<Row> versions(1 + random->Below(7));
  int64_t number = 10;
  for (Row& row : versions) {
    row.number = ++number;
    switch (c.kinds[random->Below(c.kinds.size())]) {
      case 'U': row.kind = 1; break;
      case 'D': row.kind = 3; break;
      default: row.kind = random->OneIn(2) ? 0 : 2;
    }
    for (size_t i = 0; i < merging.names().size(); ++i) {
      const bool null = merging.IsNullable(i) && random->OneIn(3);
      row.cells.push_back(null ? Cell() : Cell(random->Between(-3, 4)));
    }
    row.cells[0] = 1;
  }
  return versions;
}

TEST(SegmentMerger, GivesWhatMergingRowByRowGivesForEveryEngine) {
  const std::vector<EngineCase> cases = Cases();
  for (size_t i = 0; i < cases.size(); ++i) {
    const EngineCase& c = cases[i];
    const Merging merging(c);
    Model model(c, merging);
    for (uint64_t seed = 1; seed <= 400; ++seed) {
      Random random(seed);
      const std::vector<Row> versions = RandomVersionsOf(c, merging, &random);
      ASSERT_EQ(merging.Merge(versions), model.Merge(versions))
          << "case " << i << " " << c.columns << ", kinds " << c.kinds << ", seed " << seed
          << testing::PrintToString(versions);
    }
  }
}

TEST(SegmentMerger, AnyGroupingOfNeighboursGivesTheSameRow) {
  const std::vector<EngineCase> cases = Cases();
  for (size_t i = 0; i < cases.size(); ++i) {
    if (!cases[i].groups_alike) continue;
    const Merging merging(cases[i]);
    for (uint64_t seed = 1; seed <= 400; ++seed) {
      Random random(seed);
      const std::vector<Row> versions = RandomVersionsOf(cases[i], merging, &random);
      std::vector<Row> parts;
      for (size_t begin = 0; begin < versions.size();) {
        const size_t end = std::min(versions.size(), begin + 1 + random.Below(3));
        const auto part = merging.Merge({versions.begin() + static_cast<std::ptrdiff_t>(begin),
                                         versions.begin() + static_cast<std::ptrdiff_t>(end)});
        if (part) parts.push_back(*part);
        begin = end;
      }
      std::optional<Row> whole = merging.Merge(versions);
      std::optional<Row> grouped = parts.empty() ? std::nullopt : merging.Merge(parts);
      ASSERT_EQ(whole.has_value(), grouped.has_value());
      if (!whole) continue;
      // An update is as good as an insert once it was merged.
      whole->kind = static_cast<int8_t>(IsRetract(whole->kind));
      grouped->kind = static_cast<int8_t>(IsRetract(grouped->kind));
      ASSERT_EQ(*whole, *grouped) << "case " << i << " " << cases[i].columns << ", kinds " << cases[i].kinds
                                  << ", seed " << seed << testing::PrintToString(versions);
    }
  }
}

TEST(SegmentMerger, NamesTheKeyThatCannotBeMerged) {
  EngineCase partial;
  partial.columns = "k BIGINT NOT NULL, a BIGINT";
  partial.policy.engine = MergeEngine::kPartialUpdate;
  const auto refused = Merging(partial).TryMerge({{0, 1, {7, 1}}, {3, 2, {7, 1}}});
  ASSERT_TRUE(IsKind(refused.status(), ErrorKind::kInvalid)) << refused.status();
  EXPECT_THAT(refused.status().message(), testing::HasSubstr("key (k=7)"));
  EXPECT_THAT(refused.status().message(), testing::HasSubstr("partial-update.remove-record-on-delete"));
  EngineCase first = partial;
  first.policy.engine = MergeEngine::kFirstRow;
  EXPECT_THAT(Merging(first).TryMerge({{0, 1, {7, 1}}, {3, 2, {7, 1}}}).status().message(),
              testing::HasSubstr("key (k=7)"));
  EngineCase sum = partial;
  sum.policy.engine = MergeEngine::kAggregation;
  sum.policy.rules.aggregates = {{"a", Rule(AggregateFunction::kSum)}};
  EXPECT_THAT(Merging(sum).TryMerge({{0, 1, {7, INT64_MAX}}, {0, 2, {7, 1}}}).status().message(),
              testing::AllOf(testing::HasSubstr("key (k=7)"), testing::HasSubstr("'a'")));
}

TEST(LeaveOutDeeperLevels, KeepsLevelZeroAndTheLowestOther) {
  Segments segments;
  segments.rows = {{3, 0}, {2, 0}, {0, 0}, {1, 0}, {3, 1}, {0, 1}, {2, 1}};
  segments.starts = {0, 4, 6};
  const std::vector<int32_t> levels = {0, 0, 1, 5};
  LeaveOutDeeperLevels(levels, &segments);
  EXPECT_EQ(segments.starts, (std::vector<uint32_t>{0, 3, 5}));
  std::vector<uint32_t> batches;
  for (const RowRef ref : segments.rows) batches.push_back(ref.batch);
  EXPECT_EQ(batches, (std::vector<uint32_t>{2, 0, 1, 3, 0, 2}));
}

}  // namespace
}  // namespace headrace
