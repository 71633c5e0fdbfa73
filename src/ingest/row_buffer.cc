#include "ingest/row_buffer.h"

#include <utility>

#include <arrow/api.h>
#include <arrow/util/bit_util.h>

#include "format/civil_time.h"

namespace headrace::ingest {
namespace {

int32_t FixedWidthOf(const DataType& type) {
  switch (type.root) {
    case TypeRoot::kBoolean:
    case TypeRoot::kTinyInt: return 1;
    case TypeRoot::kSmallInt: return 2;
    case TypeRoot::kInt:
    case TypeRoot::kFloat:
    case TypeRoot::kDate:
    case TypeRoot::kTime: return 4;
    case TypeRoot::kBigInt:
    case TypeRoot::kDouble:
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz: return 8;
    case TypeRoot::kDecimal: return 16;
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary:
    case TypeRoot::kArray:
    case TypeRoot::kMap:
    case TypeRoot::kMultiset:
    case TypeRoot::kRow: return 0;
  }
  return 0;
}

bool IsBytes(TypeRoot root) { return root >= TypeRoot::kChar && root <= TypeRoot::kVarBinary; }
bool IsList(TypeRoot root) {
  return root == TypeRoot::kArray || root == TypeRoot::kMap || root == TypeRoot::kMultiset;
}

std::vector<DataType> ChildTypes(const DataType& type) {
  switch (type.root) {
    case TypeRoot::kArray: return {*type.element};
    case TypeRoot::kMultiset: {
      DataType count;
      count.root = TypeRoot::kInt;
      count.nullable = false;
      return {*type.element, count};
    }
    case TypeRoot::kMap: return {*type.key, *type.value};
    case TypeRoot::kRow: {
      std::vector<DataType> types;
      for (const DataField& field : type.fields) types.push_back(field.type);
      return types;
    }
    default: return {};
  }
}

// The null bitmap of byte flags, or nullptr when nothing is null.
Result<std::shared_ptr<arrow::Buffer>> PackBits(const std::vector<uint8_t>& flags, int64_t* zeros) {
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> bits,
                            arrow::AllocateEmptyBitmap(static_cast<int64_t>(flags.size())));
  uint8_t* out = bits->mutable_data();
  int64_t ones = 0;
  for (size_t i = 0; i < flags.size(); ++i) {
    out[i >> 3] |= static_cast<uint8_t>((flags[i] != 0) << (i & 7));
    ones += flags[i] != 0;
  }
  *zeros = static_cast<int64_t>(flags.size()) - ones;
  return bits;
}

Timestamp TimestampOf(int64_t count, int32_t precision) {
  if (precision <= 3) return {count, 0};
  const int64_t per_milli = precision <= 6 ? 1000 : 1000000;
  const int64_t millis = FloorDiv(count, per_milli);
  return {millis, static_cast<int32_t>((count - millis * per_milli) * (1000000 / per_milli))};
}

}  // namespace

ColumnBuffer::ColumnBuffer(const DataType& type) : type_(type), width_(FixedWidthOf(type)) {
  if (IsBytes(type.root) || IsList(type.root)) offsets_.push_back(0);
  for (const DataType& child : ChildTypes(type)) children_.emplace_back(child);
}

void ColumnBuffer::AppendNull() {
  if (type_.root == TypeRoot::kRow) {
    // Under a null row a field that may not be null has some value: writers look at the fields alone.
    for (ColumnBuffer& child : children_) child.type().nullable ? child.AppendNull() : child.AppendZero();
  } else if (width_ > 0) {
    fixed_.resize(fixed_.size() + width_);
  } else {
    offsets_.push_back(offsets_.back());
  }
  valid_.push_back(0);
}

void ColumnBuffer::AppendZero() {
  if (type_.root == TypeRoot::kRow) {
    for (ColumnBuffer& child : children_) child.type().nullable ? child.AppendNull() : child.AppendZero();
  } else if (width_ > 0) {
    fixed_.resize(fixed_.size() + width_);
  } else {
    offsets_.push_back(offsets_.back());
  }
  valid_.push_back(1);
}

void ColumnBuffer::AppendBytes(std::string_view bytes) {
  bytes_.append(bytes);
  offsets_.push_back(static_cast<int32_t>(bytes_.size()));
  valid_.push_back(1);
}

void ColumnBuffer::AppendDecimal(const arrow::Decimal128& value) {
  const size_t at = fixed_.size();
  fixed_.resize(at + 16);
  value.ToBytes(fixed_.data() + at);
  valid_.push_back(1);
}

void ColumnBuffer::CloseList() {
  offsets_.push_back(static_cast<int32_t>(children_[0].size()));
  valid_.push_back(1);
}

