#include "lsm/segment_merger.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <arrow/array.h>

#include "file/physical_columns.h"
#include "format/merge_engine_options.h"
#include "format/value.h"
#include "lsm/aggregate_column.h"
#include "lsm/decide.h"
#include "lsm/decide_rules.h"
#include "lsm/gather.h"

namespace headrace {
namespace {

using Columns = std::vector<std::vector<std::shared_ptr<arrow::Array>>>;  // by column and batch

Columns ByColumn(std::span<const MergeSource> sources, size_t columns) {
  Columns by_column(columns);
  for (size_t c = 0; c < columns; ++c) {
    for (const MergeSource& source : sources) by_column[c].push_back(source.columns[c]);
  }
  return by_column;
}

std::vector<const int8_t*> KindsOf(std::span<const MergeSource> sources) {
  std::vector<const int8_t*> kinds;
  for (const MergeSource& source : sources) kinds.push_back(source.kinds);
  return kinds;
}

std::vector<int64_t> NumbersOf(std::span<const MergeSource> sources, std::span<const RowRef> rows) {
  std::vector<int64_t> numbers;
  if (sources.empty() || sources[0].numbers == nullptr) return numbers;
  numbers.reserve(rows.size());
  for (const RowRef ref : rows) numbers.push_back(sources[ref.batch].numbers[ref.row]);
  return numbers;
}

// The columns that a merger reads: each once.
class ReadList {
 public:
  size_t PositionOf(const std::string& name) {
    const auto found = std::find(names_.begin(), names_.end(), name);
    const auto position = static_cast<size_t>(found - names_.begin());
    if (found == names_.end()) names_.push_back(name);
    return position;
  }
  std::vector<size_t> PositionsOf(const std::vector<std::string>& names) {
    std::vector<size_t> positions;
    for (const std::string& name : names) positions.push_back(PositionOf(name));
    return positions;
  }
  std::vector<std::string> Take() { return std::move(names_); }

 private:
  std::vector<std::string> names_;
};

// The key columns among those read, to name a key in an error.
struct KeyNames {
  std::vector<DataField> fields;
  std::vector<size_t> positions;

  // "key (a=1, b=x): …"
  Status Tell(std::span<const MergeSource> sources, RowRef row, const Status& status) const {
    std::string key = "key (";
    for (size_t i = 0; i < fields.size(); ++i) {
      const arrow::Array& column = *sources[row.batch].columns[positions[i]];
      const Result<Value> value = ValueAt(column, row.row, fields[i].type);
      key += (i == 0 ? "" : ", ") + fields[i].name + "=" +
             (value.ok() ? ToText(*value, fields[i].type) : std::string("?"));
    }
    return WithContext(key + ")", status);
  }
};

KeyNames KeyNamesOf(const TableSchema& schema, ReadList* reads) {
  const std::vector<std::string> keys = schema.TrimmedPrimaryKeys();
  return {schema.FieldsOf(keys), reads->PositionsOf(keys)};
}

// Engines whose result is one of the versions: deduplicate, first-row.
class VersionMerger final : public SegmentMerger {
 public:
  static std::unique_ptr<SegmentMerger> Make(const TableSchema& schema, const MergePolicy& policy,
                                             const std::vector<std::string>& values,
                                             arrow::MemoryPool* pool) {
    auto merger = std::make_unique<VersionMerger>();
    ReadList reads;
    merger->wanted_ = reads.PositionsOf(values);
    if (policy.engine == MergeEngine::kFirstRow) merger->key_ = KeyNamesOf(schema, &reads);
    merger->reads_ = reads.Take();
    merger->policy_ = policy;
    merger->pool_ = pool;
    return merger;
  }

  const std::vector<std::string>& reads() const override { return reads_; }

  Result<MergedRows> Merge(const Segments& segments, std::span<const MergeSource> sources) override {
    const std::vector<const int8_t*> kinds = KindsOf(sources);
    MergedRows rows;
    std::vector<RowRef> picked;
    for (uint32_t i = 0; i < segments.count(); ++i) {
      HEADRACE_ASSIGN_OR_RETURN(const RowRef pick, Pick(segments[i], kinds, sources));
      if (!IsVersion(pick)) continue;
      picked.push_back(pick);
      rows.kinds.push_back(kinds[pick.batch][pick.row]);
      rows.segments.push_back(i);
    }
    rows.numbers = NumbersOf(sources, picked);
    if (sources.empty()) return rows;
    const Columns columns = ByColumn(sources, reads_.size());
    for (const size_t position : wanted_) {
      HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Array> values,
                                GatherColumn(columns[position], picked, pool_));
      rows.values.push_back(std::move(values));
    }
    return rows;
  }

