// Keys from columns, from values and from BinaryRows into their comparable form.
#include "lsm/key_order.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <arrow/array.h>
#include <arrow/type.h>

#include "lsm/key_bytes.h"

namespace headrace {
namespace {

bool IsIntegerLike(TypeRoot root) {
  switch (root) {
    case TypeRoot::kTinyInt:
    case TypeRoot::kSmallInt:
    case TypeRoot::kInt:
    case TypeRoot::kBigInt:
    case TypeRoot::kDate:
    case TypeRoot::kTime:
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz: return true;
    default: return false;
  }
}

bool IsText(TypeRoot root) {
  return root == TypeRoot::kChar || root == TypeRoot::kVarChar || root == TypeRoot::kBinary ||
         root == TypeRoot::kVarBinary;
}

template <typename ArrayType>
auto Cell(const arrow::Array& array, int64_t row) {
  return static_cast<const ArrayType&>(array).Value(row);
}

int64_t IntegerAt(const arrow::Array& array, TypeRoot root, int64_t row) {
  switch (root) {
    case TypeRoot::kTinyInt: return Cell<arrow::Int8Array>(array, row);
    case TypeRoot::kSmallInt: return Cell<arrow::Int16Array>(array, row);
    case TypeRoot::kInt: return Cell<arrow::Int32Array>(array, row);
    case TypeRoot::kDate: return Cell<arrow::Date32Array>(array, row);
    case TypeRoot::kTime: return Cell<arrow::Time32Array>(array, row);
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz: return Cell<arrow::TimestampArray>(array, row);
    default: return Cell<arrow::Int64Array>(array, row);
  }
}

// A timestamp in the unit of its column, as Arrow holds it.
Result<int64_t> CountOf(const Timestamp& timestamp, const DataType& type) {
  const int64_t units = type.precision <= 3 ? 1 : type.precision <= 6 ? 1000 : 1000000;
  int64_t count = 0;
  if (__builtin_mul_overflow(timestamp.millis, units, &count) ||
      __builtin_add_overflow(count, timestamp.nanos_of_milli / (1000000 / units), &count)) {
    return Corruption("key of type ", ToSql(type), ": ", timestamp.millis,
                      " ms since 1970 is outside its range");
  }
  return count;
}

Result<int64_t> IntegerOfValue(const Value& value, const DataType& type) {
  if (const auto* v = std::get_if<int64_t>(&value)) return *v;
  if (const auto* v = std::get_if<int32_t>(&value)) return *v;
  if (const auto* v = std::get_if<int16_t>(&value)) return *v;
  if (const auto* v = std::get_if<int8_t>(&value)) return *v;
  if (const auto* v = std::get_if<Timestamp>(&value)) return CountOf(*v, type);
  return Corruption("key of type ", ToSql(type), " holds a value of another type");
}

void AppendCell(const arrow::Array& array, TypeRoot root, int64_t row, bool last, std::string* out) {
  switch (root) {
    case TypeRoot::kBoolean: return AppendOrdered(Cell<arrow::BooleanArray>(array, row), out);
    case TypeRoot::kFloat: return AppendOrdered(Cell<arrow::FloatArray>(array, row), out);
    case TypeRoot::kDouble: return AppendOrdered(Cell<arrow::DoubleArray>(array, row), out);
    case TypeRoot::kDecimal:
      return AppendOrdered(arrow::Decimal128(static_cast<const arrow::Decimal128Array&>(array).GetValue(row)),
                           out);
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary:
      return AppendOrdered(static_cast<const arrow::BinaryArray&>(array).GetView(row), last, out);
    default: return AppendOrdered(IntegerAt(array, root, row), out);
  }
}

Status AppendValue(const Value& value, const DataType& type, bool last, std::string* out) {
  if (IsIntegerLike(type.root)) {
    HEADRACE_ASSIGN_OR_RETURN(const int64_t number, IntegerOfValue(value, type));
    AppendOrdered(number, out);
  } else if (const auto* boolean = std::get_if<bool>(&value)) {
    AppendOrdered(*boolean, out);
  } else if (const auto* single = std::get_if<float>(&value)) {
    AppendOrdered(*single, out);
  } else if (const auto* number = std::get_if<double>(&value)) {
    AppendOrdered(*number, out);
  } else if (const auto* decimal = std::get_if<arrow::Decimal128>(&value)) {
    AppendOrdered(*decimal, out);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    AppendOrdered(*text, last, out);
  } else {
    return Corruption("key of type ", ToSql(type), " holds a value of another type");
  }
  return Status::OK();
}

// What stands around each value, whatever it comes from: a mark for null or not, the turned bits of a descending column.
template <typename Append>
Status AppendColumn(const KeyOrder::Column& column, bool is_null, std::string* out, Append&& append) {
  if (column.nullable) out->push_back(is_null ? '\0' : '\1');
  if (is_null)
    return column.nullable ? Status::OK()
                           : Corruption("a key column of type ", ToSql(column.type), " holds null");
  const size_t from = out->size();
  HEADRACE_RETURN_NOT_OK(append());
  if (column.descending) TurnBits(from, out);
  return Status::OK();
}

int Sign(int x) { return (x > 0) - (x < 0); }

}  // namespace

int KeyColumn::Compare(int64_t row, const KeyColumn& other, int64_t other_row) const {
  if (integer_) {
    const int64_t a = integers_[row];
    const int64_t b = other.integers_[other_row];
    return (a > b) - (a < b);
  }
  return Sign(bytes(row).compare(other.bytes(other_row)));
}

int64_t KeyColumn::Bound(int64_t begin, int64_t end, const KeyColumn& other, int64_t other_row,
                         bool upper) const {
  const auto below = [&](int64_t row) {
    const int order = Compare(row, other, other_row);
    return upper ? order <= 0 : order < 0;
  };
  // Doubling steps first: most bounds are near.
  int64_t step = 1;
  while (begin + step <= end && below(begin + step - 1)) {
    begin += step;
    step *= 2;
  }
  int64_t last = std::min(begin + step, end);
  while (begin < last) {
    const int64_t middle = begin + (last - begin) / 2;
    if (below(middle)) {
      begin = middle + 1;
    } else {
      last = middle;
    }
  }
  return begin;
}

EncodedKey KeyColumn::Encoded(int64_t row) const {
  if (!integer_) return EncodedKey(bytes(row));
  EncodedKey key;
  AppendOrdered(integers_[row], &key);
  return key;
}

Result<KeyOrder> KeyOrder::Make(std::vector<Column> columns) {
  KeyOrder order;
  for (const Column& column : columns) {
    if (column.type.is_nested())
      return Unsupported("type ", ToSql(column.type), " cannot be a key or a sequence field");
    order.types_.push_back(column.type);
  }
  order.integer_ = columns.size() == 1 && IsIntegerLike(columns[0].type.root) && !columns[0].nullable &&
                   !columns[0].descending;
  order.columns_ = std::move(columns);
  return order;
}

Result<KeyOrder> KeyOrder::OfKey(const std::vector<DataType>& types) {
  std::vector<Column> columns;
  for (const DataType& type : types) columns.push_back({type});
  return Make(std::move(columns));
}

namespace {

// `owner` keeps the numbers alive where they had to be widened.
const int64_t* WidenedIntegers(const std::shared_ptr<arrow::Array>& array, TypeRoot root,
                               std::shared_ptr<void>* owner) {
  if (array->type()->byte_width() == 8) {
    *owner = std::const_pointer_cast<arrow::ArrayData>(array->data());
    return array->data()->GetValues<int64_t>(1);
  }
  auto wide = std::make_shared<std::vector<int64_t>>(static_cast<size_t>(array->length()));
  for (int64_t row = 0; row < array->length(); ++row)
    (*wide)[static_cast<size_t>(row)] = IntegerAt(*array, root, row);
  *owner = wide;
  return wide->data();
}

struct ByteKeys {
  std::vector<int32_t> offsets;
  std::string data;
};

Result<std::shared_ptr<ByteKeys>> BuildByteKeys(const std::vector<KeyOrder::Column>& columns,
                                                const std::vector<std::shared_ptr<arrow::Array>>& arrays) {
  const int64_t rows = arrays[0]->length();
  auto keys = std::make_shared<ByteKeys>();
  keys->offsets.reserve(static_cast<size_t>(rows) + 1);
  keys->offsets.push_back(0);
  for (int64_t row = 0; row < rows; ++row) {
    for (size_t c = 0; c < columns.size(); ++c) {
      const bool last = c + 1 == columns.size() && !columns[c].descending;
      HEADRACE_RETURN_NOT_OK(AppendColumn(columns[c], arrays[c]->IsNull(row), &keys->data, [&] {
        AppendCell(*arrays[c], columns[c].type.root, row, last, &keys->data);
        return Status::OK();
      }));
    }
    if (keys->data.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
      return OverBudget("the keys of one batch take more than 2 GB after ", row,
                        " rows; use smaller batches");
    }
    keys->offsets.push_back(static_cast<int32_t>(keys->data.size()));
  }
  return keys;
}

}  // namespace

Result<KeyColumn> KeyOrder::Encode(const std::vector<std::shared_ptr<arrow::Array>>& columns) const {
  KeyColumn keys;
  keys.size_ = columns[0]->length();
  keys.integer_ = integer_;
  const bool simple = columns_.size() == 1 && !columns_[0].nullable && !columns_[0].descending;
  if (simple && columns[0]->null_count() > 0) {
    return Corruption("a key column of type ", ToSql(columns_[0].type), " holds ", columns[0]->null_count(),
                      " nulls");
  }
  if (integer_) {
    std::shared_ptr<void> owner;
    keys.integers_ = WidenedIntegers(columns[0], columns_[0].type.root, &owner);
    keys.owners_ = {std::move(owner)};
    return keys;
  }
  if (simple && IsText(columns_[0].type.root)) {
    const auto& text = static_cast<const arrow::BinaryArray&>(*columns[0]);
    keys.offsets_ = text.raw_value_offsets();
    keys.data_ = reinterpret_cast<const char*>(text.raw_data());
    keys.owners_ = {std::const_pointer_cast<arrow::ArrayData>(text.data())};
    return keys;
  }
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<ByteKeys> built, BuildByteKeys(columns_, columns));
  keys.offsets_ = built->offsets.data();
  keys.data_ = built->data.data();
  keys.owners_ = {std::move(built)};
  return keys;
}

