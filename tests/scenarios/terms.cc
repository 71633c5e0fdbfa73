#include "tests/scenarios/terms.h"

#include <algorithm>
#include <span>

namespace headrace::scenario {
namespace {

constexpr ErrorKind kErrorKinds[] = {ErrorKind::kInvalid,       ErrorKind::kCorruption,
                                     ErrorKind::kUnsupported,   ErrorKind::kNotFound,
                                     ErrorKind::kAlreadyExists, ErrorKind::kCommitConflict,
                                     ErrorKind::kCommitUnknown, ErrorKind::kSnapshotExpired,
                                     ErrorKind::kOverBudget,    ErrorKind::kIo,
                                     ErrorKind::kCancelled};
constexpr FaultKind kFaultKinds[] = {FaultKind::kFail,           FaultKind::kStop,
                                     FaultKind::kTearAndStop,    FaultKind::kDiskFull,
                                     FaultKind::kPublishUnknown, FaultKind::kPublishUnknownLost,
                                     FaultKind::kPublishLate,    FaultKind::kPublishDoneAndStop};
constexpr StoreOperation kOperations[] = {
    StoreOperation::kList,        StoreOperation::kStat,   StoreOperation::kReadAll,
    StoreOperation::kOpenForRead, StoreOperation::kRead,   StoreOperation::kOpenForWrite,
    StoreOperation::kWrite,       StoreOperation::kClose,  StoreOperation::kReplace,
    StoreOperation::kPublish,     StoreOperation::kDelete, StoreOperation::kDeleteRecursively,
    StoreOperation::kRename};
constexpr std::string_view kRowKinds[] = {"+I", "-U", "+U", "-D"};

std::string Hyphened(std::string_view name) {
  std::string word(name);
  std::replace(word.begin(), word.end(), ' ', '-');
  return word;
}

template <typename Kind>
std::optional<Kind> Find(std::span<const Kind> kinds, std::string_view word) {
  for (const Kind kind : kinds)
    if (Hyphened(NameOf(kind)) == word) return kind;
  return std::nullopt;
}

template <typename Kind>
std::string All(std::span<const Kind> kinds) {
  std::string all;
  for (const Kind kind : kinds) all += (all.empty() ? "" : ", ") + Hyphened(NameOf(kind));
  return all;
}

}  // namespace

std::string WordOf(ErrorKind kind) { return Hyphened(NameOf(kind)); }
std::string WordOf(FaultKind kind) { return Hyphened(NameOf(kind)); }
std::string WordOf(StoreOperation operation) { return Hyphened(NameOf(operation)); }
std::string_view WordOfRowKind(int8_t kind) { return kRowKinds[kind & 3]; }

std::optional<ErrorKind> ErrorKindOf(std::string_view word) {
  return Find(std::span<const ErrorKind>(kErrorKinds), word);
}
std::optional<FaultKind> FaultKindOf(std::string_view word) {
  return Find(std::span<const FaultKind>(kFaultKinds), word);
}
std::optional<StoreOperation> OperationOf(std::string_view word) {
  return Find(std::span<const StoreOperation>(kOperations), word);
}
std::optional<int8_t> RowKindOf(std::string_view word) {
  for (int8_t kind = 0; kind < 4; ++kind)
    if (kRowKinds[kind] == word) return kind;
  return std::nullopt;
}

std::string AllErrorKinds() { return All(std::span<const ErrorKind>(kErrorKinds)); }
std::string AllFaultKinds() { return All(std::span<const FaultKind>(kFaultKinds)); }
std::string AllOperations() { return All(std::span<const StoreOperation>(kOperations)); }

}  // namespace headrace::scenario