 private:
  Result<RowRef> Pick(std::span<const RowRef> versions, const std::vector<const int8_t*>& kinds,
                      std::span<const MergeSource> sources) const {
    const auto takes_part = [&](RowRef ref) { return TakesPart(kinds[ref.batch][ref.row], policy_); };
    if (policy_.engine == MergeEngine::kDeduplicate) {
      const auto newest = std::find_if(versions.rbegin(), versions.rend(), takes_part);
      return newest == versions.rend() ? kNoVersion : *newest;
    }
    const auto first = std::find_if(versions.begin(), versions.end(), takes_part);
    if (first == versions.end()) return kNoVersion;
    if (policy_.ignore_delete || versions.size() == 1) return *first;
    for (const RowRef ref : versions) {
      if (IsRetract(kinds[ref.batch][ref.row])) {
        return key_.Tell(sources, ref,
                         Invalid("merge-engine first-row takes no -U and -D; set 'ignore-delete' = 'true' to "
                                 "drop them"));
      }
    }
    return *first;
  }

  MergePolicy policy_;
  std::vector<std::string> reads_;
  std::vector<size_t> wanted_;
  KeyNames key_;
  arrow::MemoryPool* pool_ = nullptr;
};

// Engines whose result is put together column by column: partial-update, aggregation.
class ColumnMerger final : public SegmentMerger {
 public:
  static Result<std::unique_ptr<SegmentMerger>> Make(const TableSchema& schema, const MergePolicy& policy,
                                                     const std::vector<std::string>& values,
                                                     arrow::MemoryPool* pool) {
    auto merger = std::make_unique<ColumnMerger>();
    ReadList reads;
    reads.PositionsOf(values);
    std::map<std::string, size_t> group_of;  // columns in sequence groups that matter: the steps they follow
    std::vector<PartialUpdateDecider::Group> groups;
    for (const SequenceGroup& group : policy.rules.groups) {
      if (!Matters(group, values)) continue;
      HEADRACE_ASSIGN_OR_RETURN(PartialUpdateDecider::Group made, MakeGroup(schema, group, &reads));
      groups.push_back(std::move(made));
      for (const std::string& name : group.order) group_of[name] = groups.size();
      for (const std::string& name : group.columns) group_of[name] = groups.size();
    }
    for (const std::string& name : values) {
      HEADRACE_ASSIGN_OR_RETURN(Wanted wanted, MakeWanted(schema, policy, name, group_of));
      wanted.position = reads.PositionOf(name);
      merger->wanted_.push_back(std::move(wanted));
    }
    merger->key_ = KeyNamesOf(schema, &reads);
    merger->reads_ = reads.Take();
    merger->decision_.groups.resize(groups.size() + 1);
    merger->policy_ = policy;
    merger->pool_ = pool;
    if (policy.engine == MergeEngine::kPartialUpdate) merger->decider_.emplace(policy, std::move(groups));
    return std::unique_ptr<SegmentMerger>(std::move(merger));
  }

  const std::vector<std::string>& reads() const override { return reads_; }

  Result<MergedRows> Merge(const Segments& segments, std::span<const MergeSource> sources) override {
    const Columns columns = ByColumn(sources, reads_.size());
    decision_.clear();
    HEADRACE_RETURN_NOT_OK(Decide(segments, sources, columns));
    MergedRows rows;
    rows.numbers = NumbersOf(sources, decision_.newest);
    for (const Wanted& wanted : wanted_) {
      HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Array> values,
                                Reduce(wanted, sources, columns[wanted.position]));
      rows.values.push_back(std::move(values));
    }
    rows.kinds = std::move(decision_.kinds);
    rows.segments = std::move(decision_.segments);
    return rows;
  }

 private:
  struct Wanted {
    size_t position = 0;                     // among those read
    size_t group = 0;                        // of steps
    std::unique_ptr<ColumnReducer> reducer;  // null: a key or partition column, the newest version's
  };

