// Any text as a snapshot, a tag and a schema; what parses must serialize and parse again to the same.
#include <cstdint>
#include <cstdlib>

#include "format/snapshot.h"
#include "format/table_options.h"
#include "format/table_schema.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto snapshot = ParseSnapshot(text, "fuzz");
  if (snapshot.ok() && ParseSnapshot(SerializeSnapshot(*snapshot), "again").ValueOrDie() != *snapshot)
    std::abort();
  auto tag = ParseTag(text, "fuzz");
  if (tag.ok() && ParseTag(SerializeTag(*tag), "again").ValueOrDie() != *tag) std::abort();
  auto schema = ParseTableSchema(text, "fuzz");
  if (!schema.ok()) return 0;
  if (!(ParseTableSchema(SerializeTableSchema(*schema), "again").ValueOrDie() == *schema)) std::abort();
  (void)ParseTableOptions(*schema, Access::kRead);
  (void)ParseTableOptions(*schema, Access::kWrite);
  (void)ToArrowSchema(schema->fields);
  return 0;
}
