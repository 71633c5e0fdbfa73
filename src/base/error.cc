// The status detail that carries an ErrorKind, and the mapping of Arrow's own codes to kinds.
#include "base/error.h"

#include <memory>

namespace headrace {
namespace {

constexpr char kDetailTypeId[] = "headrace::ErrorKind";

class KindDetail final : public arrow::StatusDetail {
 public:
  explicit KindDetail(ErrorKind kind) : kind_(kind) {}
  const char* type_id() const override { return kDetailTypeId; }
  std::string ToString() const override { return std::string(NameOf(kind_)); }
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

arrow::StatusCode CodeFor(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalid:
    case ErrorKind::kCorruption:
    case ErrorKind::kSnapshotExpired:
    case ErrorKind::kCommitConflict: return arrow::StatusCode::Invalid;
    case ErrorKind::kUnsupported: return arrow::StatusCode::NotImplemented;
    case ErrorKind::kNotFound: return arrow::StatusCode::KeyError;
    case ErrorKind::kAlreadyExists: return arrow::StatusCode::AlreadyExists;
    case ErrorKind::kOverBudget: return arrow::StatusCode::OutOfMemory;
    case ErrorKind::kIo:
    case ErrorKind::kCommitUnknown: return arrow::StatusCode::IOError;
    case ErrorKind::kCancelled: return arrow::StatusCode::Cancelled;
  }
  return arrow::StatusCode::UnknownError;
}

}  // namespace

std::string_view NameOf(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalid: return "invalid";
    case ErrorKind::kCorruption: return "corruption";
    case ErrorKind::kUnsupported: return "unsupported";
    case ErrorKind::kNotFound: return "not found";
    case ErrorKind::kAlreadyExists: return "already exists";
    case ErrorKind::kCommitConflict: return "commit conflict";
    case ErrorKind::kCommitUnknown: return "commit outcome unknown";
    case ErrorKind::kSnapshotExpired: return "snapshot expired";
    case ErrorKind::kOverBudget: return "over the memory budget";
    case ErrorKind::kIo: return "input/output";
    case ErrorKind::kCancelled: return "cancelled";
  }
  return "unknown";
}

Status MakeError(ErrorKind kind, std::string message) {
  return Status(CodeFor(kind), std::move(message), std::make_shared<KindDetail>(kind));
}

ErrorKind KindOf(const Status& status) {
  const std::shared_ptr<arrow::StatusDetail>& detail = status.detail();
  if (detail != nullptr && std::string_view(detail->type_id()) == kDetailTypeId) {
    return static_cast<const KindDetail&>(*detail).kind();
  }
  switch (status.code()) {
    case arrow::StatusCode::NotImplemented: return ErrorKind::kUnsupported;
    case arrow::StatusCode::OutOfMemory: return ErrorKind::kOverBudget;
    case arrow::StatusCode::Cancelled: return ErrorKind::kCancelled;
    case arrow::StatusCode::IOError: return ErrorKind::kIo;
    default: return ErrorKind::kInvalid;
  }
}

Status WithContext(std::string_view context, const Status& status) {
  if (status.ok()) return status;
  std::string message = std::string(context) + ": " + status.message();
  // What a room tells itself by a detail of its own stays told.
  if (status.detail() != nullptr) return Status(status.code(), std::move(message), status.detail());
  return MakeError(KindOf(status), std::move(message));
}

}  // namespace headrace
