// Arrow columns into the table's types, exactly: which types may go into which, and what is checked beyond Arrow's safe casts.
#include <algorithm>
#include <optional>

#include <arrow/api.h>
#include <arrow/compute/cast.h>

#include "ingest/columnar_source.h"
#include "ingest/json_lines_decoder.h"
#include "ingest/json_tape.h"

namespace headrace::ingest {
namespace {

using arrow::Type;

bool IsInteger(Type::type id) { return arrow::is_integer(id); }
bool IsFloat(Type::type id) { return arrow::is_floating(id); }
bool IsText(Type::type id) {
  return id == Type::STRING || id == Type::LARGE_STRING || id == Type::STRING_VIEW;
}
bool IsBinary(Type::type id) {
  return id == Type::BINARY || id == Type::LARGE_BINARY || id == Type::BINARY_VIEW ||
         id == Type::FIXED_SIZE_BINARY;
}

// The same type but for names of list items, nullability and metadata.
bool SameNested(const arrow::DataType& from, const arrow::DataType& to) {
  if (from.id() != to.id() || from.num_fields() != to.num_fields()) return false;
  if (from.num_fields() == 0) return from.Equals(to);
  for (int i = 0; i < from.num_fields(); ++i) {
    if (from.id() == Type::STRUCT && from.field(i)->name() != to.field(i)->name()) return false;
    if (!SameNested(*from.field(i)->type(), *to.field(i)->type())) return false;
  }
  return true;
}

// May values of `from` go into a column of that type, each one checked?
bool MayGo(const arrow::DataType& from, const DataType& type, const arrow::DataType& to) {
  const Type::type id = from.id();
  if (id == Type::NA) return true;
  if (id == Type::DICTIONARY)
    return MayGo(*static_cast<const arrow::DictionaryType&>(from).value_type(), type, to);
  switch (type.root) {
    case TypeRoot::kBoolean: return id == Type::BOOL;
    case TypeRoot::kTinyInt:
    case TypeRoot::kSmallInt:
    case TypeRoot::kInt:
    case TypeRoot::kBigInt: return IsInteger(id);
    case TypeRoot::kFloat:
    case TypeRoot::kDouble: return IsFloat(id) || IsInteger(id);
    case TypeRoot::kDecimal: return arrow::is_decimal(id) || IsInteger(id);
    case TypeRoot::kChar:
    case TypeRoot::kVarChar: return IsText(id);
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary: return IsBinary(id);
    case TypeRoot::kDate: return id == Type::DATE32 || id == Type::DATE64;
    case TypeRoot::kTime: return id == Type::TIME32 || id == Type::TIME64;
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      // A zone makes an instant of it; without one it is what a wall clock shows. Neither is the other.
      return id == Type::TIMESTAMP && static_cast<const arrow::TimestampType&>(from).timezone().empty() ==
                                          (type.root == TypeRoot::kTimestamp);
    case TypeRoot::kArray:
    case TypeRoot::kMap:
    case TypeRoot::kMultiset:
    case TypeRoot::kRow: return SameNested(from, to);
  }
  return false;
}

int64_t PowerOfTen(int digits) {
  int64_t power = 1;
  while (digits-- > 0) power *= 10;
  return power;
}

// Finer than Arrow's unit: TIMESTAMP(4) is kept in microseconds, but may have four digits alone.
template <typename ArrayType>
Status CheckDigits(const arrow::Array& array, const DataType& type, int stored_digits) {
  if (type.precision >= stored_digits) return Status::OK();
  const int64_t unit = PowerOfTen(stored_digits - type.precision);
  const auto& values = static_cast<const ArrayType&>(array);
  for (int64_t i = 0; i < values.length(); ++i) {
    if (values.IsValid(i) && values.Value(i) % unit != 0) {
      return Invalid("has more digits of a second than ", ToSql(type), " holds");
    }
  }
  return Status::OK();
}

Status CheckLengths(const arrow::Array& array, const DataType& type) {
  if (type.length == kMaxLength) return Status::OK();
  const bool text = type.root == TypeRoot::kChar || type.root == TypeRoot::kVarChar;
  const auto& values = static_cast<const arrow::BinaryArray&>(array);
  for (int64_t i = 0; i < values.length(); ++i) {
    if (values.IsNull(i)) continue;
    const std::string_view value = values.GetView(i);
    const auto length =
        text ? std::count_if(value.begin(), value.end(), [](char c) { return (c & 0xC0) != 0x80; })
             : static_cast<int64_t>(value.size());
    if (length > type.length) return Invalid("is of length ", length, ", but the column is ", ToSql(type));
  }
  return Status::OK();
}

Status CheckText(const arrow::Array& array) {
  const auto& text = static_cast<const arrow::StringArray&>(array);
  return text.ValidateUTF8().ok() ? Status::OK() : Invalid("is not UTF-8");
}

Status CheckTime(const arrow::Array& array) {
  const auto& times = static_cast<const arrow::Time32Array&>(array);
  for (int64_t i = 0; i < times.length(); ++i) {
    if (times.IsValid(i) && (times.Value(i) < 0 || times.Value(i) >= 86400000))
      return Invalid("is not a time of one day");
  }
  return Status::OK();
}

// Arrow narrows doubles without a word.
Status CheckNarrowed(const arrow::Array& from, const arrow::Array& narrowed) {
  HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::Array> back,
                            arrow::compute::Cast(narrowed, from.type()));
  return back->Equals(from, arrow::EqualOptions::Defaults().nans_equal(true))
             ? Status::OK()
             : Invalid("has more digits than FLOAT holds");
}

Status CheckValues(const arrow::Array& from, const arrow::Array& array, const DataType& type) {
  switch (type.root) {
    case TypeRoot::kFloat: return from.type_id() == Type::DOUBLE ? CheckNarrowed(from, array) : Status::OK();
    case TypeRoot::kChar:
    case TypeRoot::kVarChar: HEADRACE_RETURN_NOT_OK(CheckText(array)); return CheckLengths(array, type);
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary: return CheckLengths(array, type);
    case TypeRoot::kTime:
      HEADRACE_RETURN_NOT_OK(CheckTime(array));
      return CheckDigits<arrow::Time32Array>(array, type, 3);
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz:
      return CheckDigits<arrow::TimestampArray>(array, type,
                                                type.precision <= 3   ? 3
                                                : type.precision <= 6 ? 6
                                                                      : 9);
    default: return Status::OK();
  }
}

Result<std::shared_ptr<arrow::Array>> CastColumn(std::shared_ptr<arrow::Array> array, const DataType& type) {
  const std::shared_ptr<arrow::DataType> to = ToArrowType(type);
  if (!type.nullable && array->null_count() > 0) return Invalid("is null, but the column is NOT NULL");
  if (array->type_id() == Type::DICTIONARY) {
    HEADRACE_ASSIGN_OR_RETURN(
        array,
        arrow::compute::Cast(*array, static_cast<const arrow::DictionaryType&>(*array->type()).value_type()));
  }
  std::shared_ptr<arrow::Array> cast = array;
  if (!array->type()->Equals(*to)) {
    Result<std::shared_ptr<arrow::Array>> answer =
        arrow::compute::Cast(*array, to, arrow::compute::CastOptions::Safe());
    if (!answer.ok()) return Invalid("does not fit ", ToSql(type), ": ", answer.status().message());
    cast = *answer;
  }
  HEADRACE_RETURN_NOT_OK(CheckValues(*array, *cast, type));
  return cast;
}

Result<std::vector<int8_t>> ReadKinds(const arrow::Array& column, const TableShape& table) {
  std::shared_ptr<arrow::Array> text;
  std::vector<int8_t> kinds;
  if (IsInteger(column.type_id())) {
    HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::Array> bytes,
                              arrow::compute::Cast(column, arrow::int8()));
    for (int64_t i = 0; i < bytes->length(); ++i) {
      const int8_t kind = bytes->IsNull(i) ? -1 : static_cast<const arrow::Int8Array&>(*bytes).Value(i);
      if (kind < 0 || kind > 3) return Invalid("is no row kind: 0 to 3 (+I, -U, +U, -D) is wanted");
      kinds.push_back(kind);
    }
  } else {
    HEADRACE_ASSIGN_OR_RETURN(text, arrow::compute::Cast(column, arrow::utf8()));
    for (int64_t i = 0; i < text->length(); ++i) {
      const std::optional<RowKind> kind =
          text->IsNull(i) ? std::nullopt
                          : ParseRowKind(static_cast<const arrow::StringArray&>(*text).GetView(i));
      if (!kind) return Invalid("is no row kind: one of +I, -U, +U, -D is wanted");
      kinds.push_back(static_cast<int8_t>(*kind));
    }
  }
  for (const int8_t kind : kinds) {
    const std::string wrong = WrongKind(static_cast<RowKind>(kind), table);
    if (!wrong.empty()) return Invalid(wrong);
  }
  return kinds;
}

