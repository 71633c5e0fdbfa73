// Arrow columns to Avro records.
#include <array>
#include <utility>

#include <arrow/array.h>
#include <arrow/util/decimal.h>

#include "format/avro_rows.h"

namespace headrace {
namespace {

class Column {
 public:
  Column(bool nullable, const arrow::Array& array) : nullable_(nullable), array_(array) {}
  virtual ~Column() = default;

  Status Append(int64_t row, std::string* out) const {
    const bool null = array_.IsNull(row);
    if (null && !nullable_) return Invalid("a null where the column is declared NOT NULL");
    if (nullable_) AppendAvroLong(null ? 0 : 1, out);
    return null ? Status::OK() : AppendValue(row, out);
  }

 private:
  virtual Status AppendValue(int64_t row, std::string* out) const = 0;

  const bool nullable_;
  const arrow::Array& array_;
};

using ColumnPtr = std::unique_ptr<Column>;
Result<ColumnPtr> MakeColumn(const DataType& type, const arrow::Array& array);

template <typename Array>
class IntegerColumn final : public Column {
 public:
  IntegerColumn(bool nullable, const arrow::Array& array)
      : Column(nullable, array), values_(static_cast<const Array&>(array)) {}

 private:
  Status AppendValue(int64_t row, std::string* out) const override {
    AppendAvroLong(static_cast<int64_t>(values_.Value(row)), out);
    return Status::OK();
  }
  const Array& values_;
};

// Fixed bytes as they lie in memory: little-endian IEEE numbers.
template <typename Array>
class RawColumn final : public Column {
 public:
  RawColumn(bool nullable, const arrow::Array& array)
      : Column(nullable, array), values_(static_cast<const Array&>(array)) {}

 private:
  Status AppendValue(int64_t row, std::string* out) const override {
    const auto value = values_.Value(row);
    out->append(reinterpret_cast<const char*>(&value), sizeof(value));
    return Status::OK();
  }
  const Array& values_;
};

class BytesColumn final : public Column {
 public:
  BytesColumn(bool nullable, const arrow::Array& array)
      : Column(nullable, array), values_(static_cast<const arrow::BinaryArray&>(array)) {}

 private:
  Status AppendValue(int64_t row, std::string* out) const override {
    AppendAvroBytes(values_.GetView(row), out);
    return Status::OK();
  }
  const arrow::BinaryArray& values_;
};

// Big-endian two's complement in as few bytes as hold it.
class DecimalColumn final : public Column {
 public:
  DecimalColumn(bool nullable, const arrow::Array& array)
      : Column(nullable, array), values_(static_cast<const arrow::Decimal128Array&>(array)) {}

 private:
  Status AppendValue(int64_t row, std::string* out) const override {
    const arrow::Decimal128 value(values_.GetValue(row));
    const std::array<uint8_t, 16> little = value.ToBytes();
    size_t size = little.size();
    const uint8_t sign = value.high_bits() < 0 ? 0xFF : 0x00;
    while (size > 1 && little[size - 1] == sign && ((little[size - 2] ^ sign) & 0x80) == 0) --size;
    AppendAvroLong(static_cast<int64_t>(size), out);
    for (size_t i = size; i > 0; --i) out->push_back(static_cast<char>(little[i - 1]));
    return Status::OK();
  }
  const arrow::Decimal128Array& values_;
};

class ListColumn final : public Column {
 public:
  ListColumn(bool nullable, const arrow::ListArray& array, ColumnPtr items)
      : Column(nullable, array), lists_(array), items_(std::move(items)) {}

 private:
  Status AppendValue(int64_t row, std::string* out) const override {
    const int64_t length = lists_.value_length(row);
    if (length > 0) AppendAvroLong(length, out);
    for (int64_t i = 0; i < length; ++i)
      HEADRACE_RETURN_NOT_OK(items_->Append(lists_.value_offset(row) + i, out));
    AppendAvroLong(0, out);
    return Status::OK();
  }
  const arrow::ListArray& lists_;
  const ColumnPtr items_;
};

// An Avro map where the key is text, else an array of records: both are a key and a value for each entry.
class MapColumn final : public Column {
 public:
  MapColumn(bool nullable, const arrow::MapArray& array, ColumnPtr keys, ColumnPtr values)
      : Column(nullable, array), maps_(array), keys_(std::move(keys)), values_(std::move(values)) {}

 private:
  Status AppendValue(int64_t row, std::string* out) const override {
    const int64_t length = maps_.value_length(row);
    if (length > 0) AppendAvroLong(length, out);
    for (int64_t i = 0; i < length; ++i) {
      const int64_t entry = maps_.value_offset(row) + i;
      HEADRACE_RETURN_NOT_OK(keys_->Append(entry, out));
      HEADRACE_RETURN_NOT_OK(values_->Append(entry, out));
    }
    AppendAvroLong(0, out);
    return Status::OK();
  }
  const arrow::MapArray& maps_;
  const ColumnPtr keys_;
  const ColumnPtr values_;
};

class RowColumn final : public Column {
 public:
  // Holds the fields: an array of a struct's slice is made when it is asked for.
  RowColumn(bool nullable, const arrow::StructArray& array, arrow::ArrayVector held,
            std::vector<ColumnPtr> fields)
      : Column(nullable, array), held_(std::move(held)), fields_(std::move(fields)) {}

