#include "catalog/schema_log.h"

#include <map>
#include <utility>

#include "base/lock.h"
#include "catalog/numbered_files.h"
#include "catalog/schema_change.h"
#include "catalog/snapshots.h"

namespace headrace {
namespace {

NumberedFolder SchemaFolder(Store* store, const std::string& table_path) {
  return {store, table_path + "/schema", "schema-"};
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

Result<TableSchema> Alter(const Table& table, const std::vector<SchemaChange>& changes, bool rescaling) {
  while (true) {
    HEADRACE_ASSIGN_OR_RETURN(const auto latest_id, FindLatestSchemaId(table.store.get(), table.path));
    if (!latest_id.has_value())
      return NotFound("altering table ", table.name, ": there is no table at ", table.path);
    HEADRACE_ASSIGN_OR_RETURN(const TableSchema latest,
                              ReadSchema(table.store.get(), table.path, *latest_id));
    HEADRACE_ASSIGN_OR_RETURN(const auto snapshot, FindLatestSnapshotId(table));
    HEADRACE_ASSIGN_OR_RETURN(TableSchema next, ApplyChanges(latest, changes,
                                                             {.table = table.name,
                                                              .has_snapshots = snapshot.has_value(),
                                                              .rescaling = rescaling,
                                                              .now_ms = table.clock->NowMs()}));
    if (next.id == latest.id) return next;
    HEADRACE_ASSIGN_OR_RETURN(const PublishResult result, PublishSchema(table.store.get(), table.path, next));
    if (result == PublishResult::kPublished) return next;
  }
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

Result<TableSchema> AlterSchema(const Table& table, const std::vector<SchemaChange>& changes) {
  return Alter(table, changes, /*rescaling=*/false);
}

Result<TableSchema> AlterBuckets(const Table& table, int32_t buckets) {
  return Alter(table, {SetOption{"bucket", std::to_string(buckets)}}, /*rescaling=*/true);
}

}  // namespace headrace
