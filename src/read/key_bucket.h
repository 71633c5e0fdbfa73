// A key as values by column, and the bucket it lies in. For those who ask for one key; rows by the batch: write/bucket_router.h.
//
// Pure. Equal to what a writer computes for a row of the key.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "format/table_options.h"
#include "format/table_schema.h"
#include "format/value.h"

namespace headrace {

using NamedValues = std::map<std::string, Value>;

// A value for each column of the primary key, none of them null; else kInvalid in the name of the table.
Status CheckWholeKey(const TableSchema& schema, const std::string& table,
                     const std::vector<Value>& primary_key);

bool HasAll(const NamedValues& values, const std::vector<std::string>& names);

// The values of `names`. Precondition: HasAll(values, names).
std::vector<Value> ValuesOf(const NamedValues& values, const std::vector<std::string>& names);

// The bucket among `total_buckets`. Nothing where it does not follow from the key: buckets are not counted, or by other columns.
Result<std::optional<BucketId>> BucketOfKey(const TableSchema& schema, BucketFunction function,
                                            const NamedValues& key, int32_t total_buckets);

// The same of the values of the bucket key alone, in its order and with its types.
Result<std::optional<BucketId>> BucketOfValues(const std::vector<Value>& bucket_key,
                                               const std::vector<DataType>& types, BucketFunction function,
                                               int32_t total_buckets);

}  // namespace headrace
