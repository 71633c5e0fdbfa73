#include "lsm/pieces.h"

#include <algorithm>
#include <string>

#include <arrow/record_batch.h>

#include "lsm/gather.h"
#include "lsm/overflow.h"
#include "lsm/window_merge.h"

namespace headrace {
namespace {

// Finds the keys that do not merge by halving, and halves their versions until each part does.
class Cutter {
 public:
  Cutter(SegmentMerger* merger, const Segments& segments, std::span<const MergeSource> sources)
      : merger_(merger), segments_(segments), sources_(sources) {
    cut_.rows = segments.rows;
  }

  // Keys from `begin` up to `end`.
  Status CutKeys(size_t begin, size_t end) {
    Segments some;
    some.rows.assign(RowAt(StartOf(begin)), RowAt(StartOf(end)));
    for (size_t key = begin; key < end; ++key) some.starts.push_back(StartOf(key) - StartOf(begin));
    const Status merges = merger_->Merge(some, sources_).status();
    if (merges.ok()) {
      for (size_t key = begin; key < end; ++key) Keep(StartOf(key), 0);
      return Status::OK();
    }
    if (!IsOverflow(merges)) return merges;
    if (end - begin == 1) {
      size_t pieces = 0;
      return CutVersions(StartOf(begin), StartOf(end), &pieces);
    }
    const size_t middle = begin + (end - begin) / 2;
    HEADRACE_RETURN_NOT_OK(CutKeys(begin, middle));
    return CutKeys(middle, end);
  }

  const Segments& cut() const { return cut_; }
  // The piece of its key that each segment of cut() is.
  const std::vector<size_t>& piece_of() const { return piece_of_; }

 private:
  uint32_t StartOf(size_t key) const {
    return key < segments_.count() ? segments_.starts[key] : static_cast<uint32_t>(segments_.rows.size());
  }
  std::vector<RowRef>::const_iterator RowAt(uint32_t row) const { return segments_.rows.begin() + row; }

  void Keep(uint32_t start, size_t piece) {
    cut_.starts.push_back(start);
    piece_of_.push_back(piece);
  }

  Status CutVersions(uint32_t begin, uint32_t end, size_t* pieces) {
    Segments versions;
    versions.rows.assign(RowAt(begin), RowAt(end));
    versions.starts = {0};
    const Status merges = merger_->Merge(versions, sources_).status();
    if (merges.ok()) {
      Keep(begin, (*pieces)++);
      return Status::OK();
    }
    if (!IsOverflow(merges) || end - begin == 1) return merges;
    if (*pieces >= kMostPieces) {
      return WithContext(
          "more than " + std::to_string(kMostPieces) +
              " times, as often as rows are put aside in one flush, a sum or product overflows",
          merges);
    }
    const uint32_t middle = begin + (end - begin) / 2;
    HEADRACE_RETURN_NOT_OK(CutVersions(begin, middle, pieces));
    return CutVersions(middle, end, pieces);
  }

  SegmentMerger* merger_;
  const Segments& segments_;
  const std::span<const MergeSource> sources_;
  Segments cut_;
  std::vector<size_t> piece_of_;
};

}  // namespace

Result<Pieces> MergeInPieces(SegmentMerger* merger, const Segments& segments,
                             std::span<const MergeSource> sources,
                             const std::shared_ptr<arrow::Schema>& schema, arrow::MemoryPool* pool) {
  Result<MergedRows> whole = merger->Merge(segments, sources);
  if (!IsOverflow(whole.status())) {
    HEADRACE_RETURN_NOT_OK(whole.status());
    HEADRACE_ASSIGN_OR_RETURN(auto batch, BatchOf(*std::move(whole), schema, true, false, pool));
    return Pieces{std::move(batch)};
  }
  Cutter cutter(merger, segments, sources);
  HEADRACE_RETURN_NOT_OK(cutter.CutKeys(0, segments.count()));
  HEADRACE_ASSIGN_OR_RETURN(MergedRows rows, merger->Merge(cutter.cut(), sources));
  std::vector<std::vector<RowRef>> rows_of_piece;
  for (uint32_t row = 0; row < rows.size(); ++row) {
    const size_t piece = cutter.piece_of()[rows.segments[row]];
    rows_of_piece.resize(std::max(rows_of_piece.size(), piece + 1));
    rows_of_piece[piece].push_back({0, row});
  }
  HEADRACE_ASSIGN_OR_RETURN(const auto batch, BatchOf(std::move(rows), schema, true, false, pool));
  Pieces pieces;
  for (const std::vector<RowRef>& kept : rows_of_piece) {
    pieces.emplace_back();
    if (!kept.empty()) {
      HEADRACE_ASSIGN_OR_RETURN(pieces.back(), GatherRows({batch}, kept, pool));
    }
  }
  return pieces;
}

Status PieceFiles::Write(const Pieces& pieces) {
  while (files_.size() < pieces.size()) files_.emplace_back(spec_, shape_);
  for (size_t piece = 0; piece < pieces.size(); ++piece)
    HEADRACE_RETURN_NOT_OK(files_[piece].Write(pieces[piece]));
  return Status::OK();
}

Result<std::vector<DataFileMeta>> PieceFiles::Close(const BucketFiles& files) {
  std::vector<DataFileMeta> closed;
  for (MergedFiles& piece : files_) {
    Result<std::vector<DataFileMeta>> made = piece.Close();
    if (!made.ok()) {
      (void)files.Delete(closed);
      return made.status();
    }
    closed.insert(closed.end(), made->begin(), made->end());
  }
  return closed;
}

}  // namespace headrace
