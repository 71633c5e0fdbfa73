// One INSERT INTO target SELECT … that goes on for ever: what it reads, how it is kept true, and whether it can be.
//
// Made before anything runs, of the statement and the tables' schemas alone. kUnsupported and kInvalid name the construct, the key or the type that
// stands in the way and what to write instead. docs/decisions/0007-continuous-sql.md. Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "catalog/table.h"
#include "pipeline/keyed_copy.h"
#include "pipeline/open_tables.h"
#include "sql/query_shape.h"
#include "sql/statement.h"

namespace headrace::pipeline {

// How the rows of a touched key are found in a source.
enum class TouchedRead {
  kByKey,   // the key is its primary key
  kInPart,  // its primary key begins with a column of the key: the pages of these
  kWhole,   // all files whose statistics allow one
};

// EMIT ON WINDOW CLOSE, of one SELECT over one table.
struct WindowClose {
  ShapeWindow window;
  int64_t delay_ms = 0;  // by which the watermark is behind the greatest time seen
};

struct StagePlan {
  std::string target;                // "db.table"
  std::vector<std::string> columns;  // of the target, one for each column of the query; others are null
  std::string query;                 // as written
  std::vector<QueryBranch> branches;
  std::vector<std::vector<TouchedRead>> reads;  // by branch, by source
  std::optional<WindowClose> closes;  // windows come once they are closed; nothing: all is there at once
  bool adds = false;  // the target adds the answer to new rows to what it has: nothing is read but these
  std::vector<std::string> tables;  // the sources, each once: "db.table"
  bool is_copy =
      false;  // the target is a KeyedCopy and holds nothing but the answer, whoever wrote what else is there
  std::vector<KeyedCopy> copies;  // those of `tables` that are read in the place of what the query names
  // By table: the copy, without columns, that would be read in part in its place, everywhere in the query, where it is read as a whole.
  std::map<std::string, KeyedCopy> copies_wanted;
  // Columns of the target of which no two rows have the same values, which its primary key need not say: a copy of a source under another key
  // has the source's primary key. Empty: none are known.
  std::vector<std::string> unique_columns;
  std::string job;   // whose position the target keeps
  std::string hash;  // of what the position is of: target, columns, query

  // Whether the table's changes are taken in.
  bool Follows(const std::string& table) const;
  // Whether the table is looked up, so that its own changes are none of the answer.
  bool LooksUp(const std::string& table) const;

  // Where the i-th source of a branch is among `tables`.
  size_t TableOf(const ShapeSource& source) const;

  // Null: that one of `tables` is no copy, and the query names it.
  const KeyedCopy* CopyNamed(const std::string& table) const;
  // "SELECT …" of a source's columns, as the query sees them.
  std::string SelectAll(const ShapeSource& source) const;
};

class QueryBinding;  // query_binding.h

// StagePlan::unique_columns by table, of tables that no other stage writes.
using UniqueColumns = std::map<std::string, std::vector<std::string>>;

// `insert.name` has its database; names without one in the query are in the one that the binding's session uses.
// Of `copies`, which exist, it reads those that help.
Result<StagePlan> PlanStage(QueryBinding* binding, const InsertText& insert, std::string job,
                            const StageRoom& room, const UniqueColumns& known = {},
                            const std::vector<KeyedCopy>& copies = {});

// For people: what it reads, by what key, what each step costs.
std::string Explain(const StagePlan& plan);

}  // namespace headrace::pipeline
