#include "lsm/probed_run.h"

#include <algorithm>
#include <utility>

#include <arrow/array.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "lsm/gather.h"

namespace headrace {

ProbedRun::ProbedRun(const FileView& view, Level level, const std::vector<TreeFilePtr>& files)
    : level_(level) {
  for (const TreeFilePtr& file : files) {
    max_sequence_ = std::max(max_sequence_, file->meta.max_sequence);
    files_.push_back(ProbedFile::Make(view, file));
  }
}

Status ProbedRun::Find(const FileView& view, const KeyColumn& keys, const std::vector<bool>& wanted,
                       Hits* hits) const {
  auto file = files_.begin();
  for (int64_t begin = 0; begin < keys.size();) {
    file = std::lower_bound(file, files_.end(), begin, [&](const ProbedFile& candidate, int64_t key) {
      return candidate.max_key.Compare(0, keys, key) < 0;
    });
    if (file == files_.end()) break;
    begin = keys.Bound(begin, keys.size(), file->min_key, 0, /*upper=*/false);
    const int64_t end = keys.Bound(begin, keys.size(), file->max_key, 0, /*upper=*/true);
    const auto from = wanted.begin() + begin;
    if (std::find(from, wanted.begin() + end, true) != wanted.begin() + end) {
      HEADRACE_RETURN_NOT_OK(FindInFile(view, *file, keys, begin, end, wanted, hits));
    }
    begin = end;
    ++file;
  }
  return Status::OK();
}

Status ProbedRun::FindInFile(const FileView& view, const ProbedFile& file, const KeyColumn& keys,
                             int64_t begin, int64_t end, const std::vector<bool>& wanted, Hits* hits) {
  const DeletionVector* deleted = nullptr;
  if (const DeletionVectors* deletions = view.files.deletions.get()) {
    const auto found = deletions->find(file.file->meta.name);
    if (found != deletions->end()) deleted = found->second.get();
  }
  FileProbe probe(&view, &file);
  const RowBlock* last = nullptr;
  for (int64_t key = begin; key < end; ++key) {
    if (!wanted[static_cast<size_t>(key)]) continue;
    HEADRACE_ASSIGN_OR_RETURN(const std::optional<int64_t> position, probe.Find(keys, key));
    if (!position.has_value() || (deleted != nullptr && deleted->IsDeleted(*position))) continue;
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<const RowBlock> rows, probe.Rows());
    if (rows.get() != last) {
      last = rows.get();
      hits->blocks.push_back(std::move(rows));
    }
    hits->rows.push_back(
        {static_cast<uint32_t>(hits->blocks.size() - 1), static_cast<uint32_t>(probe.row_in_block())});
    hits->files.push_back(&file);
    hits->positions.push_back(*position);
    hits->keys.push_back(key);
  }
  return Status::OK();
}

Result<std::shared_ptr<arrow::RecordBatch>> GatherHits(const Hits& hits, std::span<const int32_t> picked,
                                                       std::span<const int> columns,
                                                       const std::shared_ptr<arrow::Schema>& schema,
                                                       arrow::MemoryPool* pool) {
  if (picked.size() == 1) {
    const RowRef row = hits.rows[static_cast<size_t>(picked[0])];
    return hits.blocks[row.batch]->Copy(row.row, columns, schema, pool);
  }
  std::vector<RowRef> rows;
  for (const int32_t hit : picked) rows.push_back(hits.rows[static_cast<size_t>(hit)]);
  std::vector<std::shared_ptr<arrow::Array>> sources(hits.blocks.size());
  arrow::ArrayVector gathered;
  for (const int column : columns) {
    for (size_t i = 0; i < sources.size(); ++i) sources[i] = hits.blocks[i]->batch().column(column);
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Array> array, GatherColumn(sources, rows, pool));
    gathered.push_back(std::move(array));
  }
  return arrow::RecordBatch::Make(schema, static_cast<int64_t>(rows.size()), std::move(gathered));
}

}  // namespace headrace
