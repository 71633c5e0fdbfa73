// The engine: one store, clock, budget and task group over a warehouse folder; names and folders to tables.
#include "headrace/engine.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "api/engine_state.h"
#include "api/held_sources.h"
#include "api/open_table.h"
#include "base/build_info.h"
#include "base/error.h"
#include "base/nearest.h"
#include "catalog/catalog.h"
#include "catalog/schema_log.h"
#include "format/table_options.h"
#include "ingest/jobs.h"
#include "io/anchored_store.h"
#include "io/local_store.h"
#include "io/scratch.h"
#include "io/store_path.h"

namespace headrace {
namespace {

constexpr int64_t kLeastMemoryBytes = 1LL << 20;
constexpr char kDefaultChangelogRetention[] = "7 d";

std::string DidYouMeanOption(const std::string& key) {
  std::vector<std::string> known;
  for (const OptionRow& row : OptionTable()) known.emplace_back(row.key);
  const std::string nearest = NearestName(known, key);
  return nearest.empty() ? "" : " (did you mean " + nearest + "?)";
}

std::string UnknownOptionNote(const std::string& key) {
  return "option " + key + ", which Paimon does not know: kept as it is" + DidYouMeanOption(key);
}

// Made explicit at creation so that the table says what will happen to it in every engine.
void AddDefaults(NewTable* table, std::vector<std::string>* notes) {
  auto& options = table->options;
  if (!table->primary_keys.empty() && options.count("bucket") == 0) {
    options["bucket"] = "-1";
    notes->push_back(
        "bucket=-1, since none was given: buckets are made as keys come, by one writing job at a time; a "
        "number "
        "of buckets lets many write");
  }
  const auto producer = options.find("changelog-producer");
  const bool has_changelog = producer != options.end() && producer->second != "none";
  if (has_changelog && options.count("changelog.time-retained") == 0) {
    options["changelog.time-retained"] = kDefaultChangelogRetention;
    notes->push_back("changelog.time-retained=" + std::string(kDefaultChangelogRetention) +
                     ", so that changes outlive snapshots in engines that expire them "
                     "(Paimon's default is 1 h)");
  }
  for (const auto& [key, value] : options) {
    if (FindOption(key) == nullptr) notes->push_back(UnknownOptionNote(key));
  }
}

// Rows are put aside only when memory is short: a folder that cannot take them would fail a long run in its midst.
Status CheckSpillFolder(const std::string& directory) {
  const std::string doing = "opening the engine: the folder for rows put aside, " + directory + ", ";
  struct stat info {};
  if (::stat(directory.c_str(), &info) != 0) {
    return MakeError(errno == ENOENT ? ErrorKind::kNotFound : ErrorKind::kIo,
                     doing + "cannot be used: " + std::strerror(errno) + "; make it, or name another");
  }
  if (!S_ISDIR(info.st_mode)) return Invalid(doing, "is a file; name a folder");
  if (::access(directory.c_str(), W_OK | X_OK) != 0)
    return IoError(doing, "cannot be written to: ", std::strerror(errno), "; name another");
  return Status::OK();
}

bool IsFolder(const std::string& name) { return name.find('/') != std::string::npos; }

// A table's folder as the catalog's names for it: …/<database>.db/<table>.
struct FolderParts {
  std::string warehouse;
  TableIdentifier name;
};

Result<FolderParts> PartsOfFolder(const std::string& folder) {
  HEADRACE_ASSIGN_OR_RETURN(const std::string path, AbsoluteLocalPath(folder));
  const std::string database_path = ParentOf(path);
  std::string database(NameIn(database_path));
  if (!database.ends_with(".db")) {
    return Invalid("table folder ", folder,
                   " does not lie in a database folder <name>.db, as Paimon's catalogs have it");
  }
  database.resize(database.size() - 3);
  HEADRACE_ASSIGN_OR_RETURN(TableIdentifier name,
                            ParseTableIdentifier(database + "." + std::string(NameIn(path))));
  return FolderParts{ParentOf(database_path), std::move(name)};
}

class LocalEngine final : public EngineInternals {
 public:
  // `warehouse` is absolute.
  LocalEngine(std::string warehouse, std::shared_ptr<SharedState> state)
      : state_(std::move(state)), warehouse_(std::move(warehouse)), catalog_(CatalogAt(warehouse_)) {}

