// Errors of the whole engine: an arrow::Status whose detail carries an ErrorKind.
//
// A caller decides by the kind, never by the text. The text is for a person: what was being done, to which
// table, file, line or field, what was found, what is allowed, what to do next.
// A status without our detail (one that came from Arrow) has a kind derived from its code: see KindOf.
// Everything here is a pure function; any thread may call it.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <arrow/result.h>
#include <arrow/status.h>
#include <arrow/util/string_builder.h>

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

Status MakeError(ErrorKind kind, std::string message);

// The kind of a failed status. Precondition: !status.ok().
ErrorKind KindOf(const Status& status);

inline bool IsKind(const Status& status, ErrorKind kind) { return !status.ok() && KindOf(status) == kind; }

// The same kind with `context` put before the message, as in "reading table db.t: …". OK stays OK.
Status WithContext(std::string_view context, const Status& status);

#define HEADRACE_ERROR_MAKER(Name, kind)                                               \
  template <typename... Args>                                                          \
  Status Name(Args&&... args) {                                                        \
    return MakeError(kind, arrow::util::StringBuilder(std::forward<Args>(args)...));   \
  }

HEADRACE_ERROR_MAKER(Invalid, ErrorKind::kInvalid)
HEADRACE_ERROR_MAKER(Corruption, ErrorKind::kCorruption)
HEADRACE_ERROR_MAKER(Unsupported, ErrorKind::kUnsupported)
HEADRACE_ERROR_MAKER(NotFound, ErrorKind::kNotFound)
HEADRACE_ERROR_MAKER(AlreadyExists, ErrorKind::kAlreadyExists)
HEADRACE_ERROR_MAKER(CommitConflict, ErrorKind::kCommitConflict)
HEADRACE_ERROR_MAKER(CommitUnknown, ErrorKind::kCommitUnknown)
HEADRACE_ERROR_MAKER(SnapshotExpired, ErrorKind::kSnapshotExpired)
HEADRACE_ERROR_MAKER(OverBudget, ErrorKind::kOverBudget)
HEADRACE_ERROR_MAKER(IoError, ErrorKind::kIo)
HEADRACE_ERROR_MAKER(Cancelled, ErrorKind::kCancelled)

#undef HEADRACE_ERROR_MAKER

}  // namespace headrace

#define HEADRACE_RETURN_NOT_OK(expr) ARROW_RETURN_NOT_OK(expr)
#define HEADRACE_ASSIGN_OR_RETURN(lhs, expr) ARROW_ASSIGN_OR_RAISE(lhs, expr)
