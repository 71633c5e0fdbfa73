// Rows of Arrow columns as Avro records, the form in which Java keeps data files with file.format = avro.
//
// The schema is Java's: a nullable type is a union with null in front; DECIMAL is bytes, TIME and TIMESTAMP count milliseconds, above precision
// 3 microseconds; a map whose key is no text is an array of records. TIME above precision 3 and TIMESTAMP above 6 have no Avro form. A decoder
// takes the columns of the writer's schema by name and whatever else stands there is skipped. Pure; damaged bytes are kCorruption.
// One encoder or decoder, one thread. Source: AvroSchemaConverter, FieldWriterFactory, FieldReaderFactory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "format/avro_bytes.h"
#include "format/avro_schema.h"
#include "format/data_type.h"

namespace headrace {

// The header's schema of a file with these columns. kUnsupported names the column whose type has no Avro form.
Result<std::string> AvroSchemaOf(const std::vector<DataField>& fields);

class AvroRowEncoder {
 public:
  // `columns[i]` has ToArrowType(fields[i].type), which has an Avro form.
  static Result<std::unique_ptr<AvroRowEncoder>> Make(const std::vector<DataField>& fields,
                                                      const arrow::ArrayVector& columns);
  virtual ~AvroRowEncoder() = default;
  virtual Status AppendRow(int64_t row, std::string* out) const = 0;
};

class AvroRowDecoder {
 public:
  // `fields` are wanted, by name and with the types they were written with; all are in `schema`, else kCorruption.
  static Result<std::unique_ptr<AvroRowDecoder>> Make(AvroSchema schema, const std::vector<DataField>& fields,
                                                      std::string_view origin, arrow::MemoryPool* pool);
  virtual ~AvroRowDecoder() = default;
  // One record; false when the bytes are none.
  virtual Result<bool> TakeRow(AvroCursor* cursor) = 0;
  // The rows taken since the last call, a column a field.
  virtual Result<arrow::ArrayVector> Finish() = 0;
};

}  // namespace headrace
