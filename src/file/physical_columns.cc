#include "file/physical_columns.h"

#include <string>
#include <string_view>

namespace headrace {

std::vector<DataField> KeyFields(const TableSchema& schema) {
  std::vector<DataField> fields;
  for (DataField field : schema.FieldsOf(schema.TrimmedPrimaryKeys())) {
    field.id += kKeyFieldIdBase;
    field.name.insert(0, kKeyPrefix);
    field.description.reset();
    field.default_value.reset();
    fields.push_back(std::move(field));
  }
  return fields;
}

std::vector<DataField> KeyValueFields(const TableSchema& schema) {
  std::vector<DataField> fields = KeyFields(schema);
  const std::vector<DataField> own = SequenceAndKindFields();
  fields.insert(fields.end(), own.begin(), own.end());
  fields.insert(fields.end(), schema.fields.begin(), schema.fields.end());
  return fields;
}

std::vector<DataField> SequenceAndKindFields() {
  DataField sequence;
  sequence.id = kSequenceFieldId;
  sequence.name = kSequenceColumn;
  sequence.type.root = TypeRoot::kBigInt;
  sequence.type.nullable = false;
  DataField kind;
  kind.id = kKindFieldId;
  kind.name = kKindColumn;
  kind.type.root = TypeRoot::kTinyInt;
  kind.type.nullable = false;
  return {std::move(sequence), std::move(kind)};
}

std::string_view ShortName(RowKind kind) {
  switch (kind) {
    case RowKind::kInsert: return "+I";
    case RowKind::kUpdateBefore: return "-U";
    case RowKind::kUpdateAfter: return "+U";
    case RowKind::kDelete: return "-D";
  }
  return "?";
}

}  // namespace headrace
