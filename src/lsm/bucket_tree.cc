#include "lsm/bucket_tree.h"

#include <utility>

#include "lsm/merge_tree.h"
#include "lsm/row_bucket.h"

namespace headrace {

Result<std::unique_ptr<BucketTree>> BucketTree::Open(BucketTreeSpec spec,
                                                     const std::vector<DataFileMeta>& live) {
  return spec.files.schema->has_primary_key() ? MergeTree::Open(std::move(spec), live)
                                              : RowBucket::Open(std::move(spec), live);
}

}  // namespace headrace
