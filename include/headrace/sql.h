// SQL over the tables of a warehouse: queries by DuckDB, and the statements that make, change and drop tables.
//
// A table is named db.table, or table alone after USE. paimon('db.t', snapshot => 5) is a table's past, changes('db.t', from_snapshot => 3, to_snapshot
// => 7) its changes with the columns _rowkind and _snapshot, and "db"."t$snapshots" (schemas, options, files, manifests, jobs) what is told of it.
// Each statement reads one snapshot of each table it names. INSERT, UPDATE, DELETE and CREATE TABLE AS are one commit each, all or nothing.
//
// One thread at a time, but for Interrupt and progress. The engine outlives it. What a session makes besides tables (temporary tables and
// views, settings) ends with it. docs/sql.md has the statements and their limits.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>

#include "headrace/engine.h"
#include "headrace/error.h"

namespace headrace {

struct SqlOptions {
  std::string database;              // as USE sets it; empty: none
  int64_t memory_bytes = 1LL << 30;  // of queries; past it they spill
  int threads = 2;
  std::string spill_directory;  // a folder; empty: the temporary one
};

struct SqlAnswer {
  std::unique_ptr<arrow::RecordBatchReader> rows;  // null: the statement has none
  std::string text;     // what was asked for, where it is a text and no table: a plan, a CREATE TABLE
  std::string message;  // what was done, for people; empty with rows or a text
};

class Sql {
 public:
  static Result<std::unique_ptr<Sql>> Open(Engine* engine, const SqlOptions& options);
  virtual ~Sql() = default;

  // One statement. Rows are read to their end, or destroyed, before the next one. kCancelled when it was interrupted.
  virtual Result<SqlAnswer> Execute(std::string_view statement) = 0;

  // Ends what is running, from any thread.
  virtual void Interrupt() = 0;
  // In percent of the running query, -1 when unknown. Any thread.
  virtual double progress() = 0;
};

// The statements of a script, between the semicolons that are not in quotes or comments.
Result<std::vector<std::string>> SplitSql(std::string_view script);

// Whether a text ends with a statement's semicolon: what a prompt waits for.
bool IsCompleteSql(std::string_view text);

}  // namespace headrace
