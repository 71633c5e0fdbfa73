#include "lsm/run_reader.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "file/physical_columns.h"
#include "lsm/key_value_batch.h"

namespace headrace {
Result<MergeColumns> MergeColumns::Make(const TableSchema& schema, const MergePolicy& policy,
                                        const std::vector<std::string>& values, bool numbers,
                                        bool hand_out_sequence_and_kind) {
  MergeColumns columns;
  const std::vector<std::string> keys = schema.TrimmedPrimaryKeys();
  HEADRACE_ASSIGN_OR_RETURN(columns.key_order, KeyOrder::OfKey(schema.TypesOf(keys)));
  HEADRACE_ASSIGN_OR_RETURN(columns.sequence_order, SequenceOrderOf(schema, policy));
  columns.read.sequence = numbers || hand_out_sequence_and_kind;
  columns.read.kind = true;
  const int first_value = columns.read.sequence ? 2 : 1;
  columns.number = columns.read.sequence ? 0 : -1;
  columns.kind = first_value - 1;
  const auto position_of = [&](const std::string& name) {
    std::vector<std::string>& read = columns.read.values;
    const auto found = std::find(read.begin(), read.end(), name);
    const auto position = static_cast<int>(found - read.begin());
    if (found == read.end()) read.push_back(name);
    return first_value + position;
  };
  arrow::FieldVector fields;
  if (hand_out_sequence_and_kind) {
    for (const DataField& field : SequenceAndKindFields()) fields.push_back(ToArrowField(field));
    columns.output = {columns.number, columns.kind};
  }
  for (const std::string& name : values) {
    const int index = schema.FieldIndex(name);
    if (index < 0) return NotFound("there is no column '", name, "' to read");
    columns.output.push_back(position_of(name));
    fields.push_back(ToArrowField(schema.fields[static_cast<size_t>(index)]));
  }
  for (const std::string& name : keys) columns.keys.push_back(position_of(name));
  for (const std::string& name : policy.sequence_columns) columns.sequences.push_back(position_of(name));
  columns.output_schema = arrow::schema(std::move(fields));
  return columns;
}

std::shared_ptr<arrow::RecordBatch> MergeColumns::Project(const arrow::RecordBatch& batch) const {
  return arrow::RecordBatch::Make(output_schema, batch.num_rows(), ColumnsAt(batch, output));
}

RunReader::RunReader(const BucketFiles* files, const MergeColumns* columns, std::vector<MergeFile> run,
                     int64_t batch_rows)
    : files_(files), columns_(columns), run_(std::move(run)), batch_rows_(batch_rows) {
  for (const MergeFile& file : run_) unread_rows_ += file.file->meta.row_count;
}

RunReader::RunReader(std::unique_ptr<RunBatches> batches, const MergeColumns* columns, MergeFile place,
                     int64_t rows, bool keys_repeat)
    : columns_(columns), batches_(std::move(batches)), keys_repeat_(keys_repeat), unread_rows_(rows) {
  run_.push_back(std::move(place));
}

std::string RunReader::NameOfRows() const {
  return rows_.file->file == nullptr ? "rows of the write buffer"
                                     : "data file " + rows_.file->file->meta.name;
}

int64_t RunReader::PositionOf(int64_t row) const {
  const int64_t given = rows_.first_row + row;
  return rows_.file->file == nullptr ? given : files_->PositionInFile(rows_.file->file->meta, given);
}

int64_t RunReader::remaining_rows() const { return std::max<int64_t>(0, unread_rows_) + size() - position_; }

Status RunReader::Advance(int64_t position) {
  position_ = position;
  if (position_ < size() || done_) return Status::OK();
  return LoadNext();
}

Result<std::shared_ptr<arrow::RecordBatch>> RunReader::NextBatch() {
  if (batches_ != nullptr) {
    rows_.file = &run_[0];
    return batches_->Next();
  }
  while (true) {
    if (reader_ == nullptr) {
      if (next_file_ == run_.size()) return nullptr;
      rows_.file = &run_[next_file_++];
      rows_.first_row = 0;
      HEADRACE_ASSIGN_OR_RETURN(reader_, files_->Open(rows_.file->file->meta, columns_->read, batch_rows_));
    }
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::RecordBatch> batch, reader_->Next());
    if (batch == nullptr) {
      reader_.reset();
    } else if (batch->num_rows() > 0) {
      return batch;
    }
  }
}

