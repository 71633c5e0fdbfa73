#include "catalog/schema_log.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/lock.h"
#include "catalog/numbered_files.h"
#include "catalog/snapshots.h"

namespace headrace {
namespace {

NumberedFolder SchemaFolder(Store* store, const std::string& table_path) {
  return {store, table_path + "/schema", "schema-"};
}

// Options that decide where rows lie or what they mean; data written under one value is wrong under another.
constexpr std::array<std::string_view, 18> kFixedOnceWritten = {
    "type",
    "bucket-key",
    "bucket-function.type",
    "merge-engine",
    "rowkind.field",
    "sequence.snapshot-ordering",
    "primary-key",
    "partition",
    "primary-key.nullable",
    "row-tracking.enabled",
    "data-evolution.enabled",
    "index-file-in-data-file-dir",
    "data-file.path-directory",
    "force-lookup",
    "aggregation.remove-record-on-delete",
    "partial-update.remove-record-on-delete",
    "partial-update.remove-record-on-sequence-group",
    "dynamic-bucket.initial-buckets",
};

std::string ValueOr(const std::map<std::string, std::string>& options, std::string_view key,
                    std::string_view fallback) {
  const auto it = options.find(std::string(key));
  return it == options.end() ? std::string(fallback) : it->second;
}

Status CheckBucketChange(const Table& table, const TableSchema& from, const TableSchema& to) {
  const std::string before = ValueOr(from.options, "bucket", "-1");
  const std::string after = ValueOr(to.options, "bucket", "-1");
  if (before == after) return Status::OK();
  // n to m is allowed: old partitions keep n until they are overwritten. -1 and -2 are other kinds of table.
  if (before.starts_with('-') || after.starts_with('-'))
    return Invalid("changing options of table ", table.name, ": bucket cannot change from ", before, " to ",
                   after,
                   "; a fixed number may only become another fixed number, create a new table instead");
  return Status::OK();
}

Status CheckFixedOptions(const Table& table, const TableSchema& from, const TableSchema& to) {
  for (const std::string_view key : kFixedOnceWritten) {
    const std::string before = ValueOr(from.options, key, "");
    const std::string after = ValueOr(to.options, key, "");
    if (before == after) continue;
    return Invalid("changing options of table ", table.name, ": ", key, " cannot change from '", before,
                   "' to '", after,
                   "' once the table has a snapshot, because its files were written under it");
  }
  if (ValueOr(from.options, "deletion-vectors.enabled", "false") !=
          ValueOr(to.options, "deletion-vectors.enabled", "false") &&
      ValueOr(from.options, "deletion-vectors.modifiable", "false") != "true")
    return Invalid("changing options of table ", table.name,
                   ": deletion-vectors.enabled cannot change once the table has a snapshot, unless "
                   "deletion-vectors.modifiable is true");
  return CheckBucketChange(table, from, to);
}

TableSchema WithOptions(TableSchema schema, const std::map<std::string, std::string>& set,
                        const std::vector<std::string>& unset) {
  for (const std::string& key : unset) schema.options.erase(key);
  for (const auto& [key, value] : set) schema.options[key] = value;
  return schema;
}

// Whether our bytes are at `path` after a publish whose outcome is unknown.
Result<bool> IsOurs(Store* store, const std::string& path, const std::string& bytes) {
  HEADRACE_ASSIGN_OR_RETURN(const auto info, store->Stat(path));
  if (!info.has_value()) return false;
  HEADRACE_ASSIGN_OR_RETURN(const std::string found, store->ReadAll(path));
  return found == bytes;
}

Result<PublishResult> PublishSchema(Store* store, const std::string& table_path, const TableSchema& schema) {
  const std::string path = SchemaFolder(store, table_path).PathOf(schema.id.value);
  const std::string bytes = SerializeTableSchema(schema);
  Result<PublishResult> published = store->PublishIfAbsent(path, bytes);
  if (published.ok() || !IsKind(published.status(), ErrorKind::kCommitUnknown)) return published;
  HEADRACE_ASSIGN_OR_RETURN(const bool ours, IsOurs(store, path, bytes));
  if (ours) return PublishResult::kPublished;
  return store->PublishIfAbsent(path, bytes);
}

}  // namespace

Result<std::optional<SchemaId>> FindLatestSchemaId(Store* store, const std::string& table_path) {
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<int64_t> ids, ListNumbers(SchemaFolder(store, table_path)));
  if (ids.empty()) return std::nullopt;
  return SchemaId(ids.back());
}