  Result<std::vector<std::string>> ListDatabases() override { return catalog_.ListDatabases(); }
  Result<std::vector<std::string>> ListTables(const std::string& database) override {
    return catalog_.ListTables(database);
  }

  const std::shared_ptr<SharedState>& state() override { return state_; }

  Result<CreatedTable> CreateTable(const std::string& name, const TableDefinition& definition) override {
    NewTable table;
    HEADRACE_ASSIGN_OR_RETURN(table.fields, ParseColumns(definition.columns));
    table.primary_keys = definition.primary_key;
    table.partition_keys = definition.partition_by;
    table.options = definition.options;
    if (!definition.comment.empty()) table.comment = definition.comment;
    return Create(name, std::move(table));
  }

  Result<CreatedTable> Create(const std::string& name, NewTable table) override {
    HEADRACE_ASSIGN_OR_RETURN(Located at, Locate(name));
    CreatedTable created;
    AddDefaults(&table, &created.notes);
    HEADRACE_ASSIGN_OR_RETURN(Table opened, at.catalog.CreateTable(at.name, std::move(table)));
    created.path = opened.path;
    return created;
  }

  Status DropTable(const std::string& name) override {
    HEADRACE_ASSIGN_OR_RETURN(Located at, Locate(name));
    std::vector<ingest::JobInfo> jobs;
    const auto table = at.catalog.OpenTable(at.name, Access::kRead);
    if (table.ok()) jobs = ingest::ListJobs(*table).ValueOr({});  // a damaged table can be dropped too
    HEADRACE_RETURN_NOT_OK(at.catalog.DropTable(at.name));
    for (const ingest::JobInfo& job : jobs) {
      if (!job.position.sources.empty()) HEADRACE_RETURN_NOT_OK(ReleaseHeldSources(*table, job.job).status());
    }
    return Status::OK();
  }

  Status RenameTable(const std::string& from, const std::string& to) override {
    HEADRACE_ASSIGN_OR_RETURN(Located source, Locate(from));
    HEADRACE_ASSIGN_OR_RETURN(Located target, Locate(to));
    if (source.warehouse != target.warehouse)
      return Invalid("renaming ", from, " to ", to, ": both must be in one warehouse");
    return source.catalog.RenameTable(source.name, target.name);
  }

  Result<AlteredTable> AlterTable(const std::string& name,
                                  const std::vector<SchemaChange>& changes) override {
    HEADRACE_ASSIGN_OR_RETURN(TablePlace at, PlaceOf(name));
    Result<Table> opened = OpenTableAt(state_->store, state_->clock, at.path, at.name, Access::kRead);
    if (IsKind(opened.status(), ErrorKind::kNotFound)) return WithTablesThereAre(name, opened.status());
    HEADRACE_RETURN_NOT_OK(opened.status());
    // A table that is dropped meanwhile does not come back.
    opened->store = Anchored(opened->store, at.path + "/schema", "table " + at.name);
    HEADRACE_ASSIGN_OR_RETURN(const TableSchema altered, AlterSchema(*opened, changes));
    AlteredTable result;
    result.schema_id = altered.id.value;
    result.changed = altered.id != opened->schema->id;
    for (const SchemaChange& change : changes) {
      const auto* set = std::get_if<SetOption>(&change);
      if (set != nullptr && FindOption(set->key) == nullptr)
        result.notes.push_back(UnknownOptionNote(set->key));
    }
    return result;
  }

  Result<std::unique_ptr<TableHandle>> OpenTable(const std::string& name) override {
    HEADRACE_ASSIGN_OR_RETURN(TablePlace at, PlaceOf(name));
    Result<std::unique_ptr<TableHandle>> opened = OpenTableHandle(state_, at.path, at.name);
    if (IsKind(opened.status(), ErrorKind::kNotFound)) return WithTablesThereAre(name, opened.status());
    return opened;
  }

  Result<Table> OpenForReading(const std::string& name) override { return OpenFor(Access::kRead, name); }
  Result<Table> OpenForWriting(const std::string& name) override { return OpenFor(Access::kWrite, name); }