  // Groups without a wanted column matter where their deletes remove the row.
  static bool Matters(const SequenceGroup& group, const std::vector<std::string>& values) {
    const auto wanted = [&](const std::string& name) {
      return std::find(values.begin(), values.end(), name) != values.end();
    };
    return group.removes_row || std::any_of(group.order.begin(), group.order.end(), wanted) ||
           std::any_of(group.columns.begin(), group.columns.end(), wanted);
  }

  static Result<PartialUpdateDecider::Group> MakeGroup(const TableSchema& schema, const SequenceGroup& group,
                                                       ReadList* reads) {
    PartialUpdateDecider::Group made;
    made.columns = reads->PositionsOf(group.order);
    made.removes_row = group.removes_row;
    std::vector<KeyOrder::Column> order;
    made.nullable = false;
    for (const DataType& type : schema.TypesOf(group.order)) {
      made.nullable |= type.nullable;
      order.push_back({type, /*descending=*/false, /*nullable=*/true});
    }
    HEADRACE_ASSIGN_OR_RETURN(made.order, KeyOrder::Make(std::move(order)));
    return made;
  }

  static Result<Wanted> MakeWanted(const TableSchema& schema, const MergePolicy& policy,
                                   const std::string& name, const std::map<std::string, size_t>& group_of) {
    Wanted wanted;
    const int index = schema.FieldIndex(name);
    if (index < 0) return NotFound("there is no column '", name, "' to merge");
    if (!IsMerged(schema, name)) return wanted;
    const auto group = group_of.find(name);
    if (group != group_of.end()) wanted.group = group->second;
    HEADRACE_ASSIGN_OR_RETURN(wanted.reducer, MakeColumnReducer(schema.fields[static_cast<size_t>(index)],
                                                                RuleOf(policy, name, wanted.group != 0)));
    return wanted;
  }

  static ColumnRule RuleOf(const MergePolicy& policy, const std::string& name, bool in_group) {
    const auto aggregate = policy.rules.aggregates.find(name);
    if (aggregate != policy.rules.aggregates.end()) return {ColumnRule::Kind::kAggregate, aggregate->second};
    if (!in_group) return {};  // the last value that is not null
    for (const SequenceGroup& group : policy.rules.groups) {
      if (std::find(group.order.begin(), group.order.end(), name) != group.order.end())
        return {ColumnRule::Kind::kGroupOrder};
    }
    return {ColumnRule::Kind::kGroupMember};
  }

  Status Decide(const Segments& segments, std::span<const MergeSource> sources, const Columns& columns) {
    const std::vector<const int8_t*> kinds = KindsOf(sources);
    if (!decider_.has_value()) {
      DecideAggregation(segments, kinds, policy_, &decision_);
      return Status::OK();
    }
    size_t failed = segments.count();
    const Status decided = decider_->Decide(segments, kinds, columns, &decision_, &failed);
    if (decided.ok() || failed >= segments.count()) return decided;
    return key_.Tell(sources, segments[failed][0], decided);
  }

  Result<std::shared_ptr<arrow::Array>> Reduce(const Wanted& wanted, std::span<const MergeSource> sources,
                                               const std::vector<std::shared_ptr<arrow::Array>>& column) {
    if (wanted.reducer == nullptr) return GatherColumn(column, decision_.newest, pool_);
    size_t failed = decision_.newest.size();
    auto reduced = wanted.reducer->Reduce(column, decision_.groups[wanted.group], pool_, &failed);
    if (reduced.ok() || failed >= decision_.newest.size()) return reduced;
    return key_.Tell(sources, decision_.newest[failed], reduced.status());
  }

  MergePolicy policy_;
  std::vector<std::string> reads_;
  std::vector<Wanted> wanted_;
  KeyNames key_;
  arrow::MemoryPool* pool_ = nullptr;
  std::optional<PartialUpdateDecider> decider_;
  Decision decision_;
};

}  // namespace

Result<std::unique_ptr<SegmentMerger>> SegmentMerger::Make(const TableSchema& schema,
                                                           const MergePolicy& policy,
                                                           std::vector<std::string> values,
                                                           arrow::MemoryPool* pool) {
  switch (policy.engine) {
    case MergeEngine::kDeduplicate:
    case MergeEngine::kFirstRow: return VersionMerger::Make(schema, policy, values, pool);
    case MergeEngine::kPartialUpdate:
    case MergeEngine::kAggregation: break;
  }
  return ColumnMerger::Make(schema, policy, values, pool);
}

}  // namespace headrace
