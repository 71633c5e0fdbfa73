#include "read/key_bucket.h"

#include <algorithm>

#include "format/binary_row.h"
#include "format/bucket_number.h"

namespace headrace {

bool HasAll(const NamedValues& values, const std::vector<std::string>& names) {
  return std::all_of(names.begin(), names.end(),
                     [&](const std::string& name) { return values.contains(name); });
}

std::vector<Value> ValuesOf(const NamedValues& values, const std::vector<std::string>& names) {
  std::vector<Value> wanted;
  for (const std::string& name : names) wanted.push_back(values.at(name));
  return wanted;
}

Result<std::optional<BucketId>> BucketOfKey(const TableSchema& schema, BucketFunction function,
                                            const NamedValues& key, int32_t total_buckets) {
  const std::vector<std::string> names = schema.BucketKeys();
  if (total_buckets <= 0 || names.empty() || !HasAll(key, names)) return std::nullopt;
  const std::vector<Value> values = ValuesOf(key, names);
  if (function == BucketFunction::kMod) {
    if (const auto* narrow = std::get_if<int32_t>(&values[0])) return BucketOfNumber(*narrow, total_buckets);
    if (const auto* wide = std::get_if<int64_t>(&values[0])) return BucketOfNumber(*wide, total_buckets);
    return std::nullopt;
  }
  HEADRACE_ASSIGN_OR_RETURN(const BinaryRow row, EncodeBinaryRow(values, schema.TypesOf(names)));
  return BucketOfHash(HashBinaryRow(row.bytes), total_buckets);
}

}  // namespace headrace
