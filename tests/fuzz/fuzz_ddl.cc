// Any text as a type, a column list, and a table: the first line its columns, each further line an option key=value.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "format/data_type.h"
#include "format/table_options.h"
#include "format/table_schema.h"
#include "format/value.h"

namespace {

using namespace headrace;

void CheckTable(std::string_view text) {
  const size_t end = text.find('\n');
  auto fields = ParseColumns(text.substr(0, end));
  if (!fields.ok()) return;
  NewTable table;
  table.primary_keys = {(*fields)[0].name};
  table.fields = *std::move(fields);
  while (end != std::string_view::npos) {
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    const std::string_view line = text.substr(0, text.find('\n'));
    const size_t equals = line.find('=');
    if (equals != std::string_view::npos)
      table.options[std::string(line.substr(0, equals))] = line.substr(equals + 1);
    if (text.find('\n') == std::string_view::npos) break;
  }
  auto schema = MakeTableSchema(std::move(table), 0);
  if (!schema.ok()) return;
  auto back = ParseTableSchema(SerializeTableSchema(*schema), "again");
  // Names and options that are not UTF-8 are written as replacement characters: those may differ.
  if (!back.ok() && !IsKind(back.status(), ErrorKind::kCorruption)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto type = ParseDataType(text);
  if (type.ok() && !(ParseDataType(ToSql(*type)).ValueOrDie() == *type)) std::abort();
  CheckTable(text);
  (void)ParseMemorySize(text);
  (void)ParseDurationMs(text);
  for (const char* name :
       {"DECIMAL(38, 5)", "TIMESTAMP(9)", "DATE", "TIME(3)", "DOUBLE", "BIGINT", "BYTES", "BOOLEAN"}) {
    const DataType known = ParseDataType(name).ValueOrDie();
    auto value = ValueFromText(text, known);
    if (value.ok() && CompareValues(ValueFromText(ToText(*value, known), known).ValueOrDie(), *value) != 0)
      std::abort();
  }
  return 0;
}
