// Any values as a partition: the first byte chooses the types, the second the options, then a serialized row. The folder that comes
// out has a name for each column, lies below the table, and two different text values never share one.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "format/binary_row.h"
#include "format/partition_path.h"
#include "io/store_path.h"

namespace {

using namespace headrace;

const std::vector<DataType>& Types() {
  static const std::vector<DataType> types = [] {
    std::vector<DataType> result;
    for (const char* text :
         {"STRING", "INT", "DATE", "TIMESTAMP(9)", "TIME(3)", "DECIMAL(20, 3)", "DOUBLE", "BOOLEAN",
          "CHAR(5)", "TIMESTAMP_LTZ(3)", "BYTES", "FLOAT", "BIGINT", "TIMESTAMP(0)", "TINYINT"}) {
      result.push_back(ParseDataType(text).ValueOrDie());
    }
    return result;
  }();
  return types;
}

void CheckPath(const std::string& path, size_t columns) {
  if (static_cast<size_t>(std::count(path.begin(), path.end(), '/')) != columns) std::abort();
  if (columns > 0 && !CheckStorePath("/t/" + path.substr(0, path.size() - 1)).ok()) std::abort();
}

// What follows the options byte, cut in two, as two values of a text column.
void CheckApart(std::string_view text, const TableOptions& options) {
  const std::vector<DataType> types = {Types()[0]};
  std::vector<DataField> fields(1);
  fields[0].name = "p";
  fields[0].type = types[0];
  std::string paths[2];
  const std::string_view values[2] = {text.substr(0, text.size() / 2), text.substr(text.size() / 2)};
  for (int i = 0; i < 2; ++i) {
    const BinaryRow row = EncodeBinaryRow(std::vector<Value>{std::string(values[i])}, types).ValueOrDie();
    paths[i] = PartitionPath(row, fields, options).ValueOrDie();
    CheckPath(paths[i], 1);
  }
  // Blank text shares the folder of null, as with Java; and the text of that folder's own name.
  const std::string shared = "p=" + EscapePathName(options.partition_default_name) + "/";
  if (values[0] != values[1] && paths[0] == paths[1] && paths[0] != shared) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  TableOptions options;
  options.partition_legacy_name = (data[1] & 1) == 0;
  if (data[1] & 2) options.data_file_path_directory = "data";
  const std::string_view rest(reinterpret_cast<const char*>(data) + 2, size - 2);
  CheckApart(rest, options);
  const auto row = ParseBinaryRow(rest);
  if (!row.ok() || row->arity > 20) return 0;
  std::vector<DataField> fields;
  for (int32_t i = 0; i < row->arity; ++i) {
    DataField& field = fields.emplace_back();
    field.name = i % 2 == 0 ? "c" + std::to_string(i) : "../" + std::to_string(i);
    field.type = Types()[static_cast<size_t>(data[0] + i) % Types().size()];
  }
  const auto path = PartitionPath(*row, fields, options);
  if (path.ok()) CheckPath(*path, fields.size());
  const auto bucket = BucketPath(*row, fields, BucketId(data[0]), options);
  if (bucket.ok() && !CheckStorePath("/t/" + *bucket).ok()) std::abort();
  return 0;
}
