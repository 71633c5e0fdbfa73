// The row of each key as a scan of the bucket shows it: every version that a scan merges, merged by the table's engine.
//
// Files are those that a scan reads; rows hidden by deletion vectors take no part. Results that are deletes are left out. Opened once and
// asked many times; thread-safe for concurrent calls of Find.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "lsm/bucket_files.h"
#include "lsm/key_order.h"
#include "lsm/levels.h"
#include "lsm/lookup_cache.h"
#include "lsm/merge_policy.h"

namespace headrace {

struct KeyedRows {
  std::vector<int32_t> row_of_key;           // for each key asked: its row below, or -1
  std::shared_ptr<arrow::RecordBatch> rows;  // the columns asked for
};

class KeyLookup {
 public:
  // `cache` may be null: nothing is kept between calls.
  static Result<std::unique_ptr<KeyLookup>> Open(BucketFiles files, const std::vector<TreeFilePtr>& among,
                                                 MergePolicy policy, std::vector<std::string> values,
                                                 LookupCache* cache);
  virtual ~KeyLookup() = default;

  // `keys` ascend strictly.
  virtual Result<KeyedRows> Find(const KeyColumn& keys) const = 0;
};

}  // namespace headrace
