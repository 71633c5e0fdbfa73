// Rows of Arrow columns to BinaryRow bytes, nested types included.
#include <limits>

#include <arrow/array.h>
#include <arrow/type.h>

#include "format/binary_row.h"
#include "format/binary_writer.h"

namespace headrace {
namespace {

// Puts one cell of its column into a slot of a row or an array.
class Cell {
 public:
  Cell(const DataType& type, std::shared_ptr<arrow::Array> array) : type_(type), array_(std::move(array)) {}
  virtual ~Cell() = default;

  void Put(int64_t row, const BinaryWriter::Frame& frame, size_t slot, BinaryWriter* writer) const {
    if (array_->IsNull(row)) return writer->PutNull(frame, slot, type_);
    PutPresent(row, frame, slot, writer);
  }

  const DataType& type() const { return type_; }

 protected:
  virtual void PutPresent(int64_t row, const BinaryWriter::Frame& frame, size_t slot,
                          BinaryWriter* writer) const = 0;

  const DataType& type_;  // owned by the encoder
  std::shared_ptr<arrow::Array> array_;
};

template <typename ArrayType, typename Stored>
class FixedCell final : public Cell {
 public:
  using Cell::Cell;

 protected:
  void PutPresent(int64_t row, const BinaryWriter::Frame& frame, size_t slot,
                  BinaryWriter* writer) const override {
    writer->PutFixed(frame, slot, static_cast<Stored>(static_cast<const ArrayType&>(*array_).Value(row)));
  }
};

class BytesCell final : public Cell {
 public:
  using Cell::Cell;

 protected:
  void PutPresent(int64_t row, const BinaryWriter::Frame& frame, size_t slot,
                  BinaryWriter* writer) const override {
    writer->PutBytes(frame, slot, static_cast<const arrow::BinaryArray&>(*array_).GetView(row));
  }
};

class DecimalCell final : public Cell {
 public:
  using Cell::Cell;

 protected:
  void PutPresent(int64_t row, const BinaryWriter::Frame& frame, size_t slot,
                  BinaryWriter* writer) const override {
    const arrow::Decimal128 value(static_cast<const arrow::Decimal128Array&>(*array_).GetValue(row));
    writer->PutDecimal(frame, slot, value, type_.precision);
  }
};

class TimestampCell final : public Cell {
 public:
  TimestampCell(const DataType& type, std::shared_ptr<arrow::Array> array)
      : Cell(type, std::move(array)),
        unit_(static_cast<const arrow::TimestampType&>(*array_->type()).unit()) {}

 protected:
  void PutPresent(int64_t row, const BinaryWriter::Frame& frame, size_t slot,
                  BinaryWriter* writer) const override {
    const int64_t count = static_cast<const arrow::TimestampArray&>(*array_).Value(row);
    const int64_t units = unit_ == arrow::TimeUnit::MILLI   ? 1
                          : unit_ == arrow::TimeUnit::MICRO ? 1000
                                                            : 1000000;
    int64_t rest = count % units;
    if (rest < 0) rest += units;
    const Timestamp timestamp{(count - rest) / units, static_cast<int32_t>(rest * (1000000 / units))};
    writer->PutTimestamp(frame, slot, timestamp, type_.precision);
  }

 private:
  arrow::TimeUnit::type unit_;
};

using CellPtr = std::unique_ptr<Cell>;
Result<CellPtr> MakeCell(const DataType& type, std::shared_ptr<arrow::Array> array);

void PutElements(const Cell& element, int64_t first, int64_t count, BinaryWriter* writer) {
  const BinaryWriter::Frame frame =
      writer->BeginArray(static_cast<int32_t>(count), ElementWidth(element.type()));
  for (int64_t i = 0; i < count; ++i) element.Put(first + i, frame, static_cast<size_t>(i), writer);
}

class ListCell final : public Cell {
 public:
  ListCell(const DataType& type, std::shared_ptr<arrow::Array> array, CellPtr element)
      : Cell(type, std::move(array)), element_(std::move(element)) {}

