// The rows of a flush where a key's versions cannot be put into one row, because a sum or a product of them overflows.
//
// A flush loses nothing, and what is wrong with one key stops no other. The versions of such a key are cut into pieces that do merge, oldest
// first: piece 0 of every key goes to the usual file, piece n to the n-th further one, so that a file has a key once. Whoever brings the pieces
// together, a read or a compaction, meets the overflow and tells it. One thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "lsm/bucket_files.h"
#include "lsm/merged_files.h"
#include "lsm/segment_merger.h"

namespace headrace {

// Each piece of a key is a file: more of one key in one flush are refused.
inline constexpr size_t kMostPieces = 64;

// [n]: the rows of piece n in key order, or null; usually one.
using Pieces = std::vector<std::shared_ptr<arrow::RecordBatch>>;

// Sequence number, kind and values (`schema`), deletes included. An overflow (lsm/overflow.h) where a key needs more than kMostPieces.
Result<Pieces> MergeInPieces(SegmentMerger* merger, const Segments& segments,
                             std::span<const MergeSource> sources,
                             const std::shared_ptr<arrow::Schema>& schema, arrow::MemoryPool* pool);

// Files of one role, one for each piece. Destruction without Close() leaves none.
class PieceFiles {
 public:
  // Both outlive it.
  PieceFiles(FileWriteSpec spec, const KeyValueShape& shape) : spec_(std::move(spec)), shape_(shape) {}

  Status Write(const Pieces& pieces);
  // On failure no file is left.
  Result<std::vector<DataFileMeta>> Close(const BucketFiles& files);

 private:
  const FileWriteSpec spec_;
  const KeyValueShape& shape_;
  std::vector<MergedFiles> files_;
};

}  // namespace headrace
