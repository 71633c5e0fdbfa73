// Any text as the value of each kind of option, as a table's options (a line key=value each), as names of databases, tables and jobs.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "catalog/catalog.h"
#include "format/option_values.h"
#include "format/table_options.h"
#include "ingest/position.h"
#include "io/store_path.h"

namespace {

using namespace headrace;

void CheckOptions(std::string_view text) {
  TableSchema schema;
  schema.fields = ParseColumns("k INT NOT NULL, v STRING, t TIMESTAMP(3)").ValueOrDie();
  schema.primary_keys = {"k"};
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    schema.options[std::string(line.substr(0, equals))] = line.substr(equals + 1);
  }
  for (const Access access : {Access::kRead, Access::kWrite}) {
    const auto options = ParseTableOptions(schema, access);
    if (!options.ok()) continue;
    // What goes into paths leads nowhere else.
    for (const std::string& prefix : {options->data_file_prefix, options->changelog_file_prefix}) {
      if (access == Access::kWrite && !CheckStorePath("/t/bucket-0/" + prefix + "x").ok()) std::abort();
    }
    if (!options->data_file_path_directory.empty() &&
        !CheckStorePath("/t/" + options->data_file_path_directory).ok())
      std::abort();
  }
}

// A name that is taken is a folder or a file of its own.
void CheckNames(std::string_view text) {
  const auto table = ParseTableIdentifier(text);
  if (table.ok()) {
    const std::string path = "/w/" + table->database + ".db/" + table->table;
    if (!CheckStorePath(path).ok() || NameIn(path) != table->table) std::abort();
  }
  if (ingest::CheckJobName(text).ok()) {
    const std::string path = "/t/consumer/consumer-headrace-" + std::string(text);
    if (!CheckStorePath(path).ok() || ParentOf(path) != "/t/consumer") std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)ParseBool(text);
  (void)ParseInt(text, -5, 1 << 20);
  (void)ParseStatsMode(text);
  (void)ParseStatsModeByLevel(text);
  (void)SplitList(text);
  const auto bytes = ParseMemorySize(text);
  if (bytes.ok() && *bytes < 0) std::abort();
  (void)ParseDurationMs(text);
  (void)AvroCodecFromOption(text);
  CheckOptions(text);
  CheckNames(text);
  return 0;
}
