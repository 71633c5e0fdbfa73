// One user's DuckDB: queries over relations, their results streamed as Arrow batches.
//
// Each query sees one state of each relation that it names, taken when the query starts. Temporary tables, views and settings last as long as
// the session. One thread at a time, but for Interrupt and progress; a result is read to its end, or destroyed, before the next query.
// Results have the types that Paimon has: unsigned integers become wider signed ones, HUGEINT becomes DECIMAL(38, 0), and what Paimon has no type
// for (intervals, UUIDs …) is text. What happens in which order: docs/decisions/0004-sql.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "format/data_type.h"
#include "sql/query_shape.h"
#include "sql/relation.h"

namespace headrace {

struct QuerySessionOptions {
  int64_t memory_bytes = 1LL << 30;  // DuckDB's own; past it, it spills
  int threads = 2;
  std::string spill_directory;  // a folder, in which each session has one of its own; empty: nothing spills
};

class QuerySession {
 public:
  // `relations` outlives the session.
  static Result<std::unique_ptr<QuerySession>> Open(const QuerySessionOptions& options, Relations* relations);
  virtual ~QuerySession() = default;

  // Names without a database are looked up in this one; made as a schema of DuckDB's when need be.
  virtual Status Use(const std::string& database) = 0;

  // One statement. The columns' Paimon types are in fields().
  struct Answer {
    std::vector<DataField> fields;
    std::unique_ptr<arrow::RecordBatchReader> rows;
    bool is_rows = false;  // false: the statement did something and has no rows to show
    bool is_plan = false;  // of an EXPLAIN: the last column's lines are to be shown as they are
  };
  virtual Result<Answer> Query(std::string_view statement) = 0;

  // The columns that Query would give; nothing is run.
  virtual Result<std::vector<DataField>> Describe(std::string_view statement) = 0;

  // By what the query's answer falls into parts; see sql/query_shape.h.
  virtual Result<std::vector<QueryBranch>> Shape(const std::string& query, const ColumnsOf& columns_of) = 0;

  // Ends what is running, from any thread; it fails with kCancelled.
  virtual void Interrupt() = 0;
  // In percent; -1 when unknown. Any thread.
  virtual double progress() = 0;
};

}  // namespace headrace
