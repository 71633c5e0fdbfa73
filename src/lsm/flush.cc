#include "lsm/flush.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include <arrow/record_batch.h>

namespace headrace {
namespace {

constexpr int64_t kMostChunkRows = 32768;
constexpr int64_t kLeastChunkRows = 256;

// A writer whose destruction without Close() leaves no file.
Result<std::vector<DataFileMeta>> WriteRows(const WriteBuffer& buffer, std::span<const RowRef> rows,
                                            const FileWriteSpec& spec) {
  if (rows.empty()) return std::vector<DataFileMeta>{};
  const int64_t row_bytes = buffer.bytes() / buffer.rows() + 1;
  const auto chunk_rows =
      static_cast<size_t>(std::clamp(spec.memory_bytes / 2 / row_bytes, kLeastChunkRows, kMostChunkRows));
  HEADRACE_ASSIGN_OR_RETURN(const std::unique_ptr<DataFileWriter> writer, OpenKeyValueWriter(spec));
  for (size_t begin = 0; begin < rows.size(); begin += chunk_rows) {
    const std::span<const RowRef> chunk = rows.subspan(begin, std::min(chunk_rows, rows.size() - begin));
    HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::RecordBatch> batch, buffer.Gather(chunk));
    HEADRACE_RETURN_NOT_OK(writer->Write(*batch));
  }
  return writer->Close();
}

}  // namespace

Result<FileIncrement> FlushToLevelZero(const WriteBuffer& buffer, const BucketFiles& files, FileNames* names,
                                       bool with_changelog) {
  FileIncrement increment;
  HEADRACE_ASSIGN_OR_RETURN(const Segments segments, buffer.Sort());
  const std::vector<RowRef> newest = buffer.Newest(segments);
  HEADRACE_ASSIGN_OR_RETURN(
      increment.added,
      WriteRows(buffer, newest, files.WriteSpec(names, FileRole::kData, Level(0), FileSource::kAppend)));
  if (!with_changelog) return increment;
  Result<std::vector<DataFileMeta>> changelog = WriteRows(
      buffer, segments.rows, files.WriteSpec(names, FileRole::kChangelog, Level(0), FileSource::kAppend));
  if (!changelog.ok()) {
    (void)files.Delete(increment.added);
    return changelog.status();
  }
  increment.changelog = *std::move(changelog);
  return increment;
}

}  // namespace headrace
