#include "file/evolve.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/compute/cast.h>
#include <arrow/compute/exec.h>
#include <arrow/type.h>

namespace headrace {
namespace {

bool IsInteger(TypeRoot root) {
  return root == TypeRoot::kTinyInt || root == TypeRoot::kSmallInt || root == TypeRoot::kInt ||
         root == TypeRoot::kBigInt;
}

// Decimal digits that every value fits in.
int32_t DigitsOf(TypeRoot integer) {
  switch (integer) {
    case TypeRoot::kTinyInt: return 3;
    case TypeRoot::kSmallInt: return 5;
    case TypeRoot::kInt: return 10;
    default: return 19;
  }
}

bool IntegerWidens(TypeRoot from, const DataType& to) {
  if (IsInteger(to.root)) return to.root >= from;  // the roots stand in order of width
  switch (to.root) {
    case TypeRoot::kFloat: return from <= TypeRoot::kSmallInt;
    case TypeRoot::kDouble: return from <= TypeRoot::kInt;
    case TypeRoot::kDecimal: return to.precision - to.scale >= DigitsOf(from);
    case TypeRoot::kVarChar: return to.length > DigitsOf(from);  // one more for the sign
    default: return false;
  }
}

bool AtomWidens(const DataType& from, const DataType& to) {
  if (IsInteger(from.root)) return IntegerWidens(from.root, to);
  switch (from.root) {
    case TypeRoot::kBoolean:
      return to.root == TypeRoot::kBoolean || (to.root == TypeRoot::kVarChar && to.length >= 5);
    case TypeRoot::kFloat: return to.root == TypeRoot::kFloat || to.root == TypeRoot::kDouble;
    case TypeRoot::kDecimal:
      return to.root == TypeRoot::kDecimal && to.scale >= from.scale &&
             to.precision - to.scale >= from.precision - from.scale;
    case TypeRoot::kChar:
      return (to.root == TypeRoot::kChar && to.length == from.length) ||
             (to.root == TypeRoot::kVarChar && to.length >= from.length);
    case TypeRoot::kVarChar: return to.root == TypeRoot::kVarChar && to.length >= from.length;
    case TypeRoot::kBinary:
      return (to.root == TypeRoot::kBinary && to.length == from.length) ||
             (to.root == TypeRoot::kVarBinary && to.length >= from.length);
    case TypeRoot::kVarBinary: return to.root == TypeRoot::kVarBinary && to.length >= from.length;
    case TypeRoot::kDate: return to.root == TypeRoot::kDate || to.root == TypeRoot::kTimestamp;
    case TypeRoot::kTime:
    case TypeRoot::kTimestamp:
    case TypeRoot::kTimestampLtz: return to.root == from.root && to.precision >= from.precision;
    default: return to.root == from.root;
  }
}

Status Widens(const std::string& column, const DataType& from, const DataType& to) {
  if (!from.is_nested() && !to.is_nested()) {
    if (AtomWidens(from, to)) return Status::OK();
  } else if (from.root == to.root) {
    switch (from.root) {
      case TypeRoot::kArray:
      case TypeRoot::kMultiset: return Widens(column + ".element", *from.element, *to.element);
      case TypeRoot::kMap:
        HEADRACE_RETURN_NOT_OK(Widens(column + ".key", *from.key, *to.key));
        return Widens(column + ".value", *from.value, *to.value);
      default: break;
    }
    for (const DataField& field : to.fields) {
      const DataField* old = FindFieldById(from.fields, field.id);
      if (old != nullptr) HEADRACE_RETURN_NOT_OK(Widens(column + "." + field.name, old->type, field.type));
    }
    return Status::OK();
  }
  return Unsupported("column ", column, ": the file holds ", ToSql(from), ", the table ", ToSql(to),
                     "; only casts that lose nothing are built (wider numbers, decimals, strings, times; "
                     "integers to text). ",
                     "Rewrite the table with a writer that casts, or alter the column to a type wide enough");
}

struct Place {
  const std::string& column;
  arrow::MemoryPool* pool;
};

Result<std::shared_ptr<arrow::ArrayData>> CastTo(const Place& place,
                                                 const std::shared_ptr<arrow::ArrayData>& data,
                                                 const std::shared_ptr<arrow::DataType>& type) {
  if (data->type->Equals(*type)) return data;
  arrow::compute::ExecContext context(place.pool);
  auto cast = arrow::compute::Cast(arrow::Datum(data), type, arrow::compute::CastOptions::Safe(), &context);
  if (cast.ok()) return cast->array();
  return Corruption("column ", place.column, ": found ", data->type->ToString(), ", wanted ",
                    type->ToString(), ": ", cast.status().message());
}

std::shared_ptr<arrow::ArrayData> Retyped(const arrow::ArrayData& data,
                                          std::shared_ptr<arrow::DataType> type) {
  auto copy = std::make_shared<arrow::ArrayData>(data);
  copy->type = std::move(type);
  return copy;
}

// Times of day and instants are the same numbers whatever the file says about zones.
std::shared_ptr<arrow::ArrayData> WithZoneOf(const std::shared_ptr<arrow::ArrayData>& data,
                                             const DataType& from) {
  if (data->type->id() != arrow::Type::TIMESTAMP) return data;
  if (from.root != TypeRoot::kTimestamp && from.root != TypeRoot::kTimestampLtz) return data;
  const auto& found = static_cast<const arrow::TimestampType&>(*data->type);
  const std::string zone = from.root == TypeRoot::kTimestampLtz ? "UTC" : "";
  if (found.timezone() == zone) return data;
  return Retyped(*data, arrow::timestamp(found.unit(), zone));
}

Result<std::shared_ptr<arrow::ArrayData>> Evolve(const Place& place,
                                                 const std::shared_ptr<arrow::ArrayData>& data,
                                                 const DataType& from, const DataType& to);

// Arrow's reader hands over the codes of a dictionary as the page has them; a cast would follow one beyond its end.
Status CheckCodes(const Place& place, const arrow::ArrayData& data) {
  if (static_cast<const arrow::DictionaryType&>(*data.type).index_type()->id() != arrow::Type::INT32)
    return Corruption("column ", place.column, ": found ", data.type->ToString());
  const auto entries = static_cast<uint64_t>(data.dictionary->length);
  const auto* codes = data.GetValues<uint32_t>(1);
  uint32_t largest = 0;
  for (int64_t i = 0; i < data.length; ++i) largest = std::max(largest, codes[i]);
  if (data.length == 0 || largest < entries) return Status::OK();
  // What stands at the place of a null means nothing.
  for (int64_t i = 0; i < data.length; ++i) {
    if (codes[i] < entries || data.IsNull(i)) continue;
    return Corruption("column ", place.column, ": a value refers to entry ", codes[i], " of a dictionary of ",
                      entries);
  }
  return Status::OK();
}

Result<std::shared_ptr<arrow::ArrayData>> EvolveAtom(const Place& place,
                                                     std::shared_ptr<arrow::ArrayData> data,
                                                     const DataType& from, const DataType& to) {
  if (data->type->id() == arrow::Type::DICTIONARY) {
    const auto& values = static_cast<const arrow::DictionaryType&>(*data->type).value_type();
    HEADRACE_RETURN_NOT_OK(CheckCodes(place, *data));
    HEADRACE_ASSIGN_OR_RETURN(data, CastTo(place, data, values));
  }
  data = WithZoneOf(data, from);
  HEADRACE_ASSIGN_OR_RETURN(data, CastTo(place, data, ToArrowType(from)));
  return CastTo(place, data, ToArrowType(to));
}

Status Mismatch(const Place& place, const arrow::ArrayData& data, const DataType& from) {
  return Corruption("column ", place.column, ": found ", data.type->ToString(), ", the file's schema says ",
                    ToSql(from));
}

// Children are taken whole, from before the parent's offset on, so that offsets and null bits stay as they are.
Result<std::shared_ptr<arrow::ArrayData>> EvolveRow(const Place& place,
                                                    const std::shared_ptr<arrow::ArrayData>& data,
                                                    const DataType& from, const DataType& to) {
  if (data->type->id() != arrow::Type::STRUCT) return Mismatch(place, *data, from);
  const auto& found = static_cast<const arrow::StructType&>(*data->type);
  std::vector<std::shared_ptr<arrow::ArrayData>> children;
  for (const DataField& field : to.fields) {
    const DataField* old = FindFieldById(from.fields, field.id);
    const int index = old == nullptr ? -1 : found.GetFieldIndex(old->name);
    if (index < 0) {
      HEADRACE_ASSIGN_OR_RETURN(
          const std::shared_ptr<arrow::Array> nulls,
          arrow::MakeArrayOfNull(ToArrowType(field.type), data->offset + data->length, place.pool));
      children.push_back(nulls->data());
      continue;
    }
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::ArrayData> child,
                              Evolve(place, data->child_data[index], old->type, field.type));
    children.push_back(std::move(child));
  }
  auto result = Retyped(*data, ToArrowType(to));
  result->child_data = std::move(children);
  return result;
}

Result<std::shared_ptr<arrow::ArrayData>> EvolveArray(const Place& place,
                                                      std::shared_ptr<arrow::ArrayData> data,
                                                      const DataType& from, const DataType& to) {
  if (data->type->id() == arrow::Type::LARGE_LIST || data->type->id() == arrow::Type::FIXED_SIZE_LIST) {
    HEADRACE_ASSIGN_OR_RETURN(data, CastTo(place, data, arrow::list(data->type->field(0))));
  }
  if (data->type->id() != arrow::Type::LIST) return Mismatch(place, *data, from);
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::ArrayData> elements,
                            Evolve(place, data->child_data[0], *from.element, *to.element));
  auto result = Retyped(*data, ToArrowType(to));
  result->child_data = {std::move(elements)};
  return result;
}

