// Data types to Arrow types and back.
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "format/data_type.h"

namespace headrace {
namespace {

arrow::TimeUnit::type UnitFor(int32_t precision) {
  if (precision <= 3) return arrow::TimeUnit::MILLI;
  return precision <= 6 ? arrow::TimeUnit::MICRO : arrow::TimeUnit::NANO;
}

std::shared_ptr<arrow::DataType> MapOf(const DataType& key, const std::shared_ptr<arrow::Field>& value) {
  return std::make_shared<arrow::MapType>(arrow::field("key", ToArrowType(key), /*nullable=*/false), value);
}

DataType Atomic(TypeRoot root, int32_t length = 0, int32_t precision = 0, int32_t scale = 0) {
  DataType type;
  type.root = root;
  type.length = length;
  type.precision = precision;
  type.scale = scale;
  return type;
}

Result<std::shared_ptr<const DataType>> FromField(const arrow::Field& field) {
  HEADRACE_ASSIGN_OR_RETURN(DataType type, FromArrowType(*field.type()));
  type.nullable = field.nullable();
  return std::make_shared<const DataType>(std::move(type));
}

Result<DataType> FromDecimal(const arrow::DecimalType& type) {
  if (type.precision() > 38 || type.scale() < 0 || type.scale() > type.precision()) {
    return Unsupported("no Paimon type holds ", type.ToString(),
                       ": DECIMAL has precision 1 to 38 and scale 0 to precision");
  }
  return Atomic(TypeRoot::kDecimal, 0, type.precision(), type.scale());
}

Result<DataType> FromNested(const arrow::DataType& type) {
  DataType result;
  switch (type.id()) {
    case arrow::Type::MAP: {
      const auto& map = static_cast<const arrow::MapType&>(type);
      result.root = TypeRoot::kMap;
      HEADRACE_ASSIGN_OR_RETURN(result.key, FromField(*map.key_field()));
      HEADRACE_ASSIGN_OR_RETURN(result.value, FromField(*map.item_field()));
      return result;
    }
    case arrow::Type::STRUCT:
      result.root = TypeRoot::kRow;
      for (const std::shared_ptr<arrow::Field>& child : type.fields()) {
        DataField field;
        field.name = child->name();
        HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<const DataType> inner, FromField(*child));
        field.type = *inner;
        result.fields.push_back(std::move(field));
      }
      {
        // Ids inside a row count from 0 until the row gets its place in a table.
        std::vector<DataField> holder(1);
        holder[0].type = std::move(result);
        int32_t highest_id = -2;
        AssignFieldIds(&holder, &highest_id);
        return std::move(holder[0].type);
      }
    default:
      result.root = TypeRoot::kArray;
      HEADRACE_ASSIGN_OR_RETURN(result.element, FromField(*type.field(0)));
      return result;
  }
}

Result<DataType> FromTemporal(const arrow::DataType& type) {
  static constexpr int32_t kPrecisions[] = {0, 3, 6, 9};  // SECOND, MILLI, MICRO, NANO
  if (type.id() == arrow::Type::TIMESTAMP) {
    const auto& timestamp = static_cast<const arrow::TimestampType&>(type);
    return Atomic(timestamp.timezone().empty() ? TypeRoot::kTimestamp : TypeRoot::kTimestampLtz, 0,
                  kPrecisions[timestamp.unit()]);
  }
  const auto& time = static_cast<const arrow::Time32Type&>(type);
  return Atomic(TypeRoot::kTime, 0, kPrecisions[time.unit()]);
}

}  // namespace

