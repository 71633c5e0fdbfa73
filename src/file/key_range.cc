#include "file/key_range.h"

#include <string>
#include <vector>

#include <parquet/metadata.h>

#include "file/footer_bounds.h"
#include "file/physical_columns.h"
#include "format/value.h"

namespace headrace {
namespace {

// The leaf that holds a key column: its copy, or in thin files the value itself. -1: neither is there.
int LeafOf(const parquet::FileMetaData& footer, const std::string& key) {
  const int copy = footer.schema()->ColumnIndex(std::string(kKeyPrefix) + key);
  return copy >= 0 ? copy : footer.schema()->ColumnIndex(key);
}

}  // namespace

Status CheckKeyRange(const parquet::FileMetaData& footer, const TableSchema& written,
                     const DataFileMeta& file) {
  const std::vector<std::string> keys = written.TrimmedPrimaryKeys();
  if (keys.empty() || file.min_key.arity == 0) return Status::OK();
  const std::vector<DataType> types = {written.TypesOf({keys[0]})[0]};
  if (types[0].root == TypeRoot::kFloat || types[0].root == TypeRoot::kDouble) return Status::OK();
  const int leaf = LeafOf(footer, keys[0]);
  if (leaf < 0) return Status::OK();
  HEADRACE_ASSIGN_OR_RETURN(const Bounds held, BoundsFromFooter(footer, leaf, types[0]));
  if (IsNull(held.min) || IsNull(held.max)) return Status::OK();
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<Value> low, DecodeBinaryRowPrefix(file.min_key, types));
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<Value> high, DecodeBinaryRowPrefix(file.max_key, types));
  if (!FitsType(held.min, types[0]) || !FitsType(held.max, types[0])) return Status::OK();
  if (CompareValues(held.min, low[0]) >= 0 && CompareValues(held.max, high[0]) <= 0) return Status::OK();
  return Corruption("its keys reach from ", keys[0], " ", ToText(held.min, types[0]), " to ",
                    ToText(held.max, types[0]), ", its manifest entry says from ", ToText(low[0], types[0]),
                    " to ", ToText(high[0], types[0]));
}

}  // namespace headrace
