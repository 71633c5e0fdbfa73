// Puts decoded values into manifest structs, checking each: the one place that both the Avro and the Arrow decoder go through.
//
// Each overload sets the field with the given enumerator of manifest_fields.h and returns nullptr, or says what is wrong.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/manifest.h"
#include "format/manifest_fields.h"

namespace headrace {

using Problem = const char*;  // nullptr: none

std::span<const WantedField> FieldsFor(const SimpleStats*);
std::span<const WantedField> FieldsFor(const ManifestFileMeta*);
std::span<const WantedField> FieldsFor(const DataFileMeta*);
std::span<const WantedField> FieldsFor(const ManifestEntry*);
std::span<const WantedField> FieldsFor(const DeletionVectorRange*);
std::span<const WantedField> FieldsFor(const IndexManifestEntry*);

Problem SetLong(SimpleStats* out, int32_t field, int64_t value);
Problem SetLong(ManifestFileMeta* out, int32_t field, int64_t value);
Problem SetLong(DataFileMeta* out, int32_t field, int64_t value);
Problem SetLong(ManifestEntry* out, int32_t field, int64_t value);
Problem SetLong(DeletionVectorRange* out, int32_t field, int64_t value);
Problem SetLong(IndexManifestEntry* out, int32_t field, int64_t value);

Problem SetBytes(SimpleStats* out, int32_t field, std::string_view value);
Problem SetBytes(ManifestFileMeta* out, int32_t field, std::string_view value);
Problem SetBytes(DataFileMeta* out, int32_t field, std::string_view value);
Problem SetBytes(ManifestEntry* out, int32_t field, std::string_view value);
Problem SetBytes(DeletionVectorRange* out, int32_t field, std::string_view value);
Problem SetBytes(IndexManifestEntry* out, int32_t field, std::string_view value);

// Where a list or a record of a field goes; nullptr: the struct has no such field.
std::vector<std::optional<int64_t>>* LongsOf(SimpleStats* out, int32_t field);
std::vector<std::string>* StringsOf(DataFileMeta* out, int32_t field);
SimpleStats* RecordOf(ManifestFileMeta* out, int32_t field);
SimpleStats* RecordOf(DataFileMeta* out, int32_t field);
DataFileMeta* RecordOf(ManifestEntry* out, int32_t field);
std::vector<DeletionVectorRange>* RecordsOf(IndexManifestEntry* out, int32_t field);
// Checks a list of strings once it is read.
Problem CheckStrings(const DataFileMeta& out, int32_t field);
inline void SetPresent(IndexManifestEntry* out) { out->has_global_index = true; }

}  // namespace headrace