Result<std::vector<SchemaId>> ListSchemaIds(Store* store, const std::string& table_path) {
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, ListNumbers(SchemaFolder(store, table_path)));
  std::vector<SchemaId> ids;
  for (const int64_t number : numbers) ids.emplace_back(number);
  return ids;
}

Result<TableSchema> ReadSchema(Store* store, const std::string& table_path, SchemaId id) {
  const std::string path = SchemaFolder(store, table_path).PathOf(id.value);
  HEADRACE_ASSIGN_OR_RETURN(const std::string bytes, store->ReadAll(path));
  HEADRACE_ASSIGN_OR_RETURN(TableSchema schema, ParseTableSchema(bytes, path));
  if (schema.id != id)
    return Corruption("schema file ", path, " says it has id ", schema.id, ", its name says ", id);
  return schema;
}

Status PublishFirstSchema(Store* store, const std::string& table_path, const TableSchema& schema) {
  HEADRACE_ASSIGN_OR_RETURN(const PublishResult result, PublishSchema(store, table_path, schema));
  if (result == PublishResult::kExists) return AlreadyExists("a table exists at ", table_path, " already");
  return Status::OK();
}

SchemaLookup RememberingSchemaLookup(std::shared_ptr<Store> store, std::string table_path) {
  struct Memory {
    Mutex mutex;
    std::map<SchemaId, std::shared_ptr<const TableSchema>> schemas GUARDED_BY(mutex);
  };
  auto memory = std::make_shared<Memory>();
  return [store = std::move(store), table_path = std::move(table_path),
          memory](SchemaId id) -> Result<std::shared_ptr<const TableSchema>> {
    {
      MutexLock lock(memory->mutex);
      const auto it = memory->schemas.find(id);
      if (it != memory->schemas.end()) return it->second;
    }
    HEADRACE_ASSIGN_OR_RETURN(TableSchema schema, ReadSchema(store.get(), table_path, id));
    auto shared = std::make_shared<const TableSchema>(std::move(schema));
    MutexLock lock(memory->mutex);
    return memory->schemas.emplace(id, std::move(shared)).first->second;
  };
}

Result<TableSchema> AlterOptions(const Table& table, const std::map<std::string, std::string>& set,
                                 const std::vector<std::string>& unset) {
  while (true) {
    HEADRACE_ASSIGN_OR_RETURN(const auto latest_id, FindLatestSchemaId(table.store.get(), table.path));
    if (!latest_id.has_value())
      return NotFound("changing options of table ", table.name, ": no table at ", table.path);
    HEADRACE_ASSIGN_OR_RETURN(const TableSchema latest,
                              ReadSchema(table.store.get(), table.path, *latest_id));
    TableSchema next = WithOptions(latest, set, unset);
    if (next.options == latest.options) return latest;
    next.id = SchemaId(latest.id.value + 1);
    next.version = 3;
    next.time_millis = table.clock->NowMs();

    HEADRACE_ASSIGN_OR_RETURN(const auto snapshot, FindLatestSnapshotId(table));
    if (snapshot.has_value()) HEADRACE_RETURN_NOT_OK(CheckFixedOptions(table, latest, next));
    // What cannot be parsed must not become the table's schema; what Headrace does not write yet, another engine may.
    const auto parsed = ParseTableOptions(next, Access::kRead);
    if (!parsed.ok() && !IsKind(parsed.status(), ErrorKind::kUnsupported)) return parsed.status();

    HEADRACE_ASSIGN_OR_RETURN(const PublishResult result, PublishSchema(table.store.get(), table.path, next));
    if (result == PublishResult::kPublished) return next;
  }
}

}  // namespace headrace
