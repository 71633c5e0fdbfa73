// A small Arrow table built row by row from texts and whole numbers: what `show` prints.
//
// Every column is nullable; a column holds either utf8 or int64. Not for data: metadata only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"

namespace headrace {

using SheetCell = std::variant<std::monostate, int64_t, std::string>;

struct SheetColumn {
  std::string name;
  bool number = false;  // int64, else utf8
};

class Sheet {
 public:
  explicit Sheet(std::vector<SheetColumn> columns) : columns_(std::move(columns)) {}

  // One cell a column, of the column's kind or empty.
  void Add(std::vector<SheetCell> row) { rows_.push_back(std::move(row)); }

  Result<std::shared_ptr<arrow::RecordBatch>> Finish() const;

 private:
  std::vector<SheetColumn> columns_;
  std::vector<std::vector<SheetCell>> rows_;
};

// An absent value is an empty cell.
template <typename T>
SheetCell CellOf(const std::optional<T>& value) {
  if (!value) return SheetCell();
  if constexpr (std::is_convertible_v<T, std::string>) {
    return SheetCell(std::string(*value));
  } else {
    return SheetCell(static_cast<int64_t>(*value));
  }
}

}  // namespace headrace
