#include "lsm/point_get.h"

#include <algorithm>
#include <utility>

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "lsm/decide.h"
#include "lsm/run_reader.h"
#include "lsm/versions.h"
#include "lsm/window_merge.h"

namespace headrace {
namespace {

// A point get looks at one row: small batches stop soon after it.
constexpr int64_t kBatchRows = 4096;

// A version and what orders it; the batch behind it is one row.
using Version = LoadedRows;

// The one row of a batch, with the same comparisons as in a merge.
Result<Version> OneRow(const LoadedRows& rows, int64_t row, const MergeColumns& columns) {
  Version version;
  version.batch = rows.batch->Slice(row, 1);
  version.kinds = rows.kinds + row;
  version.numbers = rows.numbers + row;
  if (!columns.sequences.empty()) {
    std::vector<std::shared_ptr<arrow::Array>> fields;
    for (const int position : columns.sequences) fields.push_back(version.batch->column(position));
    HEADRACE_ASSIGN_OR_RETURN(version.order, columns.sequence_order.Encode(fields));
  }
  return version;
}

Result<std::optional<Version>> FindInFile(const BucketFiles& files, const MergeColumns& columns,
                                          const MergeFile& file, const KeyColumn& key) {
  RunReader reader(&files, &columns, {file}, kBatchRows);
  HEADRACE_RETURN_NOT_OK(reader.Advance(0));
  while (!reader.done()) {
    const KeyColumn& keys = reader.rows().keys;
    const int64_t row = keys.Bound(0, reader.size(), key, 0, /*upper=*/false);
    if (row < reader.size()) {
      if (keys.Compare(row, key, 0) != 0) return std::nullopt;
      HEADRACE_ASSIGN_OR_RETURN(Version version, OneRow(reader.rows(), row, columns));
      version.file = &file;  // the reader's own copy ends with it
      return version;
    }
    HEADRACE_RETURN_NOT_OK(reader.Advance(reader.size()));
  }
  return std::nullopt;
}

// Files that may hold the key, the largest sequence number first, with their age.
std::vector<MergeFile> Candidates(const std::vector<TreeFilePtr>& among, const EncodedKey& key) {
  std::vector<MergeFile> candidates;
  for (const TreeFilePtr& file : among) {
    if (file->min_key <= key && key <= file->max_key) candidates.push_back({file});
  }
  std::sort(candidates.begin(), candidates.end(), [](const MergeFile& a, const MergeFile& b) {
    const DataFileMeta& x = a.file->meta;
    const DataFileMeta& y = b.file->meta;
    return x.level != y.level ? x.level < y.level : IsNewer(x, y);
  });
  for (size_t i = 0; i < candidates.size(); ++i)
    candidates[i].age = static_cast<uint32_t>(candidates.size() - i);
  std::stable_sort(candidates.begin(), candidates.end(), [](const MergeFile& a, const MergeFile& b) {
    return a.file->meta.max_sequence > b.file->meta.max_sequence;
  });
  return candidates;
}

// Every version of the key, merged as the engine says.
Result<std::optional<FoundRow>> MergeVersions(const BucketFiles& files, const std::vector<MergeFile>& among,
                                              const KeyOrder& order, const EncodedKey& key,
                                              MergePolicy policy, const std::vector<std::string>& values) {
  policy.drop_deletes = false;
  HEADRACE_ASSIGN_OR_RETURN(WindowMerge merge, WindowMerge::Make(*files.schema, policy, values,
                                                                 {.sequence_and_kind = true}, files.pool));
  HEADRACE_ASSIGN_OR_RETURN(const MergeColumns columns, merge.Columns(*files.schema, /*numbers=*/true));
  const KeyColumn wanted = order.ColumnOf(key);
  std::vector<Version> versions;
  for (const MergeFile& file : among) {
    HEADRACE_ASSIGN_OR_RETURN(std::optional<Version> version, FindInFile(files, columns, file, wanted));
    if (version.has_value()) versions.push_back(*std::move(version));
  }
  if (versions.empty()) return std::nullopt;
  std::sort(versions.begin(), versions.end(), [](const Version& a, const Version& b) {
    return CompareVersions(a, 0, b, 0, /*by_age=*/false) < 0;
  });
  Window window;
  Segments segments;
  std::vector<int32_t> levels;
  segments.starts = {0};
  for (const Version& version : versions) {
    segments.rows.push_back({static_cast<uint32_t>(window.parts.size()), 0});
    window.parts.push_back({&version, 0, 1});
    levels.push_back(version.file->file->meta.level.value);
  }
  if (policy.lowest_level_alone) LeaveOutDeeperLevels(levels, &segments);
  Result<std::shared_ptr<arrow::RecordBatch>> row = merge.Merge(window, columns, segments);
  if (!row.ok()) return WithContext("merging a row of " + files.directory, row.status());
  if (*row == nullptr) return std::nullopt;
  FoundRow found;
  found.sequence = static_cast<const arrow::Int64Array&>(*(*row)->column(0)).Value(0);
  found.kind = static_cast<const arrow::Int8Array&>(*(*row)->column(1)).Value(0);
  HEADRACE_ASSIGN_OR_RETURN(found.row, (*row)->RemoveColumn(0));
  HEADRACE_ASSIGN_OR_RETURN(found.row, found.row->RemoveColumn(0));
  return found;
}

}  // namespace

Result<std::optional<FoundRow>> FindNewest(const BucketFiles& files, const std::vector<TreeFilePtr>& among,
                                           const KeyOrder& order, const EncodedKey& key,
                                           const MergePolicy& policy,
                                           const std::vector<std::string>& values) {
  const std::vector<MergeFile> candidates = Candidates(among, key);
  if (!policy.newest_wins()) return MergeVersions(files, candidates, order, key, policy, values);
  HEADRACE_ASSIGN_OR_RETURN(const MergeColumns columns,
                            MergeColumns::Make(*files.schema, policy, values, true, false));
  const KeyColumn wanted = order.ColumnOf(key);
  const bool by_numbers_alone = columns.sequences.empty();
  std::optional<Version> newest;
  for (const MergeFile& file : candidates) {
    // Equal numbers must still be looked at: an add wins over a retraction.
    if (newest.has_value() && by_numbers_alone && newest->numbers[0] > file.file->meta.max_sequence) break;
    HEADRACE_ASSIGN_OR_RETURN(std::optional<Version> version, FindInFile(files, columns, file, wanted));
    if (!version.has_value() || !TakesPart(version->kinds[0], policy)) continue;
    if (!newest.has_value() || CompareVersions(*newest, 0, *version, 0, /*by_age=*/false) < 0)
      newest = std::move(version);
  }
  if (!newest.has_value()) return std::nullopt;
  return FoundRow{newest->kinds[0], newest->numbers[0], columns.Project(*newest->batch)};
}

}  // namespace headrace
