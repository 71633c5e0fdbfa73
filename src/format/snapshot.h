// A snapshot file: one committed state of a table.
//
// A plain value; unknown JSON keys are ignored and an explicit null is the same as an absent key. Source: Snapshot.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/ids.h"

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

}  // namespace headrace
