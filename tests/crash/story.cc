// Stories and the model: a plain map.
#include "tests/crash/story.h"

#include <algorithm>
#include <utility>

#include "base/random.h"

namespace headrace::crash {
namespace {

bool IsAdd(Kind kind) { return kind == Kind::kInsert || kind == Kind::kUpdateAfter; }

// With the partition column in the key, a row must keep its partition for life.
std::string NameFor(int64_t id, const Story& story, Random* random) {
  if (story.moves) return "p" + std::to_string(random->Below(3));
  if (!story.partition_column.empty()) return "p" + std::to_string(id % 2);
  return "name-" + std::to_string(random->Below(1000));
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Row& row) {
  return out << "(" << row.id << ", " << row.name << ", " << row.amount << ")";
}

std::ostream& operator<<(std::ostream& out, const Change& change) {
  static constexpr const char* kNames[] = {"+I", "-U", "+U", "-D"};
  return out << kNames[static_cast<int>(change.kind)] << change.row;
}

NewTable Story::Table() const {
  NewTable table;
  table.fields = ParseColumns("id BIGINT NOT NULL, name STRING NOT NULL, amount INT").ValueOrDie();
  if (has_key) table.primary_keys = {"id"};
  if (!partition_column.empty()) table.partition_keys = {partition_column};
  if (has_key && !partition_column.empty() && !moves) table.primary_keys.push_back(partition_column);
  table.options = options;
  return table;
}

Model::Model(const Story& table) : has_key_(table.has_key) {
  const auto producer = table.options.find("changelog-producer");
  every_change_ = !has_key_ || (producer != table.options.end() && producer->second == "input");
}

void Model::Apply(const Step& step) {
  std::map<int64_t, std::vector<Change>> of_step;
  for (const Change& change : step.changes) {
    if (!has_key_) {
      appended_.push_back(change.row);
    } else if (IsAdd(change.kind)) {
      by_id_[change.row.id] = change.row;
    } else {
      by_id_.erase(change.row.id);
    }
    std::vector<Change>& of_key = of_step[change.row.id];
    if (!every_change_) of_key.clear();
    of_key.push_back(change);
  }
  for (const auto& [id, of_key] : of_step)
    changes_[id].insert(changes_[id].end(), of_key.begin(), of_key.end());
}

std::vector<Row> Model::Rows() const {
  std::vector<Row> rows = appended_;
  for (const auto& [id, row] : by_id_) rows.push_back(row);
  std::sort(rows.begin(), rows.end());
  return rows;
}

Model ModelOf(const Story& story) {
  Model model(story);
  for (const Step& step : story.steps) model.Apply(step);
  return model;
}

Story MakeStory(std::string name, uint64_t seed, int steps, bool has_key,
                std::map<std::string, std::string> options, std::string partition_column, bool moves) {
  Story story{.name = std::move(name),
              .has_key = has_key,
              .partition_column = std::move(partition_column),
              .moves = moves,
              .options = std::move(options),
              .steps = {}};
  Random random(seed);
  std::map<int64_t, Row> live;
  int64_t next_id = 0;
  for (int i = 0; i < steps; ++i) {
    Step step;
    step.full_compaction = i % 3 == 2;
    const int changes = static_cast<int>(random.Between(4, 12));
    for (int c = 0; c < changes; ++c) {
      const bool fresh = !has_key || live.empty() || random.OneIn(3);
      const int64_t id =
          fresh ? next_id++ : std::next(live.begin(), static_cast<int64_t>(random.Below(live.size())))->first;
      const Row row{id, NameFor(id, story, &random), static_cast<int32_t>(random.Between(-1000, 1000))};
      if (fresh) {
        step.changes.push_back({Kind::kInsert, row});
        live[id] = row;
      } else if (random.OneIn(3)) {
        step.changes.push_back({Kind::kDelete, live[id]});
        live.erase(id);
      } else {
        step.changes.push_back({Kind::kUpdateBefore, live[id]});
        step.changes.push_back({Kind::kUpdateAfter, row});
        live[id] = row;
      }
    }
    story.steps.push_back(std::move(step));
  }
  return story;
}

}  // namespace headrace::crash
