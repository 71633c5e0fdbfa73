// BinaryRow: Paimon's row encoding for partitions, keys and statistics, and the input of its hash.
//
// A BinaryRow is the bytes after the arity prefix: header and null bits, 8-byte slots, padded variable part, little-endian.
// Two rows are equal exactly when their bytes are, as in Java; that is why partitions and keys are compared and hashed as bytes.
// Pure functions; malformed bytes give kCorruption, never a read out of range. Source: BinaryRow, AbstractBinaryWriter,
// SerializationUtils, MurmurHashUtils.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "format/data_type.h"
#include "format/value.h"

namespace headrace {

struct BinaryRow {
  int32_t arity = 0;
  std::string bytes = std::string(8, '\0');  // arity 0: eight zero bytes

  bool operator==(const BinaryRow&) const = default;
  auto operator<=>(const BinaryRow&) const = default;  // byte order: for maps, not Paimon's key order
};

// With the 4-byte big-endian arity in front: the form of manifests.
std::string SerializeBinaryRow(const BinaryRow& row);
void AppendSerialized(const BinaryRow& row, std::string* out);
Result<BinaryRow> ParseBinaryRow(std::string_view bytes);

Result<BinaryRow> EncodeBinaryRow(std::span<const Value> values, std::span<const DataType> types);
Result<std::vector<Value>> DecodeBinaryRow(const BinaryRow& row, std::span<const DataType> types);
// The first types.size() fields of a row that may have more.
Result<std::vector<Value>> DecodeBinaryRowPrefix(const BinaryRow& row, std::span<const DataType> types);

// Encodes rows of Arrow columns; any type, nested ones included. `columns[i]` has ToArrowType(types[i]).
class BinaryRowEncoder {
 public:
  static Result<std::unique_ptr<BinaryRowEncoder>> Make(std::vector<DataType> types,
                                                        std::vector<std::shared_ptr<arrow::Array>> columns);
  virtual ~BinaryRowEncoder() = default;
  // Valid until the next call.
  virtual Result<std::string_view> EncodeRow(int64_t row) = 0;
};

// Java's BinaryRow.hashCode over the row's bytes; the length is a multiple of 4.
int32_t HashBinaryRow(std::string_view row_bytes);

}  // namespace headrace
