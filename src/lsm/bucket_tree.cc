#include "lsm/bucket_tree.h"

#include <utility>

#include "lsm/merge_tree.h"
#include "lsm/row_bucket.h"
#include "lsm/staging_bucket.h"

namespace headrace {

Result<std::unique_ptr<BucketTree>> BucketTree::Open(BucketTreeSpec spec,
                                                     const std::vector<DataFileMeta>& live) {
  if (spec.files.schema->has_primary_key() && spec.files.options->bucket == -2)
    return StagingBucket::Open(std::move(spec));
  return spec.files.schema->has_primary_key() ? MergeTree::Open(std::move(spec), live)
                                              : RowBucket::Open(std::move(spec), live);
}

}  // namespace headrace
