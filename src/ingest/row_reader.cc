#include "ingest/row_reader.h"

#include <algorithm>

#include "ingest/value_decoder.h"

namespace headrace::ingest {

bool TableShape::is_key(int column) const {
  return std::find(key_columns.begin(), key_columns.end(), column) != key_columns.end();
}

RowReader::RowReader(const TableShape* table, ValueModes modes)
    : table_(table), modes_(modes), seen_(table->fields.size(), 0) {
  for (size_t i = 0; i < table->fields.size(); ++i)
    columns_.emplace(table->fields[i].name, static_cast<int>(i));
}

int RowReader::FindColumn(std::string_view name) const {
  const auto found = columns_.find(name);
  return found == columns_.end() ? kUnknown : found->second;
}

int RowReader::ColumnAt(size_t position, std::string_view name) {
  if (position < order_.size() && order_[position].name == name) return order_[position].column;
  const int column = !skipped_.empty() && name == skipped_ ? kSkipped : FindColumn(name);
  if (column == kUnknown) return kUnknown;
  if (position >= order_.size()) order_.resize(position + 1);
  order_[position] = {std::string(name), column};
  return column;
}

bool RowReader::AppendMissing(int column, Strictness strictness, RowBuffer* out,
                              FieldProblem* problem) const {
  const DataField& field = table_->fields[column];
  ColumnBuffer& cells = out->column(column);
  if (field.type.nullable) {
    cells.AppendNull();
    return true;
  }
  if (strictness == Strictness::kKeyOnly && !table_->is_key(column)) {
    cells.AppendZero();
    return true;
  }
  *problem = {field.name, "is missing, but the column is NOT NULL"};
  return false;
}

bool RowReader::AppendField(size_t position, std::string_view name, const JsonToken& value,
                            const std::vector<ValueShape>* shapes, Strictness strictness, RowBuffer* out,
                            std::vector<int>* unavailable, FieldProblem* problem) {
  const int column = ColumnAt(position, name);
  if (column == kSkipped) return true;
  if (column == kUnknown) {
    *problem = {
        std::string(name),
        "is no column of the table: the source has changed its shape, or it is another table's event"};
    return false;
  }
  if (seen_[column] == row_) {
    *problem = {std::string(name), "comes twice in the row"};
    return false;
  }
  seen_[column] = row_;
  if (unavailable != nullptr && IsUnavailable(value)) {
    unavailable->push_back(column);
    return true;
  }
  ColumnBuffer& cells = out->column(column);
  const ValueShape& shape = shapes == nullptr ? kPlainShape : (*shapes)[column];
  if (AppendValue(value, shape, modes_, &cells, &problem->reason)) return true;
  if (strictness == Strictness::kKeyOnly && !table_->is_key(column)) {
    cells.TruncateTo(out->rows());
    if (AppendMissing(column, strictness, out, problem)) return true;
  }
  problem->field = name;
  return false;
}

bool RowReader::Append(const JsonToken& object, const std::vector<ValueShape>* shapes, Strictness strictness,
                       RowBuffer* out, std::vector<int>* unavailable, FieldProblem* problem) {
  ++row_;
  size_t position = 0;
  for (const JsonToken* name = object.begin(); name != object.end(); name = name[1].next(), ++position) {
    if (!AppendField(position, name->view(), name[1], shapes, strictness, out, unavailable, problem))
      return false;
  }
  for (size_t column = 0; column < table_->fields.size(); ++column) {
    if (seen_[column] != row_ && !AppendMissing(static_cast<int>(column), strictness, out, problem))
      return false;
  }
  return true;
}

bool RowReader::Append(std::span<const ImageField> image, const std::vector<ValueShape>* shapes,
                       Strictness strictness, RowBuffer* out, std::vector<int>* missing,
                       FieldProblem* problem) {
  ++row_;
  for (size_t position = 0; position < image.size(); ++position) {
    if (!AppendField(position, image[position].name, *image[position].value, shapes, strictness, out, nullptr,
                     problem))
      return false;
  }
  for (size_t i = 0; i < table_->fields.size(); ++i) {
    const int column = static_cast<int>(i);
    if (seen_[column] == row_) continue;
    if (missing != nullptr) {
      missing->push_back(column);
    } else if (!AppendMissing(column, strictness, out, problem)) {
      return false;
    }
  }
  return true;
}

}  // namespace headrace::ingest
