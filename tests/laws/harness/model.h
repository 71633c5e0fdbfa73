// A plain map that is given what writers were given, and says what a table must hold after each snapshot that appeared.
//
// It does not guess whether a commit happened: rows wait under their writer's name and identifier until a snapshot of that name and identifier
// is seen, and are applied in the order of snapshots. A snapshot that nobody asked for, or one that comes twice, is an error.
//
// Rules: deduplicate by primary key; with `sequence.field` the larger value stays, and of equal ones the later; with `ignore-delete`
// retractions do not exist; without a key every row stays; rows that wait for a bucket are not seen, and merged when they have one; a row
// whose key lies in another partition takes it along. Of the other merge engines what shapes draw: first-row; partial-update, also
// with a sequence group; aggregation by sum, max and the last value that is not null. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "format/data_type.h"
#include "format/snapshot.h"
#include "tests/scenarios/laws.h"
#include "tests/scenarios/scenario.h"

namespace headrace::laws {

using scenario::Cell;
using scenario::Row;
using scenario::Statement;

class Model {
 public:
  // Of the table that a `create` makes.
  static Result<Model> Make(const Statement& create);

  Status Wrote(const std::string& writer, const std::vector<Row>& rows);
  // What the writer has written and not prepared is gone.
  void Forget(const std::string& writer) { unprepared_.erase(writer); }
  void ForgetAll() { unprepared_.clear(); }
  void Prepared(const std::string& writer, int64_t identifier);
  // `partition`: column = text; empty: the whole table.
  Status Overwrote(const std::string& writer, int64_t identifier,
                   const std::map<std::string, std::string>& partition, const std::vector<Row>& rows);

  // A commit that was acknowledged and changes something must have been seen.
  bool IsMissing(const std::string& writer, int64_t identifier) const;

  // `rows_wait`: whether rows wait for a bucket in this snapshot. A compaction after which none do has given all of them theirs.
  Status Observe(const Snapshot& snapshot, bool rows_wait = false);

  const std::vector<DataField>& fields() const { return fields_; }
  // Sorted rows; Precondition: the snapshot was observed.
  const std::vector<Row>& RowsAt(int64_t snapshot) const { return *states_.at(snapshot).rows; }
  const std::vector<Row>& latest() const;
  // Keys that were written and whose row is gone now.
  std::vector<std::vector<Cell>> AbsentKeys() const;
  // The latest rows if a waiting commit were in the table.
  std::vector<Row> LatestWith(const std::string& writer, int64_t identifier) const;
  // Whether these changes, as delivered for the snapshot, are those of its commit; nothing, or what is wrong.
  std::optional<std::string> WrongChanges(int64_t snapshot, const std::vector<Row>& delivered) const;
  // What `changes` of the snapshot should show, for producers that show every row.
  const std::vector<Row>& ChangesAt(int64_t snapshot) const { return states_.at(snapshot).written; }
  bool shows_every_row() const { return every_row_; }
  // Rows wait for a bucket before they are seen.
  bool postponed() const { return postponed_; }
  // Changes are made by compactions: they add up to what a stream is told, and belong to no one commit.
  bool changes_by_compaction() const { return by_compaction_; }

 private:
  struct Commit {
    std::vector<Row> rows;
    bool overwrites = false;
    std::map<std::string, std::string> partition;
  };
  enum class Engine { kDeduplicate, kFirstRow, kPartialUpdate, kAggregation };
  struct State {
    std::shared_ptr<const std::vector<Row>> rows;
    std::vector<Row> written;  // by this snapshot
  };
  using Key = std::vector<Cell>;

  Key KeyOf(const Row& row) const;
  bool Replaces(const Row& newer, const Row& older) const;
  void Merge(const Row& newer, Row* merged) const;
  void Update(const Row& newer, Row* merged) const;
  void Aggregate(const Row& newer, Row* merged) const;
  bool IsKey(size_t place) const;
  bool IsIn(const Row& row, const std::map<std::string, std::string>& partition) const;
  void Apply(const Commit& commit);
  void Put(const Row& row);
  std::optional<std::string> WrongMoves(int64_t snapshot, const Key& key, const std::vector<Row>& written,
                                        const std::vector<Row>& delivered) const;
  std::shared_ptr<const std::vector<Row>> Current() const;
  std::vector<Row> Kept(std::vector<Row> rows) const;

  std::vector<DataField> fields_;
  std::vector<size_t> key_;
  std::optional<size_t> sequence_;
  Engine engine_ = Engine::kDeduplicate;
  std::optional<size_t> group_sequence_;  // of a partial update
  std::vector<size_t> group_;             // the columns it protects
  bool by_compaction_ = false;
  bool ignore_delete_ = false;
  bool postponed_ = false;
  bool from_input_ = false;          // the changelog is what was written
  std::optional<size_t> partition_;  // of a table whose key does not hold it
  bool every_row_ = false;
  std::map<std::string, std::vector<Row>> unprepared_;
  std::map<std::pair<std::string, int64_t>, Commit> waiting_;
  std::map<Key, Row> newest_;
  std::vector<Row> appended_;
  std::vector<Row> staged_;  // that wait for a bucket
  std::map<int64_t, State> states_;
};

}  // namespace headrace::laws
