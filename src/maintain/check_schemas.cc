// Schema files: readable, unique field ids, ids that only grow.
#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/json.h"
#include "catalog/numbered_files.h"
#include "catalog/schema_log.h"
#include "format/table_schema.h"
#include "io/store_path.h"
#include "maintain/check_run.h"

namespace headrace {
namespace {

// The options that say where rows and files lie. Others may be anything, also what is not built here.
constexpr std::array kPlacementOptions = {"bucket",
                                          "bucket-key",
                                          "bucket-function.type",
                                          "partition.default-name",
                                          "partition.legacy-name",
                                          "data-file.path-directory",
                                          "num-levels",
                                          "num-sorted-run.compaction-trigger"};

// Field ids of a schema file, nested ones included, in the order of the file. Nesting is bounded by the JSON parser.
void CollectFieldIds(const nlohmann::json& node, std::vector<int64_t>* ids) {
  if (node.is_array()) {
    for (const nlohmann::json& item : node) CollectFieldIds(item, ids);
    return;
  }
  if (!node.is_object()) return;
  const auto id = node.find("id");
  if (id != node.end() && id->is_number_integer() && node.contains("name"))
    ids->push_back(id->get<int64_t>());
  for (const char* inside : {"type", "element", "key", "value", "fields"}) {
    const auto found = node.find(inside);
    if (found != node.end()) CollectFieldIds(*found, ids);
  }
}

struct FieldIds {
  bool unique = true;
  int64_t highest = -1;   // in use
  int64_t declared = -1;  // highestFieldId
};

FieldIds CheckFieldIds(CheckRun* run, const std::string& file, const nlohmann::json& json) {
  FieldIds result;
  std::vector<int64_t> ids;
  const auto fields = json.find("fields");
  if (fields != json.end()) CollectFieldIds(*fields, &ids);
  std::set<int64_t> seen;
  for (const int64_t id : ids) {
    result.highest = std::max(result.highest, id);
    if (seen.insert(id).second) continue;
    result.unique = false;
    run->Add(FindingKind::kDuplicateFieldId, file, Told("field id ", id, " twice"), "each id once");
  }
  const auto declared = json.find("highestFieldId");
  if (declared != json.end() && declared->is_number_integer()) result.declared = declared->get<int64_t>();
  return result;
}

Result<TableOptions> ParsePlacement(const TableSchema& schema, bool* function_known) {
  TableSchema bare = schema;
  std::erase_if(bare.options, [](const auto& option) {
    return std::find(kPlacementOptions.begin(), kPlacementOptions.end(), option.first) ==
           kPlacementOptions.end();
  });
  Result<TableOptions> parsed = ParseTableOptions(bare, Access::kRead);
  if (parsed.ok() || !IsKind(parsed.status(), ErrorKind::kUnsupported)) return parsed;
  // Some value is not built: leave out what cannot be parsed alone.
  for (const char* key : kPlacementOptions) {
    const auto option = bare.options.find(key);
    if (option == bare.options.end()) continue;
    TableSchema alone = bare;
    alone.options = {*option};
    const Result<TableOptions> one = ParseTableOptions(alone, Access::kRead);
    if (one.ok() || !IsKind(one.status(), ErrorKind::kUnsupported)) continue;
    if (option->first == "bucket-function.type") *function_known = false;
    bare.options.erase(option);
  }
  return ParseTableOptions(bare, Access::kRead);
}

void KeepSchema(CheckRun* run, Root* root, int64_t id, const std::string& file, TableSchema schema) {
  SchemaVersion version;
  Result<TableOptions> placement = ParsePlacement(schema, &version.bucket_function_known);
  if (placement.ok()) {
    version.placement = *std::move(placement);
  } else {
    run->Add(FindingKind::kOptionMalformed, file, placement.status().message(),
             "a value as docs/options.md describes it");
  }
  version.schema = std::make_shared<const TableSchema>(std::move(schema));
  root->most_levels = std::max(root->most_levels, version.placement.num_levels);
  root->schemas.emplace(id, std::move(version));
}

// False when the schema cannot be used.
bool CheckSchema(CheckRun* run, Root* root, int64_t id, const std::string& file, int64_t* highest_so_far) {
  const Result<std::string> bytes = ReadBounded(run->store.get(), file, kMostJsonBytes);
  const Result<nlohmann::json> json =
      bytes.ok() ? ParseJson(*bytes, file) : Result<nlohmann::json>(bytes.status());
  if (!json.ok()) {
    run->Add(FindingKind::kSchemaUnreadable, file, json.status().message(), "a schema file");
    return false;
  }
  const FieldIds ids = CheckFieldIds(run, file, *json);
  Result<TableSchema> schema = ParseTableSchema(*bytes, file);
  if (IsKind(schema.status(), ErrorKind::kUnsupported)) {
    run->Add(FindingKind::kDataNotRead, file, schema.status().message(), "types that are built here");
    return false;
  }
  if (!schema.ok()) {
    if (ids.unique)
      run->Add(FindingKind::kSchemaUnreadable, file, schema.status().message(), "a schema file");
    return false;
  }
  if (schema->id.value != id) {
    run->Add(FindingKind::kSchemaIdMismatch, file, Told("id ", schema->id),
             Told("id ", id, ", as its name says"));
    return false;
  }
  if (ids.declared < ids.highest) {
    run->Add(FindingKind::kHighestFieldIdLow, file, Told("highestFieldId ", ids.declared),
             Told("at least ", ids.highest, ", the highest id of a field"));
  } else if (ids.declared < *highest_so_far) {
    run->Add(FindingKind::kHighestFieldIdLow, file, Told("highestFieldId ", ids.declared),
             Told("at least ", *highest_so_far, ", that of an earlier schema"));
  }
  *highest_so_far = std::max(*highest_so_far, ids.declared);
  KeepSchema(run, root, id, file, *std::move(schema));
  return true;
}

// The handle that the rest of the check works with; options of the newest schema decide where folders are.
void MakeTable(CheckRun* run, Root* root) {
  if (root->schemas.empty()) return;
  const SchemaVersion& newest = root->schemas.rbegin()->second;
  root->table.store = run->store;
  root->table.clock = run->clock;
  root->table.path = run->path;
  root->table.name = run->name;
  root->table.schema = newest.schema;
  root->table.options = newest.placement;
  root->table.schema_by_id = [schemas =
                                  root->schemas](SchemaId id) -> Result<std::shared_ptr<const TableSchema>> {
    const auto found = schemas.find(id.value);
    if (found == schemas.end()) return NotFound("schema ", id, " cannot be read");
    return found->second.schema;
  };
  root->usable = true;
}

}  // namespace

Result<std::string> ReadBounded(Store* store, const std::string& path, int64_t most_bytes) {
  HEADRACE_ASSIGN_OR_RETURN(const auto info, store->Stat(path));
  if (!info.has_value()) return NotFound("there is no file ", path);
  if (info->is_directory) return Corruption(path, " is a folder");
  if (info->size_bytes > most_bytes)
    return Corruption(path, " has ", info->size_bytes, " bytes; more than ", most_bytes, " are not read");
  return store->ReadAll(path);
}

void CheckSchemas(CheckRun* run, Root* root) {
  const NumberedFolder folder{run->store.get(), root->path + "/schema", "schema-"};
  const Result<std::vector<int64_t>> ids = ListNumbers(folder);
  if (!ids.ok()) {
    run->Add(FindingKind::kSchemaUnreadable, folder.directory, ids.status().message(),
             "a folder of schema files");
    return;
  }
  int64_t highest = -1;
  int64_t next = 0;
  for (const int64_t id : *ids) {
    if (id > next) {
      run->Add(FindingKind::kSchemaGap, folder.directory,
               id == next + 1 ? Told("no schema-", next) : Told("no schema-", next, " to schema-", id - 1),
               Told("all of schema-0 to schema-", ids->back()));
    }
    next = id == INT64_MAX ? id : id + 1;
    if (!CheckSchema(run, root, id, folder.PathOf(id), &highest)) root->damaged_schemas.insert(id);
  }
  MakeTable(run, root);
}

bool RequireSchema(CheckRun* run, const Root& root, SchemaId id, std::string_view file,
                   std::string_view what) {
  if (root.schemas.contains(id.value)) return true;
  if (!root.damaged_schemas.contains(id.value)) {
    run->Add(FindingKind::kSchemaMissing, file, Told(what, " names schema ", id, ", which is not there"),
             Told("a file schema/schema-", id));
  }
  return false;
}

}  // namespace headrace