void ColumnBuffer::AppendFrom(const ColumnBuffer& other, int64_t row) {
  if (other.IsNull(row)) return AppendNull();
  if (width_ > 0) {
    const auto from = other.fixed_.begin() + row * width_;
    fixed_.insert(fixed_.end(), from, from + width_);
    valid_.push_back(1);
  } else if (IsBytes(type_.root)) {
    AppendBytes(other.BytesAt(row));
  } else if (type_.root == TypeRoot::kRow) {
    for (size_t i = 0; i < children_.size(); ++i) children_[i].AppendFrom(other.children_[i], row);
    CloseRow();
  } else {
    for (size_t i = 0; i < children_.size(); ++i) {
      for (int32_t j = other.offsets_[row]; j < other.offsets_[row + 1]; ++j)
        children_[i].AppendFrom(other.children_[i], j);
    }
    CloseList();
  }
}

void ColumnBuffer::TruncateTo(int64_t rows) {
  // Children may be ahead of their parent: an unfinished cell is cut as well.
  if (type_.root == TypeRoot::kRow) {
    for (ColumnBuffer& child : children_) child.TruncateTo(rows);
  } else if (width_ > 0) {
    if (fixed_.size() > static_cast<size_t>(rows * width_)) fixed_.resize(rows * width_);
  } else if (offsets_.size() > static_cast<size_t>(rows)) {
    offsets_.resize(rows + 1);
    if (IsBytes(type_.root)) bytes_.resize(offsets_.back());
    for (ColumnBuffer& child : children_) child.TruncateTo(offsets_.back());
  }
  if (valid_.size() > static_cast<size_t>(rows)) valid_.resize(rows);
}

std::string_view ColumnBuffer::BytesAt(int64_t row) const {
  return std::string_view(bytes_).substr(offsets_[row], offsets_[row + 1] - offsets_[row]);
}

Value ColumnBuffer::ValueAt(int64_t row) const {
  if (IsNull(row)) return std::monostate{};
  switch (type_.root) {
    case TypeRoot::kBoolean: return FixedAt<uint8_t>(row) != 0;
    case TypeRoot::kTinyInt: return FixedAt<int8_t>(row);
    case TypeRoot::kSmallInt: return FixedAt<int16_t>(row);
    case TypeRoot::kInt:
    case TypeRoot::kDate:
    case TypeRoot::kTime: return FixedAt<int32_t>(row);
    case TypeRoot::kBigInt: return FixedAt<int64_t>(row);
    case TypeRoot::kFloat: return FixedAt<float>(row);
    case TypeRoot::kDouble: return FixedAt<double>(row);
    case TypeRoot::kDecimal: return arrow::Decimal128(fixed_.data() + row * 16);
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz: return TimestampOf(FixedAt<int64_t>(row), type_.precision);
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary: return std::string(BytesAt(row));
    case TypeRoot::kArray:
    case TypeRoot::kMap:
    case TypeRoot::kMultiset:
    case TypeRoot::kRow: break;
  }
  return std::monostate{};
}

void ColumnBuffer::AppendKeyBytes(int64_t row, std::string* out) const {
  out->push_back(static_cast<char>(valid_[row]));
  if (width_ > 0) {
    out->append(reinterpret_cast<const char*>(fixed_.data() + row * width_), width_);
    return;
  }
  const std::string_view bytes = BytesAt(row);
  const auto length = static_cast<uint32_t>(bytes.size());
  out->append(reinterpret_cast<const char*>(&length), sizeof(length));
  out->append(bytes);
}

int64_t ColumnBuffer::byte_size() const {
  int64_t bytes =
      static_cast<int64_t>(valid_.size() + fixed_.size() + bytes_.size() + offsets_.size() * sizeof(int32_t));
  for (const ColumnBuffer& child : children_) bytes += child.byte_size();
  return bytes;
}

Result<std::shared_ptr<arrow::Array>> ColumnBuffer::Finish() {
  const int64_t length = size();
  int64_t nulls = 0;
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> validity, PackBits(valid_, &nulls));
  if (nulls == 0) validity = nullptr;
  std::vector<std::shared_ptr<arrow::Buffer>> buffers = {std::move(validity)};
  std::vector<std::shared_ptr<arrow::ArrayData>> child_data;
  for (ColumnBuffer& child : children_) {
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Array> array, child.Finish());
    child_data.push_back(array->data());
  }

  if (type_.root == TypeRoot::kBoolean) {
    int64_t zeros = 0;
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> bits, PackBits(fixed_, &zeros));
    buffers.push_back(std::move(bits));
  } else if (width_ > 0) {
    buffers.push_back(arrow::Buffer::FromVector(std::move(fixed_)));
  } else if (type_.root != TypeRoot::kRow) {
    buffers.push_back(arrow::Buffer::FromVector(std::move(offsets_)));
    if (IsBytes(type_.root)) buffers.push_back(arrow::Buffer::FromString(std::move(bytes_)));
  }
  valid_ = {};
  fixed_ = {};
  bytes_ = {};
  offsets_ = {};
  if (IsBytes(type_.root) || IsList(type_.root)) offsets_.push_back(0);

  const std::shared_ptr<arrow::DataType> arrow_type = ToArrowType(type_);
  if (arrow_type->id() == arrow::Type::MAP) {
    const int64_t entries = child_data[0]->length;
    child_data = {
        arrow::ArrayData::Make(arrow_type->field(0)->type(), entries, {nullptr}, std::move(child_data), 0)};
  }
  return arrow::MakeArray(
      arrow::ArrayData::Make(arrow_type, length, std::move(buffers), std::move(child_data), nulls));
}

