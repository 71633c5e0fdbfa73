#include "tests/scenarios/rows.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/buffer.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "file/physical_columns.h"

namespace headrace::scenario {
namespace {

constexpr size_t kMostRowsTold = 12;

Result<Value> ValueOf(const Cell& cell, const DataType& type) {
  if (!cell.has_value()) return Value{};
  return ValueFromText(*cell, type);
}

}  // namespace

Result<std::vector<Value>> ValuesOf(const std::vector<DataField>& fields, const std::vector<Cell>& cells) {
  if (fields.size() != cells.size())
    return Invalid("'", Print(cells), "' has ", cells.size(), " values for ", fields.size(), " columns");
  std::vector<Value> values;
  for (size_t i = 0; i < fields.size(); ++i) {
    auto value = ValueOf(cells[i], fields[i].type);
    if (!value.ok()) return WithContext("column " + fields[i].name, value.status());
    values.push_back(std::move(*value));
  }
  return values;
}

Result<std::shared_ptr<arrow::RecordBatch>> BatchOf(const std::vector<DataField>& fields,
                                                    const std::vector<Row>& rows) {
  std::vector<arrow::ArrayVector> cells(fields.size());
  for (const Row& row : rows) {
    HEADRACE_ASSIGN_OR_RETURN(const std::vector<Value> values, ValuesOf(fields, row.cells));
    for (size_t i = 0; i < fields.size(); ++i) {
      HEADRACE_ASSIGN_OR_RETURN(auto cell,
                                ArrayOf(values[i], fields[i].type, 1, arrow::default_memory_pool()));
      cells[i].push_back(std::move(cell));
    }
  }
  arrow::ArrayVector columns;
  for (size_t i = 0; i < fields.size(); ++i) {
    // One empty piece, so that no rows make a column too.
    HEADRACE_ASSIGN_OR_RETURN(auto none, ArrayOf(Value{}, fields[i].type, 0, arrow::default_memory_pool()));
    cells[i].push_back(std::move(none));
    HEADRACE_ASSIGN_OR_RETURN(auto column, arrow::Concatenate(cells[i]));
    columns.push_back(std::move(column));
  }
  return arrow::RecordBatch::Make(ToArrowSchema(fields), static_cast<int64_t>(rows.size()),
                                  std::move(columns));
}

std::shared_ptr<arrow::Array> KindsOf(const std::vector<Row>& rows) {
  std::vector<int8_t> kinds;
  for (const Row& row : rows) kinds.push_back(row.kind);
  const auto count = static_cast<int64_t>(kinds.size());
  return std::make_shared<arrow::Int8Array>(count, arrow::Buffer::FromVector(std::move(kinds)));
}

Status AppendRows(const arrow::RecordBatch& batch, const std::vector<DataField>& fields,
                  std::vector<Row>* rows) {
  const auto columns = static_cast<int>(fields.size());
  if (batch.num_columns() < columns)
    return Corruption("a reader gave ", batch.num_columns(), " columns where ", columns, " were asked for");
  const size_t first = rows->size();
  rows->resize(first + static_cast<size_t>(batch.num_rows()));
  for (int c = 0; c < columns; ++c) {
    const DataType& type = fields[static_cast<size_t>(c)].type;
    for (int64_t i = 0; i < batch.num_rows(); ++i) {
      HEADRACE_ASSIGN_OR_RETURN(const Value value, ValueAt(*batch.column(c), i, type));
      (*rows)[first + static_cast<size_t>(i)].cells.push_back(IsNull(value) ? Cell()
                                                                            : Cell(ToText(value, type)));
    }
  }
  if (batch.num_columns() == columns) return Status::OK();
  const auto& kinds = static_cast<const arrow::Int8Array&>(*batch.column(columns));
  for (int64_t i = 0; i < batch.num_rows(); ++i)
    (*rows)[first + static_cast<size_t>(i)].kind = kinds.Value(i);
  return Status::OK();
}

Result<std::vector<Row>> ReadAll(arrow::RecordBatchReader* reader, const std::vector<DataField>& fields) {
  std::vector<Row> rows;
  while (true) {
    std::shared_ptr<arrow::RecordBatch> batch;
    HEADRACE_RETURN_NOT_OK(reader->ReadNext(&batch));
    if (batch == nullptr) return rows;
    HEADRACE_RETURN_NOT_OK(AppendRows(*batch, fields, &rows));
  }
}

Result<std::vector<Row>> Normalised(const std::vector<DataField>& fields, const std::vector<Row>& rows) {
  std::vector<Row> normalised;
  for (const Row& row : rows) {
    HEADRACE_ASSIGN_OR_RETURN(const std::vector<Value> values, ValuesOf(fields, row.cells));
    Row& made = normalised.emplace_back();
    made.kind = row.kind;
    for (size_t i = 0; i < fields.size(); ++i)
      made.cells.push_back(IsNull(values[i]) ? Cell() : Cell(ToText(values[i], fields[i].type)));
  }
  return normalised;
}

std::vector<Row> Sorted(std::vector<Row> rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::vector<Row> SortedByKey(std::vector<Row> rows, const std::vector<size_t>& key) {
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    for (const size_t i : key)
      if (a.cells[i] != b.cells[i]) return a.cells[i] < b.cells[i];
    return false;
  });
  return rows;
}

std::optional<std::string> Difference(const std::vector<Row>& expected, const std::vector<Row>& found,
                                      bool with_kind) {
  if (expected == found) return std::nullopt;
  const std::vector<Row> want = Sorted(expected), got = Sorted(found);
  std::vector<Row> missing, surplus;
  std::set_difference(want.begin(), want.end(), got.begin(), got.end(), std::back_inserter(missing));
  std::set_difference(got.begin(), got.end(), want.begin(), want.end(), std::back_inserter(surplus));
  std::string text = std::to_string(found.size()) + " rows, expected " + std::to_string(expected.size());
  const auto tell = [&](const std::string& title, const std::vector<Row>& rows) {
    for (size_t i = 0; i < std::min(rows.size(), kMostRowsTold); ++i)
      text += "\n  " + title + ": " + Print(rows[i], with_kind);
    if (rows.size() > kMostRowsTold)
      text += "\n  " + title + ": " + std::to_string(rows.size() - kMostRowsTold) + " more";
  };
  tell("missing", missing);
  tell("not expected", surplus);
  if (missing.empty() && surplus.empty()) {
    text = "the same rows in another order:";
    for (size_t i = 0; i < std::min(found.size(), kMostRowsTold); ++i)
      text += "\n  " + Print(found[i], with_kind);
  }
  return text;
}

}  // namespace headrace::scenario