Status RunReader::LoadNext() {
  if (rows_.batch != nullptr) {
    last_key_ = rows_.keys.Encoded(size() - 1);
    rows_.first_row += rows_.batch->num_rows();
    rows_.batch.reset();
  }
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::RecordBatch> batch, NextBatch());
  position_ = 0;
  if (batch == nullptr) {
    done_ = true;
    rows_ = LoadedRows();
    return Status::OK();
  }
  unread_rows_ -= batch->num_rows();
  HEADRACE_RETURN_NOT_OK(Prepare(std::move(batch)));
  HEADRACE_RETURN_NOT_OK(CheckRange());
  return CheckAscending();
}

// The range says which files are merged with each other: a row outside would be shown beside other versions of its key.
Status RunReader::CheckRange() const {
  if (rows_.file->file == nullptr) return Status::OK();
  const TreeFile& file = *rows_.file->file;
  const bool below = rows_.first_row == 0 && rows_.keys.Encoded(0) < file.min_key;
  if (!below && rows_.keys.Encoded(size() - 1) <= file.max_key) return Status::OK();
  return Corruption(NameOfRows(), ": row ", PositionOf(below ? 0 : size() - 1), " lies ",
                    below ? "before the smallest" : "after the largest",
                    " key that its manifest entry gives");
}

Status RunReader::Prepare(std::shared_ptr<arrow::RecordBatch> batch) {
  const auto encode = [&](const KeyOrder& order, const std::vector<int>& positions,
                          KeyColumn* into) -> Status {
    Result<KeyColumn> encoded = order.Encode(ColumnsAt(*batch, positions));
    if (!encoded.ok()) return WithContext(NameOfRows(), encoded.status());
    *into = *std::move(encoded);
    return Status::OK();
  };
  HEADRACE_RETURN_NOT_OK(encode(columns_->key_order, columns_->keys, &rows_.keys));
  if (!columns_->sequences.empty()) {
    HEADRACE_RETURN_NOT_OK(encode(columns_->sequence_order, columns_->sequences, &rows_.order));
  }
  rows_.kinds = static_cast<const arrow::Int8Array&>(*batch->column(columns_->kind)).raw_values();
  if (columns_->number >= 0) {
    rows_.numbers = static_cast<const arrow::Int64Array&>(*batch->column(columns_->number)).raw_values();
  }
  rows_.batch = std::move(batch);
  return Status::OK();
}

Status RunReader::CheckAscending() const {
  const KeyColumn& keys = rows_.keys;
  int64_t wrong = -1;
  if (last_key_.has_value() && *last_key_ >= keys.Encoded(0)) wrong = 0;
  if (keys.is_integer()) {
    const std::span<const int64_t> numbers = keys.integers();
    const auto found = keys_repeat_
                           ? std::adjacent_find(numbers.begin(), numbers.end(), std::greater<>())
                           : std::adjacent_find(numbers.begin(), numbers.end(), std::greater_equal<>());
    if (found != numbers.end()) wrong = found - numbers.begin() + 1;
  } else {
    for (int64_t row = 1; row < keys.size() && wrong < 0; ++row) {
      const int order = keys.Compare(row - 1, keys, row);
      if (order > 0 || (order == 0 && !keys_repeat_)) wrong = row;
    }
  }
  if (wrong < 0) return Status::OK();
  return Corruption(NameOfRows(), ": row ", PositionOf(wrong),
                    " does not come after the row before it in key order");
}

}  // namespace headrace
