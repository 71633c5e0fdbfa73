// What a merge makes of one key, without merging anything else.
//
// Files are asked newest sequence first, and none whose key range excludes the key or, where the newest version wins, whose numbers cannot
// win any more; for other engines every version is merged. Reads no more of a file than up to the key. Source: LookupLevels (the order of search).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "lsm/bucket_files.h"
#include "lsm/key_order.h"
#include "lsm/levels.h"
#include "lsm/merge_policy.h"

namespace headrace {

struct FoundRow {
  int8_t kind = 0;
  int64_t sequence = 0;
  std::shared_ptr<arrow::RecordBatch> row;  // one row of the columns asked for
};

// Nothing when no file holds the key. A delete is found like any other result; the policy's drop_deletes is not applied.
Result<std::optional<FoundRow>> FindNewest(const BucketFiles& files, const std::vector<TreeFilePtr>& among,
                                           const KeyOrder& order, const EncodedKey& key,
                                           const MergePolicy& policy,
                                           const std::vector<std::string>& columns);

}  // namespace headrace
