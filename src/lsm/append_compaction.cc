#include "lsm/append_compaction.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include <arrow/record_batch.h>

#include "lsm/compaction.h"
#include "lsm/key_value_batch.h"
#include "lsm/merge.h"

namespace headrace {
namespace {

constexpr size_t kFullCompactionLeastFiles = 3;
// What opening a file costs, in bytes read: the default of `source.split.open-file-cost`.
constexpr int64_t kOpenFileBytes = 4LL << 20;

// The first stretch of enough small neighbours; files that are too large together fall out at its front. Java takes a large
// file between small ones too, and so writes it again and again.
std::optional<std::vector<DataFileMeta>> PickNeighbours(const std::vector<DataFileMeta>& files,
                                                        const TableOptions& options) {
  std::deque<DataFileMeta> stretch;
  int64_t bytes = 0;
  for (const DataFileMeta& file : files) {
    if (file.size_bytes >= CompactionFileBytes(options)) {
      stretch.clear();
      bytes = 0;
      continue;
    }
    stretch.push_back(file);
    bytes += file.size_bytes;
    if (stretch.size() >= static_cast<size_t>(std::max(options.append_compaction_min_files, 1))) {
      return std::vector<DataFileMeta>(stretch.begin(), stretch.end());
    }
    if (bytes >= options.target_file_bytes * 2) {
      bytes -= stretch.front().size_bytes;
      stretch.pop_front();
    }
  }
  return std::nullopt;
}

// All files after the leading large ones, when most of them are small.
std::optional<std::vector<DataFileMeta>> PickAllNeighbours(std::vector<DataFileMeta> files,
                                                           const TableOptions& options) {
  if (files.size() < kFullCompactionLeastFiles) return std::nullopt;
  const auto is_large = [&](const DataFileMeta& file) {
    return file.size_bytes >= CompactionFileBytes(options);
  };
  files.erase(files.begin(), std::find_if_not(files.begin(), files.end(), is_large));
  const auto large = static_cast<size_t>(std::count_if(files.begin(), files.end(), is_large));
  if (files.size() < kFullCompactionLeastFiles || files.size() - large <= large) return std::nullopt;
  return files;
}

int64_t DeletedRows(const DataFileMeta& file, const DeletionVectors* deletions) {
  if (deletions == nullptr) return 0;
  const auto found = deletions->find(file.name);
  return found == deletions->end() ? 0 : found->second->cardinality();
}

// Whether so many rows of a file are deleted that it is rewritten for that alone.
bool IsWorn(const DataFileMeta& file, const DeletionVectors* deletions, const TableOptions& options,
            bool full) {
  const int64_t deleted = DeletedRows(file, deletions);
  if (deleted == 0 || full) return deleted > 0;
  return static_cast<double>(deleted) > options.delete_ratio_threshold * static_cast<double>(file.row_count);
}

// Worn files first, then small ones, smallest first, until two target files are full; without a worn one only when there are enough
// of them, or on demand.
std::optional<std::vector<DataFileMeta>> PickSmall(std::vector<DataFileMeta> files,
                                                   const TableOptions& options, bool full,
                                                   const DeletionVectors* deletions) {
  const auto is_worn = [&](const DataFileMeta& file) { return IsWorn(file, deletions, options, full); };
  std::erase_if(files, [&](const DataFileMeta& file) {
    return file.size_bytes >= CompactionFileBytes(options) && !is_worn(file);
  });
  std::stable_sort(files.begin(), files.end(), [&](const DataFileMeta& a, const DataFileMeta& b) {
    const bool worn = is_worn(a);
    return worn != is_worn(b) ? worn : a.size_bytes < b.size_bytes;
  });
  const bool any_worn = !files.empty() && is_worn(files[0]);
  std::vector<DataFileMeta> bin;
  int64_t bytes = 0;
  for (DataFileMeta& file : files) {
    bytes += file.size_bytes + kOpenFileBytes;
    bin.push_back(std::move(file));
    if ((bin.size() > 1 || any_worn) && bytes >= options.target_file_bytes * 2)
      return InSequenceOrder(std::move(bin));
  }
  const size_t enough = any_worn ? 1
                        : full   ? 2
                                 : static_cast<size_t>(std::max(options.append_compaction_min_files, 2));
  if (bin.size() < enough) return std::nullopt;
  return InSequenceOrder(std::move(bin));
}

// The first stretch of neighbours with deleted rows: they are rewritten where they stand.
std::optional<std::vector<DataFileMeta>> PickWornNeighbours(const std::vector<DataFileMeta>& files,
                                                            const DeletionVectors* deletions) {
  const auto has_deleted = [&](const DataFileMeta& file) { return DeletedRows(file, deletions) > 0; };
  const auto begin = std::find_if(files.begin(), files.end(), has_deleted);
  if (begin == files.end()) return std::nullopt;
  return std::vector<DataFileMeta>(begin, std::find_if_not(begin, files.end(), has_deleted));
}

}  // namespace

std::vector<DataFileMeta> InSequenceOrder(std::vector<DataFileMeta> files) {
  std::stable_sort(files.begin(), files.end(), ComesBefore);
  return files;
}

std::optional<std::vector<DataFileMeta>> PickAppendCompaction(std::vector<DataFileMeta> files,
                                                              const TableOptions& options, bool full,
                                                              const DeletionVectors* deletions) {
  if (options.bucket < 0) return PickSmall(std::move(files), options, full, deletions);
  files = InSequenceOrder(std::move(files));
  if (!full) return PickNeighbours(files, options);
  auto all = PickAllNeighbours(files, options);
  return all.has_value() ? std::move(all) : PickWornNeighbours(files, deletions);
}

Result<FileIncrement> CompactAppend(const std::vector<DataFileMeta>& inputs, const BucketFiles& files,
                                    FileNames* names) {
  ReadColumns columns;
  columns.values = files.schema->ColumnNames();
  HEADRACE_ASSIGN_OR_RETURN(const std::unique_ptr<RowStream> rows,
                            OpenConcatenation(files, inputs, columns, 32768));
  int64_t first_sequence = inputs[0].min_sequence;
  for (const DataFileMeta& file : inputs) first_sequence = std::min(first_sequence, file.min_sequence);
  HEADRACE_ASSIGN_OR_RETURN(
      const std::unique_ptr<DataFileWriter> writer,
      OpenRowWriter(files.WriteSpec(names, FileRole::kData, Level(0), FileSource::kCompact), first_sequence));
  while (true) {
    HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::RecordBatch> batch, rows->Next());
    if (batch == nullptr) break;
    HEADRACE_RETURN_NOT_OK(writer->Write(*batch));
  }
  FileIncrement increment;
  HEADRACE_ASSIGN_OR_RETURN(increment.added, writer->Close());
  increment.removed = inputs;
  return increment;
}

}  // namespace headrace
