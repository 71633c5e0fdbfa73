// The exact values of INT96 timestamps, which Arrow's reader wraps around silently.
//
// INT96 is eight bytes of nanoseconds within a day (signed: Java's writer gives negative ones before 1970) and four bytes of
// Julian day. Arrow reads the nesting and the nulls; the values are read a second time here, raw, and put in their place in the unit that the
// declared type has. A value outside what int64 nanoseconds hold is kCorruption naming the column, never a wrapped date.
// One object a file, moving forward with the batches. Source: ParquetRowDataWriter.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "format/data_type.h"

namespace parquet {
class ParquetFileReader;
}

namespace headrace {

class Int96Values {
 public:
  // `file` outlives this. `leaves`: the leaf columns of one top-level column, in order.
  static std::unique_ptr<Int96Values> Make(parquet::ParquetFileReader* file, const std::vector<int>& leaves);
  virtual ~Int96Values() = default;

  // The next rows of the column with the INT96 timestamps inside replaced. May throw what Parquet throws.
  virtual Result<std::shared_ptr<arrow::Array>> Replace(const std::string& column, const arrow::Array& array,
                                                        const DataType& declared,
                                                        arrow::MemoryPool* pool) = 0;
};

// Whether any of the leaves is stored as INT96.
bool HasInt96(const parquet::ParquetFileReader& file, const std::vector<int>& leaves);

}  // namespace headrace