 protected:
  void PutPresent(int64_t row, const BinaryWriter::Frame& frame, size_t slot,
                  BinaryWriter* writer) const override {
    const auto& list = static_cast<const arrow::ListArray&>(*array_);
    const size_t start = writer->BeginVariable();
    PutElements(*element_, list.value_offset(row), list.value_length(row), writer);
    writer->EndVariable(frame, slot, start);
  }

 private:
  CellPtr element_;
};

class MapCell final : public Cell {
 public:
  MapCell(const DataType& type, std::shared_ptr<arrow::Array> array, CellPtr key, CellPtr value)
      : Cell(type, std::move(array)), key_(std::move(key)), value_(std::move(value)) {}

 protected:
  void PutPresent(int64_t row, const BinaryWriter::Frame& frame, size_t slot,
                  BinaryWriter* writer) const override {
    const auto& map = static_cast<const arrow::MapArray&>(*array_);
    const size_t start = writer->BeginVariable();
    const size_t key_bytes = writer->AppendInt32Hole();
    PutElements(*key_, map.value_offset(row), map.value_length(row), writer);
    writer->FillInt32(key_bytes, static_cast<int32_t>(writer->size() - key_bytes - 4));
    PutElements(*value_, map.value_offset(row), map.value_length(row), writer);
    writer->EndVariable(frame, slot, start);
  }

 private:
  CellPtr key_, value_;
};

class RowCell final : public Cell {
 public:
  RowCell(const DataType& type, std::shared_ptr<arrow::Array> array, std::vector<CellPtr> fields)
      : Cell(type, std::move(array)), fields_(std::move(fields)) {}

 protected:
  void PutPresent(int64_t row, const BinaryWriter::Frame& frame, size_t slot,
                  BinaryWriter* writer) const override {
    const size_t start = writer->BeginVariable();
    const BinaryWriter::Frame inner = writer->BeginRow(static_cast<int32_t>(fields_.size()));
    for (size_t i = 0; i < fields_.size(); ++i) fields_[i]->Put(row, inner, i, writer);
    writer->EndVariable(frame, slot, start);
  }