Status ColumnBuffer::AppendArrow(const arrow::Array& array, int64_t row) {
  if (array.IsNull(row)) {
    AppendNull();
    return Status::OK();
  }
  switch (array.type_id()) {
    case arrow::Type::BOOL:
      AppendBool(static_cast<const arrow::BooleanArray&>(array).Value(row));
      return Status::OK();
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      AppendBytes(static_cast<const arrow::BinaryArray&>(array).GetView(row));
      return Status::OK();
    case arrow::Type::LIST: {
      const auto& list = static_cast<const arrow::ListArray&>(array);
      for (int64_t i = list.value_offset(row); i < list.value_offset(row + 1); ++i) {
        HEADRACE_RETURN_NOT_OK(children_[0].AppendArrow(*list.values(), i));
      }
      CloseList();
      return Status::OK();
    }
    case arrow::Type::MAP: {
      const auto& map = static_cast<const arrow::MapArray&>(array);
      for (int64_t i = map.value_offset(row); i < map.value_offset(row + 1); ++i) {
        HEADRACE_RETURN_NOT_OK(children_[0].AppendArrow(*map.keys(), i));
        HEADRACE_RETURN_NOT_OK(children_[1].AppendArrow(*map.items(), i));
      }
      CloseList();
      return Status::OK();
    }
    case arrow::Type::STRUCT: {
      const auto& row_array = static_cast<const arrow::StructArray&>(array);
      for (size_t i = 0; i < children_.size(); ++i) {
        HEADRACE_RETURN_NOT_OK(children_[i].AppendArrow(*row_array.field(static_cast<int>(i)), row));
      }
      CloseRow();
      return Status::OK();
    }
    default: break;
  }
  if (width_ == 0 || arrow::bit_width(array.type_id()) != width_ * 8) {
    if (array.type_id() != arrow::Type::DECIMAL128) {
      return Invalid("a cell of Arrow type ", array.type()->ToString(), " does not go into a column of type ",
                     ToSql(type_));
    }
  }
  const uint8_t* cell = array.data()->buffers[1]->data() + (array.offset() + row) * width_;
  fixed_.insert(fixed_.end(), cell, cell + width_);
  valid_.push_back(1);
  return Status::OK();
}

RowBuffer::RowBuffer(const std::vector<DataField>& fields) : schema_(ToArrowSchema(fields)) {
  for (const DataField& field : fields) columns_.emplace_back(field.type);
}

void RowBuffer::TruncateTo(int64_t rows) {
  for (ColumnBuffer& column : columns_) column.TruncateTo(rows);
  kinds_.resize(rows);
}

void RowBuffer::AppendRowFrom(const RowBuffer& other, int64_t row, RowKind kind) {
  for (size_t i = 0; i < columns_.size(); ++i) columns_[i].AppendFrom(other.columns_[i], row);
  CloseRow(kind);
}

Status RowBuffer::AppendArrowRow(const arrow::RecordBatch& batch, int64_t row, RowKind kind) {
  const int64_t before = rows();
  for (size_t i = 0; i < columns_.size(); ++i) {
    const Status appended = columns_[i].AppendArrow(*batch.column(static_cast<int>(i)), row);
    if (!appended.ok()) {
      TruncateTo(before);
      return appended;
    }
  }
  CloseRow(kind);
  return Status::OK();
}

int64_t RowBuffer::byte_size() const {
  int64_t bytes = rows();
  for (const ColumnBuffer& column : columns_) bytes += column.byte_size();
  return bytes;
}

Result<RowBuffer::Batch> RowBuffer::Finish() {
  const int64_t length = rows();
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (ColumnBuffer& column : columns_) {
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Array> array, column.Finish());
    arrays.push_back(std::move(array));
  }
  static_assert(sizeof(RowKind) == 1);
  auto kinds = std::make_shared<arrow::Int8Array>(length, arrow::Buffer::FromVector(std::move(kinds_)));
  kinds_ = {};
  return Batch{arrow::RecordBatch::Make(schema_, length, std::move(arrays)), std::move(kinds)};
}

}  // namespace headrace::ingest
