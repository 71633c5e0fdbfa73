// Field lists in the JSON of schema files: the part of data_type.h that only table_schema.cc needs.
//
// Pure; kCorruption names the field. VARIANT, BLOB, VECTOR are kUnsupported.
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.h"
#include "format/data_type.h"

namespace headrace {

class JsonWriter;

Result<std::vector<DataField>> FieldsFromJson(const nlohmann::json& json);
void WriteFieldsJson(const std::vector<DataField>& fields, JsonWriter* out);

}  // namespace headrace