int ColumnOf(const TableShape& table, const std::string& name) {
  for (size_t i = 0; i < table.fields.size(); ++i) {
    if (table.fields[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

Status CheckColumns(const arrow::Schema& schema, const TableShape& table, const std::string& kind_column) {
  std::vector<bool> seen(table.fields.size(), false);
  for (const std::shared_ptr<arrow::Field>& field : schema.fields()) {
    const int column = ColumnOf(table, field->name());
    if (column < 0 && !kind_column.empty() && field->name() == kind_column) continue;
    if (column < 0) return Invalid("its column '", field->name(), "' is no column of the table");
    if (seen[column]) return Invalid("it has two columns '", field->name(), "'");
    seen[column] = true;
    const DataType& type = table.fields[column].type;
    if (!MayGo(*field->type(), type, *ToArrowType(type))) {
      return Invalid("its column '", field->name(), "' is ", field->type()->ToString(),
                     ", which does not go into ", ToSql(type));
    }
  }
  for (size_t i = 0; i < table.fields.size(); ++i) {
    if (!seen[i] && !table.fields[i].type.nullable)
      return Invalid("it has no column '", table.fields[i].name, "', which is NOT NULL");
  }
  if (!kind_column.empty() && schema.GetFieldIndex(kind_column) < 0)
    return Invalid("it has no kind column '", kind_column, "'");
  return Status::OK();
}

Result<CastRows> CastToTable(const std::shared_ptr<arrow::RecordBatch>& batch, const TableShape& table,
                             const std::string& kind_column) {
  HEADRACE_RETURN_NOT_OK(CheckColumns(*batch->schema(), table, kind_column));
  arrow::ArrayVector columns;
  for (const DataField& field : table.fields) {
    const std::shared_ptr<arrow::Array> column = batch->GetColumnByName(field.name);
    if (column == nullptr) {
      HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Array> nulls,
                                arrow::MakeArrayOfNull(ToArrowType(field.type), batch->num_rows()));
      columns.push_back(std::move(nulls));
      continue;
    }
    Result<std::shared_ptr<arrow::Array>> cast = CastColumn(column, field.type);
    if (!cast.ok()) return Invalid("column '", field.name, "' ", cast.status().message());
    columns.push_back(*cast);
  }
  CastRows cast{arrow::RecordBatch::Make(ToArrowSchema(table.fields), batch->num_rows(), std::move(columns)),
                nullptr};
  if (kind_column.empty()) return cast;
  Result<std::vector<int8_t>> kinds = ReadKinds(*batch->GetColumnByName(kind_column), table);
  if (!kinds.ok()) return Invalid("column '", kind_column, "' ", kinds.status().message());
  cast.kinds =
      std::make_shared<arrow::Int8Array>(batch->num_rows(), arrow::Buffer::FromVector(std::move(*kinds)));
  return cast;
}

std::string RowAsJson(const arrow::RecordBatch& batch, int64_t row) {
  std::string text = "{";
  for (int i = 0; i < batch.num_columns(); ++i) {
    if (i > 0) text += ",";
    AppendJsonString(batch.schema()->field(i)->name(), &text);
    const Result<std::shared_ptr<arrow::Scalar>> value = batch.column(i)->GetScalar(row);
    text += ":";
    if (!value.ok() || !(*value)->is_valid) {
      text += "null";
    } else {
      AppendJsonString((*value)->ToString(), &text);
    }
  }
  return text + "}";
}

}  // namespace headrace::ingest
