// What SQL can read: a relation is rows in pieces, each read by one thread, columns as asked; Relations finds one by its name.
//
// A relation stands for one state: reading it twice gives the same rows, whatever is committed meanwhile. Its pieces may be opened from
// any thread, each once. Names of columns differ in more than case, or DuckDB refuses the relation.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "format/comparison.h"

namespace headrace {

using RelationPiece = std::function<Result<std::unique_ptr<arrow::RecordBatchReader>>()>;

// A constant: a whole number or a decimal; a text, which may also stand for a date or a time; a DATE '…' or TIMESTAMP '…', which is no text: DuckDB
// makes dates of the texts that it compares with it.
struct SqlConstant {
  enum class Kind { kNumber, kText, kTime };
  Kind kind = Kind::kNumber;
  std::string text;  // "12", "-0.50"; the text

  bool operator==(const SqlConstant& other) const = default;
};

struct ColumnCondition {
  using Is = Comparison;
  std::string column;  // as written; DuckDB finds columns whatever their case
  Is is = Is::kEqual;
  std::vector<SqlConstant> constants = {};  // one; several for kIn; none for kNull and kNotNull

  bool operator==(const ColumnCondition& other) const = default;
};

class Relation {
 public:
  virtual ~Relation() = default;
  virtual const std::shared_ptr<arrow::Schema>& schema() const = 0;
  // For the order of joins, an estimate; nothing when it is not known.
  virtual std::optional<int64_t> row_count() const { return std::nullopt; }
  // The columns of the schema at these places, in this order, at least one; no place twice. Rows that do not meet a condition may be left out,
  // or be anything: they are filtered again.
  virtual Result<std::vector<RelationPiece>> Pieces(const std::vector<int>& columns,
                                                    const std::vector<ColumnCondition>& conditions) = 0;
};

// A table named in a FROM, or given to one of the functions paimon('db.t', …) and changes('db.t', …).
struct RelationName {
  enum class Of { kState, kChanges };
  Of of = Of::kState;
  std::string database;
  std::string table;
  std::optional<int64_t> snapshot = {};       // kState: nothing is the latest
  std::optional<int64_t> from_snapshot = {};  // kChanges, inclusive: nothing is the earliest
  std::optional<int64_t> to_snapshot = {};    // kChanges, inclusive: nothing is the latest

  bool operator==(const RelationName& other) const = default;
};

class Relations {
 public:
  virtual ~Relations() = default;
  // The SELECT that stands for a name instead of a relation; asked first. Nothing: Open tells.
  virtual std::optional<std::string> ViewOf(const RelationName&) { return std::nullopt; }
  // kNotFound when there is none; DuckDB then looks among its own.
  virtual Result<std::shared_ptr<Relation>> Open(const RelationName& name) = 0;
};

}  // namespace headrace
