// Errors at the public surface: an arrow::Status whose detail carries an ErrorKind.
//
// A caller decides by the kind, never by the text. The text is for a person: what was being done, to which table, file, line
// or field, what was found, what is allowed, what to do next. A status that came from Arrow has a kind derived from its code.
// Pure functions; any thread may call them.
#pragma once

#include <string_view>

#include <arrow/result.h>
#include <arrow/status.h>

namespace headrace {

using arrow::Result;
using arrow::Status;

enum class ErrorKind {
  kInvalid,          // the caller's input: a bad argument, option, record or schema
  kCorruption,       // bytes of a table that contradict the format or each other
  kUnsupported,      // legal in the format, not built here; the message names the option or type
  kNotFound,         // a table, snapshot, file or column that does not exist
  kAlreadyExists,    // something of that name is there already
  kCommitConflict,   // another commit removed or replaced what this one builds on: plan again
  kCommitUnknown,    // the store did not say whether the snapshot was published: clean nothing
  kSnapshotExpired,  // the position asked for lies before the oldest retained snapshot
  kOverBudget,       // the memory budget cannot hold what must be in memory at once
  kIo,               // the store failed: disk full, permission, network
  kCancelled,        // asked to stop
};

// The name as messages print it: "corruption", "commit conflict" …
std::string_view NameOf(ErrorKind kind);

// The kind of a failed status. Precondition: !status.ok().
ErrorKind KindOf(const Status& status);

}  // namespace headrace
