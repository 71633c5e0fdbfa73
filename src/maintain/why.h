// Why a key has the row it has: every version of it in the live files of a snapshot, and which wins.
//
// The winner is the row that FindByKey gives (read/scan.h). Reads each file whose key range holds the key up to the key, and no other.
// Functions of the table, no state.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "catalog/table.h"
#include "format/snapshot.h"
#include "format/value.h"
#include "headrace/check_terms.h"

namespace headrace {

// `key`: a value for each primary-key column, by name; and for partition columns outside the key where only those partitions are meant.
// kInvalid for a table without a primary key, a missing or a foreign column.
Result<KeyHistory> ExplainKey(const Table& table, const Snapshot& snapshot,
                              const std::vector<std::pair<std::string, Value>>& key, arrow::MemoryPool* pool);

// Whether there is anything to explain: what ExplainKey refuses without a look at files.
Status CheckExplainable(const Table& table, const std::vector<std::pair<std::string, Value>>& key);

}  // namespace headrace
