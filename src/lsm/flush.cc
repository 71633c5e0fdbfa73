#include "lsm/flush.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include <arrow/record_batch.h>

#include "lsm/buffer_merge.h"
#include "lsm/key_value_batch.h"
#include "lsm/pieces.h"

namespace headrace {
namespace {

constexpr int64_t kMostChunkRows = 32768;
constexpr int64_t kLeastChunkRows = 256;

int64_t RowsOfChunk(const WriteBuffer& buffer, const FileWriteSpec& spec) {
  const int64_t row_bytes = buffer.bytes() / buffer.rows() + 1;
  return std::clamp(spec.memory_bytes / 2 / row_bytes, kLeastChunkRows, kMostChunkRows);
}

// A writer whose destruction without Close() leaves no file.
Result<std::vector<DataFileMeta>> WriteRows(const WriteBuffer& buffer, std::span<const RowRef> rows,
                                            const FileWriteSpec& spec) {
  if (rows.empty()) return std::vector<DataFileMeta>{};
  const auto chunk_rows = static_cast<size_t>(RowsOfChunk(buffer, spec));
  HEADRACE_ASSIGN_OR_RETURN(const std::unique_ptr<DataFileWriter> writer, OpenKeyValueWriter(spec));
  for (size_t begin = 0; begin < rows.size(); begin += chunk_rows) {
    const std::span<const RowRef> chunk = rows.subspan(begin, std::min(chunk_rows, rows.size() - begin));
    HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::RecordBatch> batch, buffer.Gather(chunk));
    HEADRACE_RETURN_NOT_OK(writer->Write(*batch));
  }
  return writer->Close();
}

// The results of an engine that merges rows.
Result<std::vector<DataFileMeta>> WriteMerged(const WriteBuffer& buffer, const Segments& segments,
                                              const BucketFiles& files, const FileWriteSpec& spec) {
  HEADRACE_ASSIGN_OR_RETURN(const std::unique_ptr<BufferMerge> merged,
                            BufferMerge::Make(buffer, *files.schema, buffer.policy(), segments,
                                              static_cast<size_t>(RowsOfChunk(buffer, spec)), files.pool));
  const KeyValueShape shape(*files.schema);
  PieceFiles made(spec, shape);
  while (true) {
    const Result<Pieces> rows = merged->Next();
    if (!rows.ok()) return WithContext("flushing rows to " + files.directory, rows.status());
    if (rows->empty()) return made.Close(files);
    HEADRACE_RETURN_NOT_OK(made.Write(*rows));
  }
}

}  // namespace

Result<FileIncrement> FlushToLevelZero(const WriteBuffer& buffer, const BucketFiles& files, FileNames* names,
                                       bool with_changelog) {
  FileIncrement increment;
  HEADRACE_ASSIGN_OR_RETURN(const Segments segments, buffer.Sort());
  const FileWriteSpec spec = files.WriteSpec(names, FileRole::kData, Level(0), FileSource::kAppend);
  HEADRACE_ASSIGN_OR_RETURN(increment.added, buffer.policy().newest_wins()
                                                 ? WriteRows(buffer, buffer.Newest(segments), spec)
                                                 : WriteMerged(buffer, segments, files, spec));
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
