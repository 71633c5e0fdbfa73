// Snapshot and tag files: JSON to structs and back.
#include "format/snapshot.h"

#include <array>
#include <charconv>
#include <cstdio>

#include "base/json.h"
#include "format/civil_time.h"
#include "format/file_name.h"

namespace headrace {
namespace {

constexpr std::array<std::string_view, 4> kCommitKinds = {"APPEND", "COMPACT", "OVERWRITE", "ANALYZE"};

Result<CommitKind> ParseCommitKind(std::string_view name, std::string_view origin) {
  for (size_t i = 0; i < kCommitKinds.size(); ++i) {
    if (kCommitKinds[i] == name) return static_cast<CommitKind>(i);
  }
  return Corruption(origin, ": commitKind \"", name, "\", expected APPEND, COMPACT, OVERWRITE or ANALYZE");
}

// The files a snapshot names lie in manifest/ and statistics/: a name that leads elsewhere is not followed. Its lists are different files, and
// a list whose size is told is there: otherwise a damaged text would pass for another snapshot.
Status CheckNames(const Snapshot& snapshot, std::string_view origin) {
  const std::pair<std::string_view, const std::string*> names[] = {
      {"baseManifestList", &snapshot.base_manifest_list},
      {"deltaManifestList", &snapshot.delta_manifest_list},
      {"changelogManifestList",
       snapshot.changelog_manifest_list ? &*snapshot.changelog_manifest_list : nullptr},
      {"indexManifest", snapshot.index_manifest ? &*snapshot.index_manifest : nullptr},
      {"statistics", snapshot.statistics ? &*snapshot.statistics : nullptr},
  };
  for (const auto& [key, name] : names) {
    if (name == nullptr) continue;
    if (const char* wrong = WhyNotAFileName(*name))
      return Corruption(origin, ": \"", key, "\" is ", QuoteJson(*name), ", ", wrong);
  }
  const std::string_view base = snapshot.base_manifest_list, delta = snapshot.delta_manifest_list;
  if (base == delta || base == snapshot.changelog_manifest_list || delta == snapshot.changelog_manifest_list)
    return Corruption(origin, ": two of \"baseManifestList\" ", QuoteJson(base), ", \"deltaManifestList\" ",
                      QuoteJson(delta), " and \"changelogManifestList\" are one file");
  if (snapshot.changelog_manifest_list_bytes.has_value() && !snapshot.changelog_manifest_list.has_value())
    return Corruption(origin,
                      ": \"changelogManifestList\" is missing, although \"changelogManifestListSize\" is ",
                      *snapshot.changelog_manifest_list_bytes);
  return Status::OK();
}

Result<Snapshot> SnapshotFromJson(const nlohmann::json& json, std::string_view origin) {
  Snapshot snapshot;
  HEADRACE_ASSIGN_OR_RETURN(std::optional<int32_t> version, FindInt32(json, "version", origin));
  snapshot.version = version.value_or(1);  // the first writers left it out
  if (snapshot.version > 3) {
    return Unsupported(origin, ": snapshot version ", snapshot.version,
                       ", this build reads versions up to 3");
  }
  HEADRACE_ASSIGN_OR_RETURN(snapshot.uuid, FindString(json, "uuid", origin));
  HEADRACE_ASSIGN_OR_RETURN(snapshot.id.value, GetInt64(json, "id", origin));
  HEADRACE_ASSIGN_OR_RETURN(snapshot.schema_id.value, GetInt64(json, "schemaId", origin));
  HEADRACE_ASSIGN_OR_RETURN(snapshot.base_manifest_list, GetString(json, "baseManifestList", origin));
  HEADRACE_ASSIGN_OR_RETURN(snapshot.base_manifest_list_bytes,
                            FindInt64(json, "baseManifestListSize", origin));
  HEADRACE_ASSIGN_OR_RETURN(snapshot.delta_manifest_list, GetString(json, "deltaManifestList", origin));
  HEADRACE_ASSIGN_OR_RETURN(snapshot.delta_manifest_list_bytes,
                            FindInt64(json, "deltaManifestListSize", origin));
  HEADRACE_ASSIGN_OR_RETURN(snapshot.changelog_manifest_list,
                            FindString(json, "changelogManifestList", origin));
  HEADRACE_ASSIGN_OR_RETURN(snapshot.changelog_manifest_list_bytes,
                            FindInt64(json, "changelogManifestListSize", origin));
  HEADRACE_ASSIGN_OR_RETURN(snapshot.index_manifest, FindString(json, "indexManifest", origin));
  HEADRACE_ASSIGN_OR_RETURN(snapshot.commit_user, GetString(json, "commitUser", origin));
  HEADRACE_ASSIGN_OR_RETURN(snapshot.commit_identifier, GetInt64(json, "commitIdentifier", origin));
  HEADRACE_ASSIGN_OR_RETURN(std::string kind, GetString(json, "commitKind", origin));
  HEADRACE_ASSIGN_OR_RETURN(snapshot.commit_kind, ParseCommitKind(kind, origin));
  HEADRACE_ASSIGN_OR_RETURN(snapshot.time_millis, GetInt64(json, "timeMillis", origin));
  HEADRACE_ASSIGN_OR_RETURN(snapshot.total_record_count, FindInt64(json, "totalRecordCount", origin));
  HEADRACE_ASSIGN_OR_RETURN(snapshot.delta_record_count, FindInt64(json, "deltaRecordCount", origin));
  HEADRACE_ASSIGN_OR_RETURN(snapshot.changelog_record_count, FindInt64(json, "changelogRecordCount", origin));
  HEADRACE_ASSIGN_OR_RETURN(snapshot.watermark, FindInt64(json, "watermark", origin));
  HEADRACE_ASSIGN_OR_RETURN(snapshot.statistics, FindString(json, "statistics", origin));
  HEADRACE_ASSIGN_OR_RETURN(auto properties, FindStringMap(json, "properties", origin));
  if (properties.has_value()) snapshot.properties = *std::move(properties);
  HEADRACE_ASSIGN_OR_RETURN(snapshot.next_row_id, FindInt64(json, "nextRowId", origin));
  HEADRACE_RETURN_NOT_OK(CheckNames(snapshot, origin));
  return snapshot;
}

void WriteSnapshot(const Snapshot& snapshot, JsonWriter* out) {
  out->Field("version", snapshot.version);
  out->FieldIfSet("uuid", snapshot.uuid);
  out->Field("id", snapshot.id.value);
  out->Field("schemaId", snapshot.schema_id.value);
  out->Field("baseManifestList", snapshot.base_manifest_list);
  out->FieldIfSet("baseManifestListSize", snapshot.base_manifest_list_bytes);
  out->Field("deltaManifestList", snapshot.delta_manifest_list);
  out->FieldIfSet("deltaManifestListSize", snapshot.delta_manifest_list_bytes);
  out->Key("changelogManifestList");  // written even when there is none, as 1.3.1 does
  if (snapshot.changelog_manifest_list.has_value()) {
    out->String(*snapshot.changelog_manifest_list);
  } else {
    out->Null();
  }
  out->FieldIfSet("changelogManifestListSize", snapshot.changelog_manifest_list_bytes);
  out->FieldIfSet("indexManifest", snapshot.index_manifest);
  out->Field("commitUser", snapshot.commit_user);
  out->Field("commitIdentifier", snapshot.commit_identifier);
  out->Field("commitKind", NameOf(snapshot.commit_kind));
  out->Field("timeMillis", snapshot.time_millis);
  out->Key("logOffsets").BeginObject().EndObject();  // always empty; 1.3.1 and older expect it
  out->FieldIfSet("totalRecordCount", snapshot.total_record_count);
  out->FieldIfSet("deltaRecordCount", snapshot.delta_record_count);
  out->FieldIfSet("changelogRecordCount", snapshot.changelog_record_count);
  out->FieldIfSet("watermark", snapshot.watermark);
  out->FieldIfSet("statistics", snapshot.statistics);
  if (!snapshot.properties.empty()) out->Field("properties", snapshot.properties);
  out->FieldIfSet("nextRowId", snapshot.next_row_id);
}

// [year, month, day, hour, minute, second, nanosecond]; zeros at the end may be left out down to the minute.
Result<std::optional<Timestamp>> ParseCreateTime(const nlohmann::json& json, std::string_view origin) {
  HEADRACE_ASSIGN_OR_RETURN(const nlohmann::json* parts, FindArray(json, "tagCreateTime", origin));
  if (parts == nullptr) return std::nullopt;
  std::array<int64_t, 7> numbers{};
  if (parts->size() < 3 || parts->size() > numbers.size()) {
    return Corruption(origin, ": tagCreateTime has ", parts->size(), " parts, expected 3 to 7");
  }
  static constexpr std::array<int64_t, 7> kLeast = {-200000000, 1, 1, 0, 0, 0, 0};
  static constexpr std::array<int64_t, 7> kMost = {200000000, 12, 31, 23, 59, 59, 999999999};
  for (size_t i = 0; i < parts->size(); ++i) {
    const nlohmann::json& part = (*parts)[i];
    if (!part.is_number_integer())
      return Corruption(origin, ": part ", i, " of tagCreateTime is not an integer");
    numbers[i] = part.get<int64_t>();
    if (numbers[i] < kLeast[i] || numbers[i] > kMost[i]) {
      return Corruption(origin, ": part ", i, " of tagCreateTime is ", numbers[i]);
    }
  }
  const int64_t days =
      DaysFromCivil({numbers[0], static_cast<int32_t>(numbers[1]), static_cast<int32_t>(numbers[2])});
  Timestamp time;
  time.millis =
      days * kMillisPerDay + ((numbers[3] * 60 + numbers[4]) * 60 + numbers[5]) * 1000 + numbers[6] / 1000000;
  time.nanos_of_milli = static_cast<int32_t>(numbers[6] % 1000000);
  return time;
}

void WriteCreateTime(const Timestamp& time, JsonWriter* out) {
  const CivilDate date = CivilFromDays(FloorDiv(time.millis, kMillisPerDay));
  const int64_t millis = FloorMod(time.millis, kMillisPerDay);
  const int64_t second = millis / 1000 % 60;
  const int64_t nanos = millis % 1000 * 1000000 + time.nanos_of_milli;
  out->BeginArray()
      .Int(date.year)
      .Int(date.month)
      .Int(date.day)
      .Int(millis / 3600000)
      .Int(millis / 60000 % 60);
  if (second > 0 || nanos > 0) out->Int(second);
  if (nanos > 0) out->Int(nanos);
  out->EndArray();
}

Result<std::optional<TagRetention>> ParseRetention(const nlohmann::json& json, std::string_view text,
                                                   std::string_view origin) {
  const auto member = json.find("tagTimeRetained");
  if (member == json.end() || member->is_null()) return std::nullopt;
  if (!member->is_number())
    return Corruption(origin, ": tagTimeRetained is ", member->type_name(), ", not a number");
  // The parsed double has lost digits: read the number in the text again.
  constexpr std::string_view kKey = "\"tagTimeRetained\"";
  size_t at = text.rfind(kKey);
  if (at == std::string_view::npos) return Corruption(origin, ": tagTimeRetained is written with escapes");
  at = text.find_first_of("-0123456789", at + kKey.size());
  TagRetention retention;
  const char* end = text.data() + text.size();
  const auto [point, error] = std::from_chars(text.data() + at, end, retention.seconds);
  if (error != std::errc() || retention.seconds < 0)
    return Corruption(origin, ": tagTimeRetained is out of range");
  if (point != end && *point == '.') {
    int32_t unit = 100000000;
    for (const char* digit = point + 1; digit != end && *digit >= '0' && *digit <= '9' && unit > 0; ++digit) {
      retention.nanos += (*digit - '0') * unit;
      unit /= 10;
    }
  }
  const size_t after = text.find_first_not_of("-.0123456789", at);
  if (after != std::string_view::npos && (text[after] == 'e' || text[after] == 'E')) {
    return Corruption(origin, ": tagTimeRetained is written with an exponent");
  }
  return retention;
}

}  // namespace

std::string_view NameOf(CommitKind kind) { return kCommitKinds[static_cast<size_t>(kind)]; }

Result<Snapshot> ParseSnapshot(std::string_view json, std::string_view origin) {
  HEADRACE_ASSIGN_OR_RETURN(nlohmann::json parsed, ParseJson(json, origin));
  return SnapshotFromJson(parsed, origin);
}

std::string SerializeSnapshot(const Snapshot& snapshot) {
  JsonWriter out;
  out.BeginObject();
  WriteSnapshot(snapshot, &out);
  out.EndObject();
  return std::move(out).Finish();
}

Result<Tag> ParseTag(std::string_view json, std::string_view origin) {
  HEADRACE_ASSIGN_OR_RETURN(nlohmann::json parsed, ParseJson(json, origin));
  Tag tag;
  HEADRACE_ASSIGN_OR_RETURN(tag.snapshot, SnapshotFromJson(parsed, origin));
  HEADRACE_ASSIGN_OR_RETURN(tag.create_local_time, ParseCreateTime(parsed, origin));
  HEADRACE_ASSIGN_OR_RETURN(tag.retained, ParseRetention(parsed, json, origin));
  return tag;
}

std::string SerializeTag(const Tag& tag) {
  JsonWriter out;
  out.BeginObject();
  WriteSnapshot(tag.snapshot, &out);
  if (tag.create_local_time.has_value()) {
    out.Key("tagCreateTime");
    WriteCreateTime(*tag.create_local_time, &out);
  }
  if (tag.retained.has_value()) {
    char text[48];
    std::snprintf(text, sizeof(text), "%lld.%09d", static_cast<long long>(tag.retained->seconds),
                  tag.retained->nanos);
    out.Key("tagTimeRetained").Number(text);
  }
  out.EndObject();
  return std::move(out).Finish();
}

}  // namespace headrace
