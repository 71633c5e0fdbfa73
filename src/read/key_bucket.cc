#include "read/key_bucket.h"

#include <algorithm>

#include "format/binary_row.h"
#include "format/bucket_number.h"

namespace headrace {

Status CheckWholeKey(const TableSchema& schema, const std::string& table,
                     const std::vector<Value>& primary_key) {
  const std::vector<std::string>& names = schema.primary_keys;
  if (names.size() != primary_key.size()) {
    return Invalid("looking up a key in table ", table, ": ", primary_key.size(), " values for the ",
                   names.size(), " columns of its primary key");
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (!IsNull(primary_key[i])) continue;
    return Invalid("looking up a key in table ", table, ": primary-key column ", names[i], " cannot be null");
  }
  return Status::OK();
}

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
  return BucketOfValues(ValuesOf(key, names), schema.TypesOf(names), function, total_buckets);
}

Result<std::optional<BucketId>> BucketOfValues(const std::vector<Value>& bucket_key,
                                               const std::vector<DataType>& types, BucketFunction function,
                                               int32_t total_buckets) {
  if (total_buckets <= 0 || bucket_key.empty()) return std::nullopt;
  if (function == BucketFunction::kMod) {
    if (const auto* narrow = std::get_if<int32_t>(&bucket_key[0]))
      return BucketOfNumber(*narrow, total_buckets);
    if (const auto* wide = std::get_if<int64_t>(&bucket_key[0])) return BucketOfNumber(*wide, total_buckets);
    return std::nullopt;
  }
  HEADRACE_ASSIGN_OR_RETURN(const BinaryRow row, EncodeBinaryRow(bucket_key, types));
  return BucketOfHash(HashBinaryRow(row.bytes), total_buckets);
}

}  // namespace headrace