Result<std::shared_ptr<arrow::ArrayData>> EvolveMap(const Place& place,
                                                    const std::shared_ptr<arrow::ArrayData>& data,
                                                    const DataType& from, const DataType& to) {
  if (data->type->id() != arrow::Type::MAP) return Mismatch(place, *data, from);
  DataType count;
  count.root = TypeRoot::kInt;
  const bool multiset = from.root == TypeRoot::kMultiset;
  const arrow::ArrayData& entries = *data->child_data[0];
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::ArrayData> keys,
                            Evolve(place, entries.child_data[0], multiset ? *from.element : *from.key,
                                   multiset ? *to.element : *to.key));
  HEADRACE_ASSIGN_OR_RETURN(
      std::shared_ptr<arrow::ArrayData> values,
      Evolve(place, entries.child_data[1], multiset ? count : *from.value, multiset ? count : *to.value));
  auto result = Retyped(*data, ToArrowType(to));
  auto pairs = Retyped(entries, static_cast<const arrow::MapType&>(*result->type).value_type());
  pairs->child_data = {std::move(keys), std::move(values)};
  result->child_data = {std::move(pairs)};
  return result;
}

Result<std::shared_ptr<arrow::ArrayData>> Evolve(const Place& place,
                                                 const std::shared_ptr<arrow::ArrayData>& data,
                                                 const DataType& from, const DataType& to) {
  switch (from.root) {
    case TypeRoot::kRow: return EvolveRow(place, data, from, to);
    case TypeRoot::kArray: return EvolveArray(place, data, from, to);
    case TypeRoot::kMap:
    case TypeRoot::kMultiset: return EvolveMap(place, data, from, to);
    default: return EvolveAtom(place, data, from, to);
  }
}

}  // namespace

const DataField* FindFieldById(const std::vector<DataField>& fields, int32_t id) {
  for (const DataField& field : fields) {
    if (field.id == id) return &field;
  }
  return nullptr;
}

Status CheckWidening(const std::string& column, const DataType& from, const DataType& to) {
  return Widens(column, from, to);
}

Result<std::shared_ptr<arrow::Array>> EvolveColumn(const std::string& column,
                                                   const std::shared_ptr<arrow::Array>& array,
                                                   const DataType& from, const DataType& to,
                                                   arrow::MemoryPool* pool) {
  // The common case costs one comparison of types. Equal Arrow types may still hide evolved rows: ids are compared too.
  if (!from.is_nested() && from.root == to.root && array->type()->Equals(*ToArrowType(to))) return array;
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::ArrayData> data,
                            Evolve(Place{column, pool}, array->data(), from, to));
  return arrow::MakeArray(std::move(data));
}

}  // namespace headrace
