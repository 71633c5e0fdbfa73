// Cells of Arrow columns as text, by their Paimon type.
#include "api/cell_text.h"

#include <arrow/array.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "file/json_lines.h"
#include "headrace/table.h"

namespace headrace {

Result<std::vector<DataField>> FieldsOfSchema(const arrow::Schema& schema) {
  std::vector<DataField> fields;
  for (const std::shared_ptr<arrow::Field>& field : schema.fields()) {
    const int key = field->metadata() == nullptr ? -1 : field->metadata()->FindKey(kTypeMetadataKey);
    DataField known;
    known.id = static_cast<int32_t>(fields.size());
    known.name = field->name();
    HEADRACE_ASSIGN_OR_RETURN(
        known.type, key < 0 ? FromArrowType(*field->type()) : ParseDataType(field->metadata()->value(key)));
    fields.push_back(std::move(known));
  }
  return fields;
}

void AppendCellText(const arrow::Array& column, int64_t row, const DataType& type, std::string* out) {
  if (column.IsNull(row)) return;
  if (type.root == TypeRoot::kChar || type.root == TypeRoot::kVarChar) {
    *out += static_cast<const arrow::StringArray&>(column).GetView(row);
    return;
  }
  const size_t start = out->size();
  AppendJsonValue(column, row, type, out);
  // Dates, decimals and the like are JSON strings without any escape inside.
  const bool quoted = !type.is_nested() && out->size() >= start + 2 && (*out)[start] == '"';
  if (quoted) {
    out->pop_back();
    out->erase(start, 1);
  }
}

}  // namespace headrace
