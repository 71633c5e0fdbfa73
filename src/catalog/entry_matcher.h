// Which manifest entries are wanted, decided for one entry and, by partition statistics and bucket bounds, for a whole manifest.
//
// MayHold is never wrongly false: unknown or absent bounds keep the manifest. Immutable, thread-safe.
// Source: ManifestsReader, PartitionPredicate.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "catalog/snapshots.h"
#include "format/value.h"

namespace headrace {

class EntryMatcher {
 public:
  static Result<EntryMatcher> Make(const Table& table, const EntryFilter& filter);

  // True when no entry is unwanted.
  bool wants_all() const { return !bucket_.has_value() && !by_partition_; }
  EntryDetail detail() const { return detail_; }
  // Looks at partition and bucket alone.
  bool Wants(const ManifestEntry& entry) const;
  Result<bool> MayHold(const ManifestFileMeta& manifest) const;

 private:
  std::optional<BucketId> bucket_;
  EntryDetail detail_ = EntryDetail::kWhole;
  bool by_partition_ = false;
  std::unordered_set<std::string> wanted_;      // serialised
  std::vector<std::vector<Value>> partitions_;  // the same, decoded
  std::vector<DataType> types_;
};

}  // namespace headrace
