// Making errors: one function a kind. The kinds and their meaning are public (headrace/error.h).
//
// A message tells what was being done, to which table, file, line or field, what was found, what is allowed, what to do next.
// Everything here is a pure function; any thread may call it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "headrace/error.h"

namespace headrace {

Status MakeError(ErrorKind kind, std::string message);

inline bool IsKind(const Status& status, ErrorKind kind) { return !status.ok() && KindOf(status) == kind; }

// The same kind with `context` put before the message, as in "reading table db.t: …". OK stays OK.
Status WithContext(std::string_view context, const Status& status);

// The parts of the message are joined as an ostream prints them; Arrow's own joining is borrowed through its public door.
#define HEADRACE_ERROR_MAKER(Name, kind)                                                                 \
  template <typename... Args>                                                                            \
  Status Name(Args&&... args) {                                                                          \
    return MakeError(                                                                                    \
        kind, Status::FromArgs(arrow::StatusCode::UnknownError, std::forward<Args>(args)...).message()); \
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

// What was read, or nothing where kNotFound says that it is gone: for what another process may take away at any time.
template <typename T>
Result<std::optional<T>> UnlessGone(Result<T> read) {
  if (IsKind(read.status(), ErrorKind::kNotFound)) return std::optional<T>();
  if (!read.ok()) return read.status();
  return std::optional<T>(std::move(read).ValueUnsafe());
}

}  // namespace headrace

#define HEADRACE_RETURN_NOT_OK(expr) ARROW_RETURN_NOT_OK(expr)
#define HEADRACE_ASSIGN_OR_RETURN(lhs, expr) ARROW_ASSIGN_OR_RAISE(lhs, expr)
