// By what a query's answer falls into parts that do not concern each other: which continuous SQL needs to know to maintain it.
//
// A query is one SELECT, or several put together by UNION ALL: its branches. A branch with a *key* can be answered for some values of it alone, from the rows of its
// sources that have these values: the join key, the group key, the PARTITION BY of its window functions, the columns of a DISTINCT. docs/decisions/0007-continuous-sql.md
// has the reasons. What has no such key, or whose value changes by itself, is kUnsupported: the message names the construct and what to write
// instead. Pure, but for DuckDB's parser and its list of functions.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <duckdb.h>

#include "base/error.h"

namespace headrace {

// A column of a table that is looked up, and the expression over the first source that it has to be equal to.
struct LookupKey {
  std::string column;
  std::string text;
};

struct ShapeSource {
  std::string database;
  std::string table;
  std::string alias;  // as the query calls it
  std::vector<std::string> columns;
  bool is_lookup =
      false;  // FOR SYSTEM_TIME AS OF: it is joined as it stands, and its changes are no changes of the answer
  std::vector<LookupKey> lookup_keys = {};

  std::string ToString() const { return database + "." + table; }
};

// One expression over one source, in terms of its alias; `column` where it is a column as it is.
struct ShapeKey {
  std::string text;
  std::optional<std::string> column;
};

// How an aggregate over more and fewer rows follows from what it was, and from what came and what went.
enum class Folds {
  kNot,       // not at all
  kCountAll,  // count(*): 0 means that the group is gone
  kCount,
  kSum,  // where the type is exact
  kMin,  // unless the least row went
  kMax,
};

struct ShapeOutput {
  int source = -1;        // of a column as it is, else -1
  std::string column;     // of that source
  bool is_group = false;  // it is one of the group expressions
  std::string text;  // of a lookup join: the expression, where it is of the first source alone; else empty
  Folds folds = Folds::kNot;
  std::string folded = {};  // the column that is folded, where it is one as it is
};

// A tumbling window that is a group.
struct ShapeWindow {
  std::string column;  // of the one source: the time
  std::string size;    // an interval, as SQL
  size_t output = 0;   // which column of the answer is its beginning
  size_t key = 0;      // which value of the source's key is
  std::string
      unfit;  // why a window does not end a size after its beginning, and what to write; empty: it does
};

// The name that stands for the i-th source in a branch's own text: no table's, since '$' is in no name.
std::string SourceRelation(size_t source);  // as SQL writes it
inline constexpr char kSourceDatabase[] = "$";
// The column that a row-wise text over changes hands through: a row kind.
inline constexpr char kChangeKindColumn[] = "$kind";
// And of a lookup join behind it: the place of the change among the others.
inline constexpr char kChangePlaceColumn[] = "$place";

struct QueryBranch {
  std::string text;                  // the SELECT by itself, from SourceRelation(0), SourceRelation(1), …
  std::vector<ShapeSource> sources;  // as they stand in FROM; one table may stand there twice
  // Every row of the one source gives at most one row of the answer, whatever the other rows are. Then there is no key.
  bool row_wise = false;
  // All sources but the first are looked up: its changes alone make changes of the answer, a row at most of each. Then there is no key either.
  bool is_lookup = false;
  // Of a row-wise branch and of a lookup join: with the first source's column kChangeKindColumn behind the others, and kChangePlaceColumn of a lookup join.
  std::string text_over_changes;
  // By source, all of the same length, value for value the same key. No values: every row concerns every other.
  std::vector<std::vector<ShapeKey>> keys;
  std::vector<ShapeOutput> outputs;  // in the order of the answer's columns
  // A row of the answer stands for a group: of `groups` expressions, of which those that are outputs say so.
  bool is_grouped = false;
  size_t groups = 0;
  std::vector<ShapeWindow> windows = {};  // of one source: those among the groups that are outputs
  bool is_distinct = false;
  // Of one source, every output is a group or folds, every group is an output, and one output is count(*).
  bool folds = false;
  // By source: each of its rows gives its part of the answer whatever the others of its source are. Not so of groups, and of the side of an outer join that
  // may be missing.
  std::vector<bool> linear;
};

// The columns of a table; kNotFound when there is none.
using ColumnsOf =
    std::function<Result<std::vector<std::string>>(const std::string& database, const std::string& table)>;

// `used` is the database of names without one; empty: there is none, and such a name is kInvalid.
Result<std::vector<QueryBranch>> ShapeOfQuery(duckdb_connection connection, const std::string& query,
                                              const std::string& used, const ColumnsOf& columns_of);

}  // namespace headrace