std::shared_ptr<arrow::DataType> ToArrowType(const DataType& type) {
  switch (type.root) {
    case TypeRoot::kBoolean: return arrow::boolean();
    case TypeRoot::kTinyInt: return arrow::int8();
    case TypeRoot::kSmallInt: return arrow::int16();
    case TypeRoot::kInt: return arrow::int32();
    case TypeRoot::kBigInt: return arrow::int64();
    case TypeRoot::kFloat: return arrow::float32();
    case TypeRoot::kDouble: return arrow::float64();
    case TypeRoot::kDecimal: return arrow::decimal128(type.precision, type.scale);
    case TypeRoot::kChar:
    case TypeRoot::kVarChar: return arrow::utf8();
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary: return arrow::binary();
    case TypeRoot::kDate: return arrow::date32();
    case TypeRoot::kTime: return arrow::time32(arrow::TimeUnit::MILLI);
    case TypeRoot::kTimestamp: return arrow::timestamp(UnitFor(type.precision));
    case TypeRoot::kTimestampLtz: return arrow::timestamp(UnitFor(type.precision), "UTC");
    case TypeRoot::kArray:
      return arrow::list(arrow::field("element", ToArrowType(*type.element), type.element->nullable));
    case TypeRoot::kMap:
      return MapOf(*type.key, arrow::field("value", ToArrowType(*type.value), type.value->nullable));
    case TypeRoot::kMultiset:
      return MapOf(*type.element, arrow::field("value", arrow::int32(), /*nullable=*/false));
    case TypeRoot::kRow: {
      arrow::FieldVector fields;
      for (const DataField& field : type.fields) fields.push_back(ToArrowField(field));
      return arrow::struct_(std::move(fields));
    }
  }
  return nullptr;
}

std::shared_ptr<arrow::Field> ToArrowField(const DataField& field) {
  return arrow::field(field.name, ToArrowType(field.type), field.type.nullable,
                      arrow::key_value_metadata({"PARQUET:field_id"}, {std::to_string(field.id)}));
}

std::shared_ptr<arrow::Schema> ToArrowSchema(const std::vector<DataField>& fields) {
  arrow::FieldVector result;
  for (const DataField& field : fields) result.push_back(ToArrowField(field));
  return arrow::schema(std::move(result));
}

Result<DataType> FromArrowType(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::BOOL: return Atomic(TypeRoot::kBoolean);
    case arrow::Type::INT8: return Atomic(TypeRoot::kTinyInt);
    case arrow::Type::INT16:
    case arrow::Type::UINT8: return Atomic(TypeRoot::kSmallInt);
    case arrow::Type::INT32:
    case arrow::Type::UINT16: return Atomic(TypeRoot::kInt);
    case arrow::Type::INT64:
    case arrow::Type::UINT32: return Atomic(TypeRoot::kBigInt);
    case arrow::Type::UINT64: return Atomic(TypeRoot::kDecimal, 0, 20, 0);
    case arrow::Type::HALF_FLOAT:
    case arrow::Type::FLOAT: return Atomic(TypeRoot::kFloat);
    case arrow::Type::DOUBLE: return Atomic(TypeRoot::kDouble);
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::STRING_VIEW: return Atomic(TypeRoot::kVarChar, kMaxLength);
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_BINARY:
    case arrow::Type::BINARY_VIEW: return Atomic(TypeRoot::kVarBinary, kMaxLength);
    case arrow::Type::FIXED_SIZE_BINARY: {
      const int32_t width = static_cast<const arrow::FixedSizeBinaryType&>(type).byte_width();
      if (width < 1) return Unsupported("no Paimon type holds ", type.ToString());
      return Atomic(TypeRoot::kBinary, width);
    }
    case arrow::Type::DECIMAL32:
    case arrow::Type::DECIMAL64:
    case arrow::Type::DECIMAL128:
    case arrow::Type::DECIMAL256: return FromDecimal(static_cast<const arrow::DecimalType&>(type));
    case arrow::Type::DATE32: return Atomic(TypeRoot::kDate);
    case arrow::Type::TIME32:
    case arrow::Type::TIMESTAMP: return FromTemporal(type);
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
    case arrow::Type::FIXED_SIZE_LIST:
    case arrow::Type::LIST_VIEW:
    case arrow::Type::LARGE_LIST_VIEW:
    case arrow::Type::MAP:
    case arrow::Type::STRUCT: return FromNested(type);
    case arrow::Type::DICTIONARY:
      return FromArrowType(*static_cast<const arrow::DictionaryType&>(type).value_type());
    default: return Unsupported("no Paimon type holds the Arrow type ", type.ToString(), " without loss");
  }
}

}  // namespace headrace
