// Partitions and keys for people: "dt=2024-01-01/region=eu", "8821, eu". Pure.
#pragma once

#include <string>

#include "base/error.h"
#include "catalog/table.h"

namespace headrace {

Result<std::string> PartitionText(const Table& table, const BinaryRow& partition);
// Empty for a table without a primary key.
Result<std::string> KeyText(const Table& table, const BinaryRow& key);

}  // namespace headrace
