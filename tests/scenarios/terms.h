// The words of the language for kinds of errors, faults, operations and rows: "commit-conflict", "tear-and-stop", "+U".
//
// Each is the library's own name with '-' for blanks. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "io/fault_store.h"

namespace headrace::scenario {

std::string WordOf(ErrorKind kind);
std::string WordOf(FaultKind kind);
std::string WordOf(StoreOperation operation);
std::string_view WordOfRowKind(int8_t kind);

std::optional<ErrorKind> ErrorKindOf(std::string_view word);
std::optional<FaultKind> FaultKindOf(std::string_view word);
std::optional<StoreOperation> OperationOf(std::string_view word);
std::optional<int8_t> RowKindOf(std::string_view word);

// All words of a kind, for messages.
std::string AllErrorKinds();
std::string AllFaultKinds();
std::string AllOperations();

}  // namespace headrace::scenario
