// Column names and values into one row of the table: a JSON object, or an image put together from several places.
//
// Names are matched by the order they came in last time, so a stream of equal shapes costs one comparison a field. A name that the table
// does not have, a name that comes twice, a missing or null value where none may be: refused with the field's name. A missing nullable
// column is null. Nothing is closed here: the caller closes the row or takes it back. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "format/data_type.h"
#include "ingest/event.h"
#include "ingest/json_tape.h"
#include "ingest/row_buffer.h"
#include "ingest/value_shape.h"

namespace headrace::ingest {

// The table as decoders see it.
struct TableShape {
  std::vector<DataField> fields;
  std::vector<int> key_columns;  // in primary-key order; empty: an append table
  bool keep_update_before =
      false;  // changelog-producer=input: a change event becomes -U and +U, not +U alone

  bool is_key(int column) const;
};

struct FieldProblem {
  std::string field;
  std::string reason;
};

// One value of a row's image. Both are borrowed, from the tape of the line.
struct ImageField {
  std::string_view name;
  const JsonToken* value = nullptr;
};

class RowReader {
 public:
  RowReader(const TableShape* table, ValueModes modes);

  enum class Strictness {
    kWhole,  // every value must fit
    kKeyOnly,  // of a delete: values beside the key that do not fit become null, or zero where null is not allowed
  };

  // `shapes` by column; null: all plain. With `unavailable`, columns whose value the source did not send are listed there and get no cell.
  bool Append(const JsonToken& object, const std::vector<ValueShape>* shapes, Strictness strictness,
              RowBuffer* out, std::vector<int>* unavailable, FieldProblem* problem);
  // With `missing`, columns that the image does not have are listed there and get no cell.
  bool Append(std::span<const ImageField> image, const std::vector<ValueShape>* shapes, Strictness strictness,
              RowBuffer* out, std::vector<int>* missing, FieldProblem* problem);

  // Leaves out a member of that name (the row-kind column of plain JSON).
  void SkipName(std::string name) { skipped_ = std::move(name); }

  int FindColumn(std::string_view name) const;

 private:
  static constexpr int kUnknown = -1;
  static constexpr int kSkipped = -2;
  struct Known {
    std::string name;
    int column = kUnknown;
  };
  int ColumnAt(size_t position, std::string_view name);
  bool AppendField(size_t position, std::string_view name, const JsonToken& value,
                   const std::vector<ValueShape>* shapes, Strictness strictness, RowBuffer* out,
                   std::vector<int>* unavailable, FieldProblem* problem);
  bool AppendMissing(int column, Strictness strictness, RowBuffer* out, FieldProblem* problem) const;

  const TableShape* table_;
  ValueModes modes_;
  std::string skipped_;
  std::unordered_map<std::string_view, int> columns_;  // views into table_->fields
  std::vector<Known> order_;                           // of the last object
  std::vector<uint32_t> seen_;                         // by column: the last row it was seen in
  uint32_t row_ = 0;
};

}  // namespace headrace::ingest
