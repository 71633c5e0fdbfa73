#include "tests/laws/harness/model.h"

#include <algorithm>

#include "tests/scenarios/rows.h"
#include "tests/scenarios/terms.h"

namespace headrace::laws {
namespace {

bool IsRetraction(const Row& row) { return row.kind == 1 || row.kind == 3; }

std::string OptionOr(const Statement& create, const std::string& key, const std::string& fallback) {
  const auto it = create.options.find(key);
  return it == create.options.end() ? fallback : it->second;
}

}  // namespace

Result<Model> Model::Make(const Statement& create) {
  Model model;
  HEADRACE_ASSIGN_OR_RETURN(model.fields_, ParseColumns(create.text));
  const auto place_of = [&](const std::string& name) -> Result<size_t> {
    for (size_t i = 0; i < model.fields_.size(); ++i)
      if (model.fields_[i].name == name) return i;
    return Invalid("no column ", name);
  };
  for (const std::string& name : create.primary_key) {
    HEADRACE_ASSIGN_OR_RETURN(const size_t place, place_of(name));
    model.key_.push_back(place);
  }
  if (const std::string name = OptionOr(create, "sequence.field", ""); !name.empty()) {
    HEADRACE_ASSIGN_OR_RETURN(model.sequence_, place_of(name));
  }
  const std::string engine = OptionOr(create, "merge-engine", "deduplicate");
  if (engine == "first-row") model.engine_ = Engine::kFirstRow;
  if (engine == "partial-update") model.engine_ = Engine::kPartialUpdate;
  if (engine == "aggregation") model.engine_ = Engine::kAggregation;
  if (const std::string group = OptionOr(create, "fields.seq.sequence-group", ""); !group.empty()) {
    HEADRACE_ASSIGN_OR_RETURN(model.group_sequence_, place_of("seq"));
    for (size_t i = 0; i < model.fields_.size(); ++i)
      if (("," + group + ",").find("," + model.fields_[i].name + ",") != std::string::npos)
        model.group_.push_back(i);
  }
  const std::string producer = OptionOr(create, "changelog-producer", "none");
  model.by_compaction_ = producer == "lookup" || producer == "full-compaction";
  model.ignore_delete_ = OptionOr(create, "ignore-delete", "false") == "true";
  model.from_input_ = producer == "input";
  model.postponed_ = OptionOr(create, "bucket", "") == "-2";
  // Rows that wait are kept as they came.
  model.every_row_ = model.key_.empty() || model.from_input_ || model.postponed_;
  if (!model.key_.empty() && !create.partition_by.empty()) {
    HEADRACE_ASSIGN_OR_RETURN(const size_t place, place_of(create.partition_by[0]));
    if (!model.IsKey(place)) model.partition_ = place;
  }
  model.states_[0].rows = std::make_shared<std::vector<Row>>();
  return model;
}

std::vector<Row> Model::Kept(std::vector<Row> rows) const {
  if (ignore_delete_) std::erase_if(rows, IsRetraction);
  return rows;
}

Status Model::Wrote(const std::string& writer, const std::vector<Row>& rows) {
  HEADRACE_ASSIGN_OR_RETURN(std::vector<Row> normalised, scenario::Normalised(fields_, rows));
  normalised = Kept(std::move(normalised));
  std::vector<Row>& waiting = unprepared_[writer];
  waiting.insert(waiting.end(), normalised.begin(), normalised.end());
  return Status::OK();
}

void Model::Prepared(const std::string& writer, int64_t identifier) {
  waiting_[{writer, identifier}].rows = std::move(unprepared_[writer]);
  unprepared_.erase(writer);
}

Status Model::Overwrote(const std::string& writer, int64_t identifier,
                        const std::map<std::string, std::string>& partition, const std::vector<Row>& rows) {
  HEADRACE_ASSIGN_OR_RETURN(std::vector<Row> normalised, scenario::Normalised(fields_, rows));
  waiting_[{writer, identifier}] = {Kept(std::move(normalised)), true, partition};
  return Status::OK();
}

bool Model::IsMissing(const std::string& writer, int64_t identifier) const {
  const auto it = waiting_.find({writer, identifier});
  if (it == waiting_.end()) return false;
  const Commit& commit = it->second;
  if (partition_.has_value() && engine_ == Engine::kFirstRow) {
    // What names another partition than the first row of its key is dropped before it is written.
    return std::any_of(commit.rows.begin(), commit.rows.end(), [&](const Row& row) {
      const auto first = newest_.find(KeyOf(row));
      return first == newest_.end() || first->second.cells[*partition_] == row.cells[*partition_];
    });
  }
  // An overwrite of nothing by nothing makes no snapshot.
  if (!commit.overwrites) return !commit.rows.empty();
  const auto replaced = [&](const Row& row) { return IsIn(row, commit.partition); };
  return !commit.rows.empty() || std::any_of(latest().begin(), latest().end(), replaced) ||
         std::any_of(staged_.begin(), staged_.end(), replaced);
}

Status Model::Observe(const Snapshot& snapshot, bool rows_wait) {
  State state;
  if (snapshot.commit_kind != CommitKind::kCompact) {
    const auto it = waiting_.find({snapshot.commit_user, snapshot.commit_identifier});
    if (it == waiting_.end())
      return Corruption("snapshot ", snapshot.id, " holds commit ", snapshot.commit_identifier, " of ",
                        snapshot.commit_user, ", which is there already or was never prepared");
    Apply(it->second);
    // An overwrite that found nothing to replace is an append, and shown.
    // The changelog of rows that wait comes with their bucket.
    if (snapshot.commit_kind == CommitKind::kAppend && !(postponed_ && from_input_))
      state.written = it->second.rows;
    waiting_.erase(it);
    state.rows = Current();
  } else if (!staged_.empty() && !rows_wait) {
    for (const Row& row : staged_) Put(row);
    if (from_input_) state.written = staged_;
    staged_.clear();
    state.rows = Current();
  } else {
    state.rows = states_.rbegin()->second.rows;
  }
  states_[snapshot.id.value] = std::move(state);
  return Status::OK();
}

const std::vector<Row>& Model::latest() const { return *states_.rbegin()->second.rows; }

std::vector<std::vector<Cell>> Model::AbsentKeys() const {
  std::vector<Key> keys;
  for (const auto& [key, row] : newest_)
    if (IsRetraction(row)) keys.push_back(key);
  for (const Row& row : staged_)
    if (!newest_.contains(KeyOf(row))) keys.push_back(KeyOf(row));
  return keys;
}

std::vector<Row> Model::LatestWith(const std::string& writer, int64_t identifier) const {
  Model with = *this;
  if (const auto it = waiting_.find({writer, identifier}); it != waiting_.end()) with.Apply(it->second);
  return *with.Current();
}

Model::Key Model::KeyOf(const Row& row) const {
  Key key;
  for (const size_t place : key_) key.push_back(row.cells[place]);
  return key;
}

bool Model::Replaces(const Row& newer, const Row& older) const {
  if (!sequence_.has_value()) return true;
  const Cell& a = newer.cells[*sequence_];
  const Cell& b = older.cells[*sequence_];
  if (!a.has_value() || !b.has_value()) return !b.has_value();
  return std::stoll(*a) >= std::stoll(*b);
}

bool Model::IsKey(size_t place) const { return std::find(key_.begin(), key_.end(), place) != key_.end(); }

void Model::Merge(const Row& newer, Row* merged) const {
  switch (engine_) {
    case Engine::kDeduplicate:
      if (Replaces(newer, *merged)) *merged = newer;
      break;
    case Engine::kFirstRow: break;
    case Engine::kPartialUpdate: Update(newer, merged); break;
    case Engine::kAggregation: Aggregate(newer, merged); break;
  }
}

// A delete takes the row away, and what it carries is the beginning of the next one.
void Model::Update(const Row& newer, Row* merged) const {
  if (IsRetraction(newer)) {
    *merged = newer;
    return;
  }
  const auto in_group = [&](size_t place) {
    return place == group_sequence_ || std::find(group_.begin(), group_.end(), place) != group_.end();
  };
  const bool takes_group =
      group_sequence_.has_value() && newer.cells[*group_sequence_].has_value() &&
      (!merged->cells[*group_sequence_].has_value() ||
       std::stoll(*newer.cells[*group_sequence_]) >= std::stoll(*merged->cells[*group_sequence_]));
  for (size_t i = 0; i < fields_.size(); ++i) {
    const bool takes = in_group(i) ? takes_group : newer.cells[i].has_value();
    if (takes) merged->cells[i] = newer.cells[i];
  }
  merged->kind = 0;
}

void Model::Aggregate(const Row& newer, Row* merged) const {
  for (size_t i = 0; i < fields_.size(); ++i) {
    const Cell& cell = newer.cells[i];
    Cell& sofar = merged->cells[i];
    if (IsKey(i) || !cell.has_value()) continue;
    if (!sofar.has_value()) {
      sofar = cell;
    } else if (fields_[i].name == "v") {
      sofar = std::to_string(std::stoll(*sofar) + std::stoll(*cell));
    } else if (fields_[i].name != "x" || std::stod(*cell) > std::stod(*sofar)) {
      sofar = cell;
    }
  }
}

bool Model::IsIn(const Row& row, const std::map<std::string, std::string>& partition) const {
  for (const auto& [name, text] : partition) {
    for (size_t i = 0; i < fields_.size(); ++i)
      if (fields_[i].name == name && row.cells[i] != Cell(text)) return false;
  }
  return true;
}

void Model::Apply(const Commit& commit) {
  if (commit.overwrites) {
    std::erase_if(newest_, [&](const auto& entry) { return IsIn(entry.second, commit.partition); });
    std::erase_if(appended_, [&](const Row& row) { return IsIn(row, commit.partition); });
    std::erase_if(staged_, [&](const Row& row) { return IsIn(row, commit.partition); });
  }
  if (postponed_) {
    staged_.insert(staged_.end(), commit.rows.begin(), commit.rows.end());
    return;
  }
  for (const Row& row : commit.rows) Put(row);
}

void Model::Put(const Row& row) {
  if (key_.empty()) {
    appended_.push_back(row);
    return;
  }
  const auto [it, fresh] = newest_.try_emplace(KeyOf(row), row);
  if (!fresh) Merge(row, &it->second);
}

std::shared_ptr<const std::vector<Row>> Model::Current() const {
  std::vector<Row> rows = appended_;
  for (const auto& [key, row] : newest_)
    if (!IsRetraction(row)) rows.push_back(row);
  for (Row& row : rows) row.kind = 0;
  return std::make_shared<const std::vector<Row>>(scenario::Sorted(std::move(rows)));
}

// A row that names another partition than its key's brings a delete there. Buckets are followed one after the other: there is no order between
// partitions.
std::optional<std::string> Model::WrongMoves(int64_t snapshot, const Key& key,
                                             const std::vector<Row>& written,
                                             const std::vector<Row>& delivered) const {
  if (engine_ != Engine::kDeduplicate)
    return std::nullopt;  // first-row: what is written elsewhere is dropped
  std::vector<Row> left = written;
  for (const Row& row : delivered) {
    if (const auto it = std::find(left.begin(), left.end(), row); it != left.end()) {
      left.erase(it);
      continue;
    }
    const auto moves = [&](Row from) {
      from.cells[*partition_] = row.cells[*partition_];
      return row.kind == 3 && from.cells == row.cells;
    };
    if (std::none_of(written.begin(), written.end(), moves))
      return "a change that was not written: " + scenario::Print(row, true);
  }
  if (every_row_ && !left.empty())
    return "the change " + scenario::Print(left[0], true) + " is not delivered";
  if (std::find(delivered.begin(), delivered.end(), written.back()) == delivered.end())
    return "the change " + scenario::Print(written.back(), true) + " is not delivered";
  const auto live_at = [&](int64_t id) -> Cell {
    for (const Row& row : RowsAt(id))
      if (KeyOf(row) == key) return row.cells[*partition_];
    return std::nullopt;
  };
  const Cell before = live_at(snapshot - 1);
  if (!before.has_value() || before == live_at(snapshot)) return std::nullopt;
  const auto leaves = [&](const Row& row) { return IsRetraction(row) && row.cells[*partition_] == before; };
  if (std::any_of(delivered.begin(), delivered.end(), leaves)) return std::nullopt;
  return "key " + scenario::Print(key) + " left partition " + *before + ", which is not told";
}

std::optional<std::string> Model::WrongChanges(int64_t snapshot, const std::vector<Row>& delivered) const {
  const std::vector<Row>& written = states_.at(snapshot).written;
  if (by_compaction_) return std::nullopt;
  if (key_.empty()) return scenario::Difference(scenario::Sorted(written), scenario::Sorted(delivered), true);
  std::map<Key, std::vector<Row>> want, got;
  for (const Row& row : written) want[KeyOf(row)].push_back(row);
  for (const Row& row : delivered) got[KeyOf(row)].push_back(row);
  for (const auto& [key, rows] : got)
    if (!want.contains(key))
      return "changes of key " + scenario::Print(key) + ", which the commit did not write";
  for (const auto& [key, rows] : want) {
    const std::vector<Row>& shown = got[key];
    if (partition_.has_value()) {
      if (const auto wrong = WrongMoves(snapshot, key, rows, shown)) return wrong;
      continue;
    }
    if (every_row_) {
      // With sequence.field the rows of one flush come in its order: a named exception, a scenario of its own.
      const auto difference =
          sequence_.has_value() ? scenario::Difference(scenario::Sorted(rows), scenario::Sorted(shown), true)
                                : scenario::Difference(rows, shown, true);
      if (difference.has_value()) return "changes of key " + scenario::Print(key) + ": " + *difference;
      continue;
    }
    if (engine_ != Engine::kDeduplicate) continue;  // of each flush what it merged
    // Of each flush the last: some of what was written, and what stays of this commit among it.
    std::vector<Row> left = rows;
    for (const Row& row : shown) {
      const auto it = std::find(left.begin(), left.end(), row);
      if (it == left.end()) return "a change that was not written: " + scenario::Print(row, true);
      left.erase(it);
    }
    const Row* newest = &rows[0];
    for (const Row& row : rows)
      if (Replaces(row, *newest)) newest = &row;
    if (std::find(shown.begin(), shown.end(), *newest) == shown.end())
      return "the change " + scenario::Print(*newest, true) + " is not delivered";
  }
  return std::nullopt;
}

}  // namespace headrace::laws