 private:
  Status AppendValue(int64_t row, std::string* out) const override {
    for (const ColumnPtr& field : fields_) HEADRACE_RETURN_NOT_OK(field->Append(row, out));
    return Status::OK();
  }
  const arrow::ArrayVector held_;
  const std::vector<ColumnPtr> fields_;
};

Result<ColumnPtr> MakeMap(const DataType& type, DataType key, const DataType& value,
                          const arrow::Array& array) {
  const auto& maps = static_cast<const arrow::MapArray&>(array);
  if (key.root == TypeRoot::kChar || key.root == TypeRoot::kVarChar) key.nullable = false;
  HEADRACE_ASSIGN_OR_RETURN(ColumnPtr keys, MakeColumn(key, *maps.keys()));
  HEADRACE_ASSIGN_OR_RETURN(ColumnPtr values, MakeColumn(value, *maps.items()));
  return std::make_unique<MapColumn>(type.nullable, maps, std::move(keys), std::move(values));
}

Result<ColumnPtr> MakeRow(const DataType& type, const arrow::Array& array) {
  const auto& rows = static_cast<const arrow::StructArray&>(array);
  arrow::ArrayVector held;
  std::vector<ColumnPtr> fields;
  for (size_t i = 0; i < type.fields.size(); ++i) {
    held.push_back(rows.field(static_cast<int>(i)));
    HEADRACE_ASSIGN_OR_RETURN(ColumnPtr field, MakeColumn(type.fields[i].type, *held.back()));
    fields.push_back(std::move(field));
  }
  return std::make_unique<RowColumn>(type.nullable, rows, std::move(held), std::move(fields));
}

Result<ColumnPtr> MakeColumn(const DataType& type, const arrow::Array& array) {
  switch (type.root) {
    case TypeRoot::kBoolean: return std::make_unique<RawColumn<arrow::BooleanArray>>(type.nullable, array);
    case TypeRoot::kTinyInt: return std::make_unique<IntegerColumn<arrow::Int8Array>>(type.nullable, array);
    case TypeRoot::kSmallInt: return std::make_unique<IntegerColumn<arrow::Int16Array>>(type.nullable, array);
    case TypeRoot::kInt: return std::make_unique<IntegerColumn<arrow::Int32Array>>(type.nullable, array);
    case TypeRoot::kBigInt: return std::make_unique<IntegerColumn<arrow::Int64Array>>(type.nullable, array);
    case TypeRoot::kFloat: return std::make_unique<RawColumn<arrow::FloatArray>>(type.nullable, array);
    case TypeRoot::kDouble: return std::make_unique<RawColumn<arrow::DoubleArray>>(type.nullable, array);
    case TypeRoot::kDecimal: return std::make_unique<DecimalColumn>(type.nullable, array);
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary: return std::make_unique<BytesColumn>(type.nullable, array);
    case TypeRoot::kDate: return std::make_unique<IntegerColumn<arrow::Date32Array>>(type.nullable, array);
    case TypeRoot::kTime: return std::make_unique<IntegerColumn<arrow::Time32Array>>(type.nullable, array);
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      return std::make_unique<IntegerColumn<arrow::TimestampArray>>(type.nullable, array);
    case TypeRoot::kArray: {
      const auto& lists = static_cast<const arrow::ListArray&>(array);
      HEADRACE_ASSIGN_OR_RETURN(ColumnPtr items, MakeColumn(*type.element, *lists.values()));
      return std::make_unique<ListColumn>(type.nullable, lists, std::move(items));
    }
    case TypeRoot::kMap: return MakeMap(type, *type.key, *type.value, array);
    case TypeRoot::kMultiset: return MakeMap(type, *type.element, DataType{}, array);
    case TypeRoot::kRow: return MakeRow(type, array);
  }
  return Unsupported("Avro has no form for ", ToSql(type));
}

class Encoder final : public AvroRowEncoder {
 public:
  Encoder(std::vector<DataField> fields, arrow::ArrayVector held, std::vector<ColumnPtr> columns)
      : fields_(std::move(fields)), held_(std::move(held)), columns_(std::move(columns)) {}

  Status AppendRow(int64_t row, std::string* out) const override {
    for (size_t i = 0; i < columns_.size(); ++i) {
      const Status appended = columns_[i]->Append(row, out);
      if (!appended.ok()) return WithContext("column '" + fields_[i].name + "'", appended);
    }
    return Status::OK();
  }

 private:
  const std::vector<DataField> fields_;
  const arrow::ArrayVector held_;
  const std::vector<ColumnPtr> columns_;
};

}  // namespace

Result<std::unique_ptr<AvroRowEncoder>> AvroRowEncoder::Make(const std::vector<DataField>& fields,
                                                             const arrow::ArrayVector& columns) {
  if (fields.size() != columns.size())
    return Invalid("encoding Avro rows: ", columns.size(), " columns for ", fields.size(), " fields");
  std::vector<ColumnPtr> made;
  for (size_t i = 0; i < fields.size(); ++i) {
    HEADRACE_ASSIGN_OR_RETURN(ColumnPtr column, MakeColumn(fields[i].type, *columns[i]));
    made.push_back(std::move(column));
  }
  return std::make_unique<Encoder>(fields, columns, std::move(made));
}

}  // namespace headrace
