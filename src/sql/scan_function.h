// The table functions by which DuckDB reads relations: paimon('db.t', …) and changes('db.t', …).
//
// Relations are opened when a call is bound, and kept on the board until the statement ends: DuckDB binds more than once, and a name means one
// state in a whole statement. What went wrong inside is kept there with its kind, since DuckDB passes on a text alone. The board outlives
// the connection.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <duckdb.h>

#include "base/error.h"
#include "sql/relation.h"

namespace headrace {

// Thread-safe: DuckDB's threads and the session meet here.
class RelationBoard {
 public:
  RelationBoard(Relations* relations, duckdb_database database, int threads)
      : relations_(relations), database_(database), threads_(threads) {}

  // The same relation for the same name until Forget.
  Result<std::shared_ptr<Relation>> Open(const RelationName& name);
  std::optional<std::string> ViewOf(const RelationName& name) { return relations_->ViewOf(name); }
  void Forget();

  // What all rows of a relation that are wanted meet.
  void Expect(const RelationName& name, std::vector<ColumnCondition> conditions);
  std::vector<ColumnCondition> ConditionsOf(const RelationName& name);

  // The first failure since the last time it was taken; OK when there was none.
  void Fail(const Status& status);
  Status TakeFailure();

  void Interrupt(bool interrupted) { interrupted_ = interrupted; }
  bool interrupted() const { return interrupted_; }

  duckdb_database database() const { return database_; }
  int threads() const { return threads_; }

 private:
  Relations* const relations_;
  const duckdb_database database_;
  const int threads_;
  std::atomic<bool> interrupted_ = false;
  std::mutex mutex_;
  std::vector<std::pair<RelationName, std::shared_ptr<Relation>>> open_;
  std::vector<std::pair<RelationName, std::vector<ColumnCondition>>> conditions_;
  Status failure_;
};

Status RegisterScanFunctions(duckdb_connection connection, RelationBoard* board);

}  // namespace headrace
