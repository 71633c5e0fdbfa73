// The smallest and largest value of a column, as the footer of the Parquet file just written has them.
//
// Java Paimon takes its manifest statistics from the same place, so the two agree: a zero minimum of a float is -0.0, a zero
// maximum 0.0; INT96 and bytes have none, nor have values longer than 4096 bytes. Pure; any thread.
// Source: ParquetSimpleStatsExtractor.
#pragma once

#include <vector>

#include "base/error.h"
#include "format/data_type.h"
#include "format/value.h"

namespace parquet {
class ColumnDescriptor;
class ColumnIndex;
class FileMetaData;
}  // namespace parquet

namespace headrace {

struct Bounds {
  Value min;  // both null: unknown, or no values at all
  Value max;
};

// `leaf` is a leaf column of the atomic type `type`.
Result<Bounds> BoundsFromFooter(const parquet::FileMetaData& footer, int leaf, const DataType& type);

// The largest value of each page as the column index has it, perhaps cut and rounded up. Empty where one is missing, and for types whose
// bounds are not kept in the order of keys.
Result<std::vector<Value>> LargestFromIndex(const parquet::ColumnIndex& index,
                                            const parquet::ColumnDescriptor& column, const DataType& type);

}  // namespace headrace
