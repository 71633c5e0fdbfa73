#include "read/key_text.h"

#include <vector>

#include "base/text.h"
#include "format/value.h"

namespace headrace {

Result<std::string> PartitionText(const Table& table, const BinaryRow& partition) {
  const std::vector<std::string>& names = table.schema->partition_keys;
  const std::vector<DataType> types = table.schema->TypesOf(names);
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<Value> values, DecodeBinaryRow(partition, types));
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) {
    text += (i == 0 ? "" : "/") + names[i] + "=" + (IsNull(values[i]) ? "NULL" : ToText(values[i], types[i]));
  }
  return text;
}

Result<std::string> KeyText(const Table& table, const BinaryRow& key) {
  if (key.arity == 0) return std::string();
  const std::vector<DataType> types = table.schema->TypesOf(table.schema->TrimmedPrimaryKeys());
  HEADRACE_ASSIGN_OR_RETURN(std::vector<Value> values, DecodeBinaryRow(key, types));
  std::vector<std::string> texts;
  for (size_t i = 0; i < values.size(); ++i) texts.push_back(ToText(values[i], types[i]));
  return Joined(texts);
}

}  // namespace headrace
