// One change of a row, told by its images, into rows and row kinds: for the forms that are not Debezium's.
//
// An insert is +I; an update -U and +U where the table keeps -U and the old image is whole, else +U alone; an update whose key differs is -D of the
// old key and +I of the new row; a delete is -D, of which only the key counts. Into a table without a key only inserts are taken. What
// was not sent comes from the old image, else from the table's current row. Appends whole rows or, with a fate that is not kApplied, leaves
// what the caller takes back. One thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ingest/event.h"
#include "ingest/row_reader.h"

namespace headrace::ingest {

using RowImage = std::vector<ImageField>;

// The value of that name, or nullptr.
const JsonToken* FindInImage(std::span<const ImageField> image, std::string_view name);
RowImage ImageOf(const JsonToken& object);
// `image` with the values of `changed` in place of its own: the row before an update that tells only what it changed.
RowImage Overlaid(const RowImage& image, const JsonToken& changed);

struct RowChange {
  enum class Op { kInsert, kUpdate, kDelete };
  Op op = Op::kInsert;
  RowImage after;   // of a delete: unused
  RowImage before;  // of updates and deletes; of an update it may be empty: the key did not change
  bool before_whole = false;
  bool omits_unchanged = false;  // columns that `after` lacks did not change; else they are null
  std::string after_place = "after";
  std::string before_place = "before";
};

class ChangeRows {
 public:
  ChangeRows(const TableShape* table, ValueModes modes) : table_(table), rows_(table, modes) {}

  // A line of several changes begins: `out` has `rows` rows before it.
  void BeginLine(int64_t rows);
  LineOutcome Append(const RowChange& change, CurrentRows* current, RowBuffer* out);
  // What is known of each column's values; null: nothing. Borrowed.
  void UseShapes(const std::vector<ValueShape>* shapes) { shapes_ = shapes; }
  const RowReader& reader() const { return rows_; }

 private:
  LineOutcome Update(const RowChange& change, CurrentRows* current, RowBuffer* out);
  LineOutcome AppendAfter(const RowChange& change, RowKind kind, int64_t old_row, CurrentRows* current,
                          RowBuffer* out);
  LineOutcome FillMissing(const RowChange& change, int64_t old_row, CurrentRows* current, RowBuffer* out);
  bool HasKey(const RowImage& image) const;
  bool SameKey(const RowChange& change) const;
  std::optional<int64_t> FindInLine(const RowBuffer& rows, int64_t key_row);

  const TableShape* table_;
  RowReader rows_;
  const std::vector<ValueShape>* shapes_ = nullptr;
  std::unordered_map<std::string, int64_t> rows_of_line_;  // by key; filled when a value was not sent
  int64_t next_to_index_ = 0;
  std::vector<int> missing_;
};

}  // namespace headrace::ingest
