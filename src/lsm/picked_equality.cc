#include "lsm/picked_equality.h"

#include <cstring>

#include <arrow/array.h>
#include <arrow/type.h>

namespace headrace {
namespace {

// `same(a, b)`: whether two rows that are not null hold the same value.
template <typename Same>
void Compare(std::span<const std::shared_ptr<arrow::Array>> sources, std::span<const RowRef> a,
             std::span<const RowRef> b, std::vector<char>* equal, const Same& same) {
  for (size_t i = 0; i < a.size(); ++i) {
    if ((*equal)[i] == 0) continue;
    const bool valid = sources[a[i].batch]->IsValid(a[i].row);
    if (valid != sources[b[i].batch]->IsValid(b[i].row)) {
      (*equal)[i] = 0;
    } else if (valid && !same(a[i], b[i])) {
      (*equal)[i] = 0;
    }
  }
}

template <typename ArrayType>
auto ByView(std::span<const std::shared_ptr<arrow::Array>> sources) {
  return [sources](RowRef a, RowRef b) {
    return static_cast<const ArrayType&>(*sources[a.batch]).GetView(a.row) ==
           static_cast<const ArrayType&>(*sources[b.batch]).GetView(b.row);
  };
}

}  // namespace

void KeepEqual(std::span<const std::shared_ptr<arrow::Array>> sources, std::span<const RowRef> a,
               std::span<const RowRef> b, std::vector<char>* equal) {
  const arrow::DataType& type = *sources[0]->type();
  switch (type.id()) {
    case arrow::Type::BOOL: return Compare(sources, a, b, equal, ByView<arrow::BooleanArray>(sources));
    case arrow::Type::FLOAT: return Compare(sources, a, b, equal, ByView<arrow::FloatArray>(sources));
    case arrow::Type::DOUBLE: return Compare(sources, a, b, equal, ByView<arrow::DoubleArray>(sources));
    case arrow::Type::STRING:
    case arrow::Type::BINARY: return Compare(sources, a, b, equal, ByView<arrow::BinaryArray>(sources));
    default: break;
  }
  if (arrow::is_primitive(type.id()) || arrow::is_decimal(type.id())) {
    const auto width = static_cast<size_t>(type.byte_width());
    const auto bytes_of = [&](RowRef ref) {
      const arrow::ArrayData& data = *sources[ref.batch]->data();
      return data.buffers[1]->data() + static_cast<size_t>(data.offset + ref.row) * width;
    };
    return Compare(sources, a, b, equal,
                   [&](RowRef x, RowRef y) { return std::memcmp(bytes_of(x), bytes_of(y), width) == 0; });
  }
  Compare(sources, a, b, equal, [&](RowRef x, RowRef y) {
    return sources[x.batch]->RangeEquals(x.row, int64_t{x.row} + 1, y.row, sources[y.batch]);
  });
}

}  // namespace headrace
