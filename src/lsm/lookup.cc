#include "lsm/lookup.h"

#include <algorithm>
#include <utility>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "file/physical_columns.h"
#include "lsm/gather.h"
#include "lsm/key_value_batch.h"

namespace headrace {
namespace {

constexpr int64_t kBatchRows = 8192;

// What has been found so far: rows picked out of batches, in the order they were met.
struct Found {
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  std::vector<RowRef> rows;
  std::vector<LookupRows::Place> places;
  std::vector<int32_t> row_of_key;
};

class LevelLookup final : public TreeLookup {
 public:
  LevelLookup(BucketFiles files, Levels levels, KeyOrder order, size_t key_columns, ReadColumns read,
              std::shared_ptr<arrow::Schema> schema)
      : files_(std::move(files)),
        levels_(std::move(levels)),
        order_(std::move(order)),
        key_columns_(key_columns),
        read_(std::move(read)),
        schema_(std::move(schema)) {
    // Positions are physical: deleted rows are counted here, so the reader must not leave them out.
    deletions_ = std::exchange(files_.deletions, nullptr);
  }

  Result<LookupRows> Find(const KeyColumn& keys, Level from) const override {
    Found found;
    found.row_of_key.assign(static_cast<size_t>(keys.size()), -1);
    for (const SortedRun& run : levels_.runs()) {
      if (run.level < std::max(from, Level(1))) continue;
      HEADRACE_RETURN_NOT_OK(FindInRun(run, keys, &found));
    }
    return Gather(std::move(found));
  }

 private:
  Status FindInRun(const SortedRun& run, const KeyColumn& keys, Found* found) const {
    int64_t begin = 0;
    for (const TreeFilePtr& file : run.files) {
      begin = keys.Bound(begin, keys.size(), order_.ColumnOf(file->min_key), 0, /*upper=*/false);
      const int64_t end = keys.Bound(begin, keys.size(), order_.ColumnOf(file->max_key), 0, /*upper=*/true);
      const auto is_open = [](int32_t row) { return row < 0; };
      if (std::any_of(found->row_of_key.begin() + begin, found->row_of_key.begin() + end, is_open)) {
        HEADRACE_RETURN_NOT_OK(FindInFile(file, keys, begin, end, found));
      }
      begin = end;
    }
    return Status::OK();
  }

  Status FindInFile(const TreeFilePtr& file, const KeyColumn& keys, int64_t begin, int64_t end,
                    Found* found) const {
    HEADRACE_ASSIGN_OR_RETURN(const std::unique_ptr<DataFileReader> reader,
                              files_.Open(file->meta, read_, kBatchRows));
    const DeletionVector* deleted = DeletedOf(file->meta.name);
    int64_t position = 0;
    while (begin < end) {
      HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::RecordBatch> batch, reader->Next());
      if (batch == nullptr) break;
      Result<KeyColumn> encoded = order_.Encode(
          {batch->columns().begin(), batch->columns().begin() + static_cast<int64_t>(key_columns_)});
      if (!encoded.ok()) return WithContext("data file " + file->meta.name, encoded.status());
      const auto index = static_cast<uint32_t>(found->batches.size());
      for (int64_t row = 0; begin < end; ++begin) {
        row = encoded->Bound(row, batch->num_rows(), keys, begin, /*upper=*/false);
        if (row == batch->num_rows()) break;
        int32_t& open = found->row_of_key[static_cast<size_t>(begin)];
        if (open >= 0 || encoded->Compare(row, keys, begin) != 0) continue;
        if (deleted != nullptr && deleted->IsDeleted(position + row)) continue;
        open = static_cast<int32_t>(found->rows.size());
        found->rows.push_back({index, static_cast<uint32_t>(row)});
        found->places.push_back({file, position + row});
      }
      position += batch->num_rows();
      if (!found->rows.empty() && found->rows.back().batch == index) found->batches.push_back(batch);
    }
    return Status::OK();
  }

  const DeletionVector* DeletedOf(const std::string& file) const {
    if (deletions_ == nullptr) return nullptr;
    const auto found = deletions_->find(file);
    return found == deletions_->end() ? nullptr : found->second.get();
  }

  Result<LookupRows> Gather(Found found) const {
    std::vector<std::shared_ptr<arrow::RecordBatch>> shown;
    for (const std::shared_ptr<arrow::RecordBatch>& batch : found.batches) {
      arrow::ArrayVector columns = batch->columns();
      columns.erase(columns.begin(), columns.begin() + static_cast<int64_t>(key_columns_));
      shown.push_back(arrow::RecordBatch::Make(schema_, batch->num_rows(), std::move(columns)));
    }
    LookupRows rows;
    rows.row_of_key = std::move(found.row_of_key);
    rows.places = std::move(found.places);
    if (shown.empty()) {
      HEADRACE_ASSIGN_OR_RETURN(
          rows.rows, arrow::RecordBatch::MakeEmpty(
                         schema_, files_.pool == nullptr ? arrow::default_memory_pool() : files_.pool));
    } else {
      HEADRACE_ASSIGN_OR_RETURN(rows.rows, GatherRows(shown, found.rows, files_.pool));
    }
    return rows;
  }

  BucketFiles files_;
  std::shared_ptr<const DeletionVectors> deletions_;
  Levels levels_;
  KeyOrder order_;
  size_t key_columns_;
  ReadColumns read_;
  std::shared_ptr<arrow::Schema> schema_;  // of the rows handed out
};

}  // namespace

Result<std::unique_ptr<TreeLookup>> TreeLookup::Open(BucketFiles files, Levels levels,
                                                     std::vector<std::string> values,
                                                     LookupCache* /*cache*/) {
  const TableSchema& schema = *files.schema;
  const std::vector<std::string> keys = schema.TrimmedPrimaryKeys();
  HEADRACE_ASSIGN_OR_RETURN(KeyOrder order, KeyOrder::OfKey(schema.TypesOf(keys)));
  std::vector<DataField> fields = SequenceAndKindFields();
  for (const std::string& name : values) {
    const int index = schema.FieldIndex(name);
    if (index < 0) return NotFound("there is no column '", name, "' to look up");
    fields.push_back(schema.fields[static_cast<size_t>(index)]);
  }
  ReadColumns read{.keys = true, .sequence = true, .kind = true, .values = std::move(values)};
  return std::make_unique<LevelLookup>(std::move(files), std::move(levels), std::move(order), keys.size(),
                                       std::move(read), ToArrowSchema(fields));
}

}  // namespace headrace