Result<EncodedKey> KeyOrder::Encode(std::span<const Value> values) const {
  if (values.size() != columns_.size()) {
    return Invalid("a key of ", columns_.size(), " columns was given ", values.size(), " values");
  }
  EncodedKey key;
  for (size_t c = 0; c < columns_.size(); ++c) {
    const bool last = c + 1 == columns_.size() && !columns_[c].descending;
    HEADRACE_RETURN_NOT_OK(AppendColumn(columns_[c], IsNull(values[c]), &key, [&] {
      return AppendValue(values[c], columns_[c].type, last, &key);
    }));
  }
  return key;
}

Result<EncodedKey> KeyOrder::Encode(const BinaryRow& row) const {
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<Value> values, DecodeBinaryRow(row, types_));
  return Encode(values);
}

KeyColumn KeyOrder::ColumnOf(const EncodedKey& key) const {
  KeyColumn column;
  column.size_ = 1;
  column.integer_ = integer_;
  if (integer_) {
    auto number = std::make_shared<int64_t>(IntegerOf(key));
    column.integers_ = number.get();
    column.owners_ = {std::move(number)};
    return column;
  }
  auto keys = std::make_shared<ByteKeys>();
  keys->data = key;
  keys->offsets = {0, static_cast<int32_t>(key.size())};
  column.offsets_ = keys->offsets.data();
  column.data_ = keys->data.data();
  column.owners_ = {std::move(keys)};
  return column;
}

int64_t IntegerOf(std::string_view encoded) {
  uint64_t number = 0;
  for (const char c : encoded) number = number << 8 | static_cast<uint8_t>(c);
  return static_cast<int64_t>(number ^ (uint64_t{1} << 63));
}

}  // namespace headrace
