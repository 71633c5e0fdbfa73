// A scenario: what is done to tables and what must be seen, as a list of statements; its text form, both ways.
//
// The language is told in README.md beside this file. Parsing knows grammar alone: whether a table, a column or a value exists is found out
// when a Stage runs the statement. Printing gives text that parses to the same statements. Plain values; pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/fault_store.h"

namespace headrace::scenario {

// A value as it is written: its text, or nothing for null. What it means depends on the column's type.
using Cell = std::optional<std::string>;

struct Row {
  int8_t kind = 0;  // 0 +I, 1 -U, 2 +U, 3 -D, as in Paimon's files
  std::vector<Cell> cells;
  auto operator<=>(const Row&) const = default;
};

enum class Verb {
  kStore,          // name: memory or local
  kMemory,         // name: the budget of all writers' buffers, "1 mb"; full: rows may be put aside on disk
  kClock,          // number: milliseconds to go on
  kCreate,         // name, text (columns), primary_key, partition_by, options
  kDrop,           // name
  kRename,         // name, text (the new name)
  kUse,            // name
  kAlter,          // options, unset
  kWrite,          // name (writer), rows
  kFlush,          // name
  kCompactWriter,  // name, full: inside of a writer
  kPrepare,        // name, number (identifier)
  kCommit,         // name, number, once, again, text (the writer that overtakes)
  kTogether,       // columns: writers that commit at the same time
  kClose,          // name
  kRestart,
  kCompact,    // full: by a process of its own
  kExpire,     // as the table's options say
  kOverwrite,  // options (the partition), rows
  kFault,      // fault, number, text (part of the path), operation
  kHeal,
  kRead,           // at, ordered, columns, rows
  kGet,            // key, at, columns, rows
  kChanges,        // from, to, columns, rows
  kStreamVisible,  // at, columns, rows
  kSnapshots,      // columns: a line each
  kLevels,         // at, columns: "L0", "L5" …
  kCheck,
};

enum class Expected {
  kSuccess,
  kError,   // of the kind, with the text in it
  kEither,  // `try`: what happens is not told here
};

struct Statement {
  int line = 0;  // in the text; 0 when it came from elsewhere
  Verb verb = Verb::kCheck;
  Expected expected = Expected::kSuccess;
  ErrorKind error_kind = ErrorKind::kInvalid;
  std::string error_text;

  std::string name;
  std::string text;
  std::vector<std::string> primary_key;
  std::vector<std::string> partition_by;
  std::map<std::string, std::string> options;
  std::vector<std::string> unset;
  std::vector<std::string> columns;
  std::vector<Cell> key;
  std::vector<Row> rows;
  std::optional<int64_t> number;
  std::optional<int64_t> at;
  std::optional<int64_t> from;
  std::optional<int64_t> to;
  bool full = false;
  bool once = false;
  bool again = false;
  bool ordered = false;
  FaultKind fault = FaultKind::kNone;
  std::string operation;  // the kind of operation that a fault counts; empty: all
};

struct Scenario {
  std::string origin;                // for messages: the file
  std::vector<std::string> heading;  // comment lines it begins with, without '#'
  std::vector<Statement> statements;
};

inline constexpr char kUnnamedWriter[] = "w";

// kInvalid begins with "<origin>:<line>: ".
Result<Scenario> ParseScenario(std::string_view text, std::string origin);

std::string Print(const Scenario& scenario);
std::string Print(const Statement& statement);
// "+I 1, abc, null"; without the kind for rows that are read.
std::string Print(const Row& row, bool with_kind);
// "1, abc, null". A cell is quoted where it would be read as something else.
std::string Print(const std::vector<Cell>& cells);

// A list of cells as a scenario writes them.
Result<std::vector<Cell>> ParseCells(std::string_view text);

}  // namespace headrace::scenario
