// Which compactions of a prepared commit can still be committed, and which lost their files to another writer.
//
// A compaction that lost is work for nothing, never rows: its inputs, or what another writer made of them, are in the table. Pure.
#pragma once

#include <vector>

#include "catalog/index_files.h"
#include "commit/commit.h"
#include "format/data_file_meta.h"

namespace headrace {

struct SortedCompactions {
  std::vector<BucketChange> kept;  // compact parts alone
  std::vector<BucketChange> lost;
};

// Of each bucket's compact part: kept when it fits the `live` files (all of its partitions') and the index as a commit would check it.
SortedCompactions SortCompactions(const Table& table, std::vector<BucketChange> changes,
                                  const std::vector<ManifestEntry>& live, const IndexFiles& index = {});

// The changes with only their append, or only their compact part; empty ones left out.
std::vector<BucketChange> AppendPartsOf(const std::vector<BucketChange>& changes);
std::vector<BucketChange> CompactPartsOf(const std::vector<BucketChange>& changes);

}  // namespace headrace