 private:
  std::vector<CellPtr> fields_;
};

const DataType& CountType() {
  static const DataType type = [] {
    DataType count;
    count.root = TypeRoot::kInt;
    count.nullable = false;
    return count;
  }();
  return type;
}

Result<CellPtr> MakeMapCell(const DataType& type, const std::shared_ptr<arrow::Array>& array) {
  const auto& map = static_cast<const arrow::MapArray&>(*array);
  const bool multiset = type.root == TypeRoot::kMultiset;
  HEADRACE_ASSIGN_OR_RETURN(CellPtr key, MakeCell(multiset ? *type.element : *type.key, map.keys()));
  HEADRACE_ASSIGN_OR_RETURN(CellPtr value, MakeCell(multiset ? CountType() : *type.value, map.items()));
  return std::make_unique<MapCell>(type, array, std::move(key), std::move(value));
}

Result<CellPtr> MakeRowCell(const DataType& type, const std::shared_ptr<arrow::Array>& array) {
  const auto& rows = static_cast<const arrow::StructArray&>(*array);
  if (static_cast<size_t>(rows.num_fields()) != type.fields.size()) {
    return Invalid("a column of ", rows.num_fields(), " fields for ", ToSql(type));
  }
  std::vector<CellPtr> fields;
  for (size_t i = 0; i < type.fields.size(); ++i) {
    HEADRACE_ASSIGN_OR_RETURN(CellPtr field, MakeCell(type.fields[i].type, rows.field(static_cast<int>(i))));
    fields.push_back(std::move(field));
  }
  return std::make_unique<RowCell>(type, array, std::move(fields));
}

Result<CellPtr> MakeCell(const DataType& type, std::shared_ptr<arrow::Array> array) {
  const std::shared_ptr<arrow::DataType> wanted = ToArrowType(type);
  const bool same = type.is_nested() ? wanted->id() == array->type_id() : wanted->Equals(*array->type());
  if (!same)
    return Invalid("a column of ", array->type()->ToString(), " for ", ToSql(type), ", expected ",
                   wanted->ToString());
  switch (type.root) {
    case TypeRoot::kBoolean:
      return std::make_unique<FixedCell<arrow::BooleanArray, uint8_t>>(type, std::move(array));
    case TypeRoot::kTinyInt:
      return std::make_unique<FixedCell<arrow::Int8Array, int8_t>>(type, std::move(array));
    case TypeRoot::kSmallInt:
      return std::make_unique<FixedCell<arrow::Int16Array, int16_t>>(type, std::move(array));
    case TypeRoot::kInt:
      return std::make_unique<FixedCell<arrow::Int32Array, int32_t>>(type, std::move(array));
    case TypeRoot::kBigInt:
      return std::make_unique<FixedCell<arrow::Int64Array, int64_t>>(type, std::move(array));
    case TypeRoot::kFloat:
      return std::make_unique<FixedCell<arrow::FloatArray, float>>(type, std::move(array));
    case TypeRoot::kDouble:
      return std::make_unique<FixedCell<arrow::DoubleArray, double>>(type, std::move(array));
    case TypeRoot::kDecimal: return std::make_unique<DecimalCell>(type, std::move(array));
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary: return std::make_unique<BytesCell>(type, std::move(array));
    case TypeRoot::kDate:
      return std::make_unique<FixedCell<arrow::Date32Array, int32_t>>(type, std::move(array));
    case TypeRoot::kTime:
      return std::make_unique<FixedCell<arrow::Time32Array, int32_t>>(type, std::move(array));
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz: return std::make_unique<TimestampCell>(type, std::move(array));
    case TypeRoot::kArray: {
      HEADRACE_ASSIGN_OR_RETURN(
          CellPtr element, MakeCell(*type.element, static_cast<const arrow::ListArray&>(*array).values()));
      return std::make_unique<ListCell>(type, std::move(array), std::move(element));
    }
    case TypeRoot::kMap:
    case TypeRoot::kMultiset: return MakeMapCell(type, array);
    case TypeRoot::kRow: return MakeRowCell(type, array);
  }
  return Invalid("no encoding of ", ToSql(type));
}

class ArrowRowEncoder final : public BinaryRowEncoder {
 public:
  explicit ArrowRowEncoder(std::vector<DataType> types) : types_(std::move(types)) {}

  Status Open(std::vector<std::shared_ptr<arrow::Array>> columns) {
    if (columns.size() != types_.size())
      return Invalid(columns.size(), " columns for ", types_.size(), " types");
    for (size_t i = 0; i < types_.size(); ++i) {
      HEADRACE_ASSIGN_OR_RETURN(CellPtr cell, MakeCell(types_[i], std::move(columns[i])));
      cells_.push_back(std::move(cell));
    }
    return Status::OK();
  }

  Result<std::string_view> EncodeRow(int64_t row) override {
    writer_.Clear();
    const BinaryWriter::Frame frame = writer_.BeginRow(static_cast<int32_t>(cells_.size()));
    for (size_t i = 0; i < cells_.size(); ++i) cells_[i]->Put(row, frame, i, &writer_);
    if (writer_.size() > std::numeric_limits<int32_t>::max()) {
      return Invalid("row ", row, " takes ", writer_.size(), " bytes as a BinaryRow, at most 2 GB");
    }
    return writer_.bytes();
  }

 private:
  std::vector<DataType> types_;  // cells refer to them
  std::vector<CellPtr> cells_;
  BinaryWriter writer_;
};

}  // namespace

Result<std::unique_ptr<BinaryRowEncoder>> BinaryRowEncoder::Make(
    std::vector<DataType> types, std::vector<std::shared_ptr<arrow::Array>> columns) {
  auto encoder = std::make_unique<ArrowRowEncoder>(std::move(types));
  HEADRACE_RETURN_NOT_OK(encoder->Open(std::move(columns)));
  return encoder;
}

}  // namespace headrace
