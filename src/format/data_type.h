// Paimon's data types and fields as plain values, their SQL and JSON text, and the Arrow type each one is in memory.
//
// Immutable values; equality is structural, nullability and field ids included. VARIANT, BLOB and VECTOR are refused by name
// (ErrorKind::kUnsupported). Source of the rules: DataTypeJsonParser, DataTypes, ReassignFieldId of Java Paimon.
//
// Arrow types: CHAR, VARCHAR → utf8; BINARY, VARBINARY → binary; TIME → time32[ms]; TIMESTAMP(p) → timestamp[ms|us|ns] for
// p ≤ 3 | ≤ 6 | ≤ 9; TIMESTAMP_LTZ the same with zone "UTC"; DECIMAL → decimal128; MULTISET<T> → map<T, int32>; MAP keys are
// not null. Arrow fields carry the field id as metadata "PARQUET:field_id".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>
#include <nlohmann/json_fwd.hpp>

#include "base/error.h"

namespace headrace {

enum class TypeRoot {
  kBoolean,
  kTinyInt,
  kSmallInt,
  kInt,
  kBigInt,
  kFloat,
  kDouble,
  kDecimal,
  kChar,
  kVarChar,
  kBinary,
  kVarBinary,
  kDate,
  kTime,
  kTimestamp,
  kTimestampLtz,
  kArray,
  kMap,
  kMultiset,
  kRow,
};

constexpr int32_t kMaxLength = 2147483647;  // VARCHAR(kMaxLength) is STRING, VARBINARY(kMaxLength) is BYTES

struct DataField;

struct DataType {
  TypeRoot root = TypeRoot::kInt;
  bool nullable = true;
  int32_t length = 0;                       // CHAR, VARCHAR in characters; BINARY, VARBINARY in bytes
  int32_t precision = 0;                    // DECIMAL 1–38; TIME, TIMESTAMP, TIMESTAMP_LTZ 0–9
  int32_t scale = 0;                        // DECIMAL
  std::shared_ptr<const DataType> element;  // ARRAY, MULTISET
  std::shared_ptr<const DataType> key;      // MAP
  std::shared_ptr<const DataType> value;    // MAP
  std::vector<DataField> fields;            // ROW

  bool operator==(const DataType& other) const;
  bool is_nested() const { return root >= TypeRoot::kArray; }
};

struct DataField {
  int32_t id = 0;
  std::string name;
  DataType type;
  std::optional<std::string> description;
  std::optional<std::string> default_value;

  bool operator==(const DataField& other) const = default;
};

// SQL text such as "DECIMAL(10, 2) NOT NULL", "ARRAY<INT>", "ROW<a INT, b STRING>"; synonyms and any case are taken.
Result<DataType> ParseDataType(std::string_view text);

// The SQL text as Java prints it for atomic types (STRING for the longest VARCHAR, ", " inside DECIMAL).
std::string ToSql(const DataType& type);

// A column list "a BIGINT NOT NULL, b ROW<x INT, y STRING>": ids are assigned from 0.
Result<std::vector<DataField>> ParseColumns(std::string_view text);

// The JSON of a schema file: a string for an atomic type, an object for a nested one.
nlohmann::json ToJson(const DataType& type);
Result<DataType> DataTypeFromJson(const nlohmann::json& json);

// Gives ids in Java's order, continuing after *highest_id, which grows: a column before what it holds, but inside a row what a
// field holds before the field itself: "a INT, r ROW<x INT, s ROW<y INT>>" gives a 0, r 1, x 2, y 3, s 4.
void AssignFieldIds(std::vector<DataField>* fields, int32_t* highest_id);

std::shared_ptr<arrow::DataType> ToArrowType(const DataType& type);
std::shared_ptr<arrow::Field> ToArrowField(const DataField& field);
std::shared_ptr<arrow::Schema> ToArrowSchema(const std::vector<DataField>& fields);

// The Paimon type that holds an Arrow type without loss; kUnsupported names the type otherwise.
Result<DataType> FromArrowType(const arrow::DataType& type);

}  // namespace headrace