  // Unlike Locate, any folder will do.
  Result<TablePlace> PlaceOf(const std::string& name) const override {
    if (IsFolder(name)) {
      HEADRACE_ASSIGN_OR_RETURN(std::string path, AbsoluteLocalPath(name));
      return TablePlace{std::move(path), name};
    }
    HEADRACE_ASSIGN_OR_RETURN(TableIdentifier identifier, ParseTableIdentifier(name));
    return TablePlace{catalog_.TablePath(identifier), identifier.ToString()};
  }

 private:
  struct Located {
    std::string warehouse;
    Catalog catalog;
    TableIdentifier name;
  };

  Result<Table> OpenFor(Access access, const std::string& name) const {
    HEADRACE_ASSIGN_OR_RETURN(TablePlace at, PlaceOf(name));
    Result<Table> opened = OpenTableAt(state_->store, state_->clock, at.path, at.name, access);
    if (IsKind(opened.status(), ErrorKind::kNotFound)) return WithTablesThereAre(name, opened.status());
    return opened;
  }

  // Where there is no such table: the one that was meant, or how to see those there are.
  Status WithTablesThereAre(const std::string& name, const Status& status) const {
    if (IsFolder(name)) return status;
    HEADRACE_ASSIGN_OR_RETURN(const TableIdentifier identifier, ParseTableIdentifier(name));
    const Result<std::vector<std::string>> tables = catalog_.ListTables(identifier.database);
    const std::string nearest = tables.ok() ? NearestName(*tables, identifier.table) : "";
    if (nearest.empty())
      return MakeError(KindOf(status), status.message() + "; 'headrace show tables' lists those there are");
    return MakeError(KindOf(status),
                     status.message() + "; did you mean " + identifier.database + "." + nearest + "?");
  }

  Catalog CatalogAt(const std::string& warehouse) const {
    return Catalog(state_->store, state_->clock, warehouse);
  }

  Result<Located> Locate(const std::string& name) const {
    if (!IsFolder(name)) {
      HEADRACE_ASSIGN_OR_RETURN(TableIdentifier identifier, ParseTableIdentifier(name));
      return Located{warehouse_, catalog_, std::move(identifier)};
    }
    HEADRACE_ASSIGN_OR_RETURN(FolderParts parts, PartsOfFolder(name));
    return Located{parts.warehouse, CatalogAt(parts.warehouse), std::move(parts.name)};
  }

  std::shared_ptr<SharedState> state_;
  std::string warehouse_;
  Catalog catalog_;
};

}  // namespace

Result<std::unique_ptr<Engine>> Engine::Open(const EngineOptions& options) {
  if (options.memory_bytes < kLeastMemoryBytes) {
    return Invalid("opening the engine: a memory budget of ", options.memory_bytes, " bytes; at least ",
                   kLeastMemoryBytes, " are needed");
  }
  if (options.threads < 0)
    return Invalid("opening the engine: ", options.threads, " threads; 0 or more are allowed");
  if (options.warehouse.empty()) return Invalid("opening the engine: the warehouse folder has no name");
  HEADRACE_ASSIGN_OR_RETURN(std::string warehouse, AbsoluteLocalPath(options.warehouse));
  if (!options.spill_directory.empty()) HEADRACE_RETURN_NOT_OK(CheckSpillFolder(options.spill_directory));
  if (options.lookup_cache_bytes < 0)
    return Invalid("opening the engine: a lookup cache of ", options.lookup_cache_bytes,
                   " bytes; 0 or more are allowed");
  auto state =
      std::make_shared<SharedState>(options.memory_bytes, options.lookup_cache_bytes, options.threads);
  state->store = std::make_shared<LocalStore>(LocalStoreOptions{.sync = options.durable});
  state->clock = std::make_shared<SystemClock>();
  state->scratch = std::make_unique<LocalScratch>(options.spill_directory.empty() ? TemporaryFolder()
                                                                                  : options.spill_directory);
  return std::make_unique<LocalEngine>(std::move(warehouse), std::move(state));
}

std::string_view Version() { return BuildVersion(); }

}  // namespace headrace
