// Any bytes as a row: the first byte chooses the types, the rest is the serialized row. What decodes must encode, and decode
// again to the same values.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "format/binary_row.h"
#include "format/column_stats.h"
#include "format/partition_path.h"

namespace {

using namespace headrace;

const std::vector<DataType>& AllTypes() {
  static const std::vector<DataType> types = [] {
    std::vector<DataType> result;
    for (const char* text :
         {"STRING", "BYTES", "DECIMAL(20, 3)", "TIMESTAMP(9)", "INT", "DOUBLE", "BOOLEAN", "DATE", "TIME(3)",
          "FLOAT", "DECIMAL(5, 2)", "TIMESTAMP(3)", "TINYINT", "SMALLINT", "BIGINT", "ARRAY<INT>"}) {
      result.push_back(ParseDataType(text).ValueOrDie());
    }
    return result;
  }();
  return types;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  auto row = ParseBinaryRow({reinterpret_cast<const char*>(data) + 1, size - 1});
  if (!row.ok() || row->arity > 100) return 0;
  std::vector<DataType> types;
  std::vector<DataField> fields;
  for (int32_t i = 0; i < row->arity; ++i) {
    types.push_back(AllTypes()[static_cast<size_t>(data[0] + i) % AllTypes().size()]);
    DataField& field = fields.emplace_back();
    field.name = "c" + std::to_string(i);
    field.type = types.back();
  }
  (void)HashBinaryRow(row->bytes);
  (void)PartitionPath(*row, fields, TableOptions{});
  SimpleStats stats;
  stats.min_values = *row;
  stats.max_values = *row;
  auto columns = ReadStats(stats, std::nullopt, fields);
  if (columns.ok()) {
    for (size_t i = 0; i < columns->size(); ++i)
      (void)ApplyStatsMode((*columns)[i], {StatsMode::kTruncate, 3}, types[i]);
  }
  auto values = DecodeBinaryRow(*row, types);
  if (!values.ok()) return 0;
  for (size_t i = 0; i < types.size(); ++i) (void)ToText((*values)[i], types[i]);
  const BinaryRow again = EncodeBinaryRow(*values, types).ValueOrDie();
  const std::vector<Value> back = DecodeBinaryRow(again, types).ValueOrDie();
  for (size_t i = 0; i < back.size(); ++i) {
    if (CompareValues(back[i], (*values)[i]) != 0) std::abort();
  }
  return 0;
}
