// The rows of many keys as of one snapshot: planned once, asked many times.
//
// What it gives is what a scan of the snapshot shows: it asks the files that a scan's plan names, and merges as a scan does. A bucket is opened
// when its first key is asked for. The snapshot is not kept from expiring: then a file that is gone is kSnapshotExpired.
// Thread-safe. Source: LocalTableQuery.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "catalog/table.h"
#include "format/snapshot.h"
#include "format/value.h"
#include "lsm/key_lookup.h"

namespace headrace {

class TableLookup {
 public:
  // `columns`: empty for all. `cache` may be null and outlives the lookup.
  static Result<std::unique_ptr<TableLookup>> Open(const Table& table, const Snapshot& snapshot,
                                                   const std::vector<std::string>& columns,
                                                   LookupCache* cache);
  virtual ~TableLookup() = default;

  // One key, values in primary-key order: its row, or null.
  virtual Result<std::shared_ptr<arrow::RecordBatch>> Find(const std::vector<Value>& key) const = 0;
  // Many, in any order, also one several times: the columns of the primary key in its order, in the table's types.
  virtual Result<KeyedRows> FindAll(const std::vector<std::shared_ptr<arrow::Array>>& keys) const = 0;
};

}  // namespace headrace
