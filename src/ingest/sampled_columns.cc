#include "ingest/sampled_columns.h"

#include <algorithm>

namespace headrace::ingest {

void PlainColumns::Add(const JsonToken& row, const std::string& left_out) {
  for (const JsonToken* name = row.begin(); name != row.end(); name = name[1].next()) {
    if (!left_out.empty() && name->view() == left_out) continue;
    TypeOf(name->view()).AddJson(name[1]);
  }
}

PlainType& PlainColumns::TypeOf(std::string_view name) {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found != names_.end()) return types_[found - names_.begin()];
  names_.emplace_back(name);
  return types_.emplace_back();
}

Result<std::vector<DataField>> PlainColumns::Fields(const ValueModes& modes) const {
  std::vector<DataField> fields;
  for (size_t i = 0; i < names_.size(); ++i) {
    DataField field;
    field.name = names_[i];
    HEADRACE_ASSIGN_OR_RETURN(field.type, types_[i].TypeOf(names_[i], modes));
    fields.push_back(std::move(field));
  }
  return fields;
}

std::vector<DataField> PlainColumns::FieldsOfText() const {
  std::vector<DataField> fields;
  for (size_t i = 0; i < names_.size(); ++i) {
    DataField field;
    field.name = names_[i];
    field.type = types_[i].TypeOfText();
    fields.push_back(std::move(field));
  }
  return fields;
}

Result<NewTable> FinishTable(std::vector<DataField> fields, std::vector<std::string> message_key,
                             const CreateRequest& request) {
  NewTable table;
  table.fields = std::move(fields);
  table.primary_keys = request.primary_key.empty() ? std::move(message_key) : request.primary_key;
  table.partition_keys = request.partition_by;
  table.options = request.table_options;
  if (table.primary_keys.empty()) {
    return Invalid("creating the table: nothing says what its primary key is", kKeyAdvice);
  }
  return table;
}

std::vector<std::string> KeyColumnsOf(std::string_view key_line) {
  std::vector<std::string> names;
  JsonTape tape;
  if (!tape.Parse(key_line)) return names;
  const JsonToken* key = &tape.root();
  const auto is_object = [](const JsonToken* token) {
    return token != nullptr && token->kind == JsonKind::kObject;
  };
  if (!is_object(key)) return names;
  const JsonToken* inside = FindMember(*key, "key");
  if (is_object(inside) || (inside != nullptr && FindMember(*key, "topic") != nullptr)) key = inside;
  if (!is_object(key)) return names;
  const JsonToken* payload = FindMember(*key, "payload");
  if (payload != nullptr && FindMember(*key, "schema") != nullptr) key = payload;
  if (!is_object(key)) return names;
  for (const JsonToken* name = key->begin(); name != key->end(); name = name[1].next())
    names.emplace_back(name->view());
  return names;
}

}  // namespace headrace::ingest
