#include "lsm/point_get.h"

#include <algorithm>
#include <utility>

#include <arrow/record_batch.h>

#include "lsm/decide.h"
#include "lsm/run_reader.h"
#include "lsm/versions.h"

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

}  // namespace

Result<std::optional<FoundRow>> FindNewest(const BucketFiles& files, const std::vector<TreeFilePtr>& among,
                                           const KeyOrder& order, const EncodedKey& key,
                                           const MergePolicy& policy,
                                           const std::vector<std::string>& values) {
  HEADRACE_ASSIGN_OR_RETURN(const MergeColumns columns,
                            MergeColumns::Make(*files.schema, policy, values, true, false));
  const KeyColumn wanted = order.ColumnOf(key);
  const bool by_numbers_alone = columns.sequences.empty();
  const std::vector<MergeFile> candidates = Candidates(among, key);
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
