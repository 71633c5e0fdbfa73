// A snapshot file: one committed state of a table; and a tag file: a snapshot with a name and perhaps a time to live.
//
// Plain values; unknown JSON keys are ignored and an explicit null is the same as an absent key. Source: Snapshot.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/ids.h"
#include "format/value.h"

namespace headrace {

enum class CommitKind { kAppend, kCompact, kOverwrite, kAnalyze };
std::string_view NameOf(CommitKind kind);  // "APPEND" …

struct Snapshot {
  int32_t version = 3;
  std::optional<std::string> uuid;
  SnapshotId id;
  SchemaId schema_id;  // the table's latest schema at commit time
  std::string base_manifest_list;
  std::optional<int64_t> base_manifest_list_bytes;
  std::string delta_manifest_list;
  std::optional<int64_t> delta_manifest_list_bytes;
  std::optional<std::string> changelog_manifest_list;
  std::optional<int64_t> changelog_manifest_list_bytes;
  std::optional<std::string> index_manifest;
  std::string commit_user;
  int64_t commit_identifier = 0;
  CommitKind commit_kind = CommitKind::kAppend;
  int64_t time_millis = 0;
  std::optional<int64_t> total_record_count;
  std::optional<int64_t> delta_record_count;
  std::optional<int64_t> changelog_record_count;
  std::optional<int64_t> watermark;
  std::optional<std::string> statistics;
  std::map<std::string, std::string> properties;
  std::optional<int64_t> next_row_id;

  bool operator==(const Snapshot&) const = default;
};

Result<Snapshot> ParseSnapshot(std::string_view json, std::string_view origin);
// Keys, order and layout as Java 1.3.1 writes them, plus `uuid` and `properties`.
std::string SerializeSnapshot(const Snapshot& snapshot);

struct TagRetention {
  int64_t seconds = 0;
  int32_t nanos = 0;
  bool operator==(const TagRetention&) const = default;
};

struct Tag {
  Snapshot snapshot;
  std::optional<Timestamp> create_local_time;  // tagCreateTime: the writer's local wall clock read as UTC
  std::optional<TagRetention> retained;        // tagTimeRetained; nothing: kept until deleted

  bool operator==(const Tag&) const = default;
};

// Every snapshot file is a tag file too. Writing a create time needs a retention: readers up to 0.7 fail on the lone key.
Result<Tag> ParseTag(std::string_view json, std::string_view origin);
std::string SerializeTag(const Tag& tag);

}  // namespace headrace
