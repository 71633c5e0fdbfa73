#include "catalog/catalog.h"

#include <algorithm>
#include <array>

#include <arrow/io/interfaces.h>
#include <arrow/util/utf8.h>

#include "base/uuid.h"
#include "catalog/numbered_files.h"
#include "catalog/schema_log.h"
#include "io/store_path.h"

namespace headrace {
namespace {

constexpr std::string_view kDatabaseSuffix = ".db";
// What is left of a drop that was interrupted; nothing looks into it any more.
constexpr std::string_view kDroppedPrefix = ".dropped-";
constexpr size_t kMaxNameBytes = 200;  // a file name holds 255; suffixes and temporary names need the rest

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

Status CheckDatabaseName(std::string_view name) {
  HEADRACE_RETURN_NOT_OK(CheckName("database", name));
  if (name == "sys")
    return Invalid("database name 'sys' is reserved for Paimon's system database; choose another");
  return Status::OK();
}

Status CheckIdentifier(const TableIdentifier& name) {
  HEADRACE_RETURN_NOT_OK(CheckDatabaseName(name.database));
  return CheckName("table", name.table);
}

// A folder that exists on its own: the store makes it for the file that is put into it and taken out again.
Status MakeFolder(Store* store, const std::string& directory) {
  const std::string path = directory + "/." + NewUuid() + ".tmp";
  HEADRACE_ASSIGN_OR_RETURN(const auto file, store->OpenForWrite(path));
  HEADRACE_RETURN_NOT_OK(file->Close());
  return store->Delete(path);
}

// A folder behind a link is not ours alone: deleting through the link would empty it and leave it there, deleting the link would leave
// everything.
Status CheckNotALink(Store* store, const std::string& path, std::string_view doing) {
  HEADRACE_ASSIGN_OR_RETURN(const auto info, store->Stat(path));
  if (!info.has_value() || !info->is_link) return Status::OK();
  return Invalid(doing, ": ", path,
                 " is a symbolic link; nothing was deleted. Drop it in the warehouse where the folder lies, ",
                 "or remove the link");
}

// A folder may hold the rests of a table whose schema is gone. Its snapshots would come alive under a new schema.
Status CheckNoRemains(Store* store, const std::string& path) {
  HEADRACE_ASSIGN_OR_RETURN(const auto snapshots, ListNumbers({store, path + "/snapshot", "snapshot-"}));
  if (snapshots.empty()) return Status::OK();
  return Invalid("the folder ", path, " holds ", snapshots.size(),
                 " snapshots but no schema: the rests of another table; move the folder away first");
}

}  // namespace

Status CheckName(std::string_view what, std::string_view name) {
  const auto refuse = [&](const auto&... reason) {
    return Invalid(what, " name '", name.substr(0, kMaxNameBytes), "': ", reason...);
  };
  if (name.empty()) return Invalid("a ", what, " name may not be empty");
  if (name.size() > kMaxNameBytes)
    return refuse("has ", name.size(), " bytes, at most ", kMaxNameBytes, " are allowed");
  if (IsBlank(name.front()) || IsBlank(name.back())) return refuse("may not begin or end with a blank");
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) return Invalid("a ", what, " name may not contain control characters");
    if (std::string_view("/\\:.$").find(c) != std::string_view::npos)
      return refuse("may not contain '", c, "'");
  }
  arrow::util::InitializeUTF8();
  if (!arrow::util::ValidateUTF8(name)) return Invalid("a ", what, " name must be UTF-8");
  return Status::OK();
}

Result<TableIdentifier> ParseTableIdentifier(std::string_view text) {
  const size_t dot = text.find('.');
  if (dot == std::string_view::npos || text.find('.', dot + 1) != std::string_view::npos)
    return Invalid("'", text, "' is not a table name: expected database.table, with one dot");
  TableIdentifier name{std::string(text.substr(0, dot)), std::string(text.substr(dot + 1))};
  HEADRACE_RETURN_NOT_OK(CheckIdentifier(name));
  return name;
}

Catalog::Catalog(std::shared_ptr<Store> store, std::shared_ptr<Clock> clock, std::string warehouse)
    : store_(std::move(store)), clock_(std::move(clock)), warehouse_(std::move(warehouse)) {
  while (warehouse_.size() > 1 && warehouse_.back() == '/') warehouse_.pop_back();
}

std::string Catalog::DatabasePath(const std::string& database) const {
  return (warehouse_ == "/" ? "" : warehouse_) + "/" + database + std::string(kDatabaseSuffix);
}

std::string Catalog::TablePath(const TableIdentifier& name) const {
  return DatabasePath(name.database) + "/" + name.table;
}

Result<bool> Catalog::DatabaseExists(const std::string& database) const {
  HEADRACE_ASSIGN_OR_RETURN(const auto info, store_->Stat(DatabasePath(database)));
  return info.has_value() && info->is_directory;
}

Result<bool> Catalog::TableExists(const TableIdentifier& name) const {
  HEADRACE_ASSIGN_OR_RETURN(const auto schema, FindLatestSchemaId(store_.get(), TablePath(name)));
  return schema.has_value();
}

Status Catalog::RequireTable(const TableIdentifier& name, std::string_view doing) const {
  HEADRACE_RETURN_NOT_OK(CheckIdentifier(name));
  HEADRACE_ASSIGN_OR_RETURN(const bool exists, TableExists(name));
  if (!exists)
    return NotFound(doing, " table ", name.ToString(), ": it does not exist in warehouse ", warehouse_);
  return Status::OK();
}

Result<std::vector<std::string>> Catalog::ListDatabases() const {
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<FileInfo> children, store_->List(warehouse_));
  std::vector<std::string> databases;
  for (const FileInfo& child : children) {
    const std::string_view name = NameIn(child.path);
    if (!child.is_directory || !name.ends_with(kDatabaseSuffix) || name.size() == kDatabaseSuffix.size())
      continue;
    databases.emplace_back(name.substr(0, name.size() - kDatabaseSuffix.size()));
  }
  std::sort(databases.begin(), databases.end());
  return databases;
}

Result<std::vector<std::string>> Catalog::ListTables(const std::string& database) const {
  HEADRACE_RETURN_NOT_OK(CheckDatabaseName(database));
  HEADRACE_ASSIGN_OR_RETURN(const bool exists, DatabaseExists(database));
  if (!exists)
    return NotFound("listing tables: database ", database, " does not exist in warehouse ", warehouse_);
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<FileInfo> children, store_->List(DatabasePath(database)));
  std::vector<std::string> tables;
  for (const FileInfo& child : children) {
    if (!child.is_directory) continue;
    std::string name(NameIn(child.path));
    if (name.starts_with(kDroppedPrefix)) continue;
    HEADRACE_ASSIGN_OR_RETURN(const bool is_table, TableExists({database, name}));
    if (is_table) tables.push_back(std::move(name));
  }
  std::sort(tables.begin(), tables.end());
  return tables;
}

Status Catalog::CreateDatabase(const std::string& database) {
  HEADRACE_RETURN_NOT_OK(CheckDatabaseName(database));
  HEADRACE_ASSIGN_OR_RETURN(const bool exists, DatabaseExists(database));
  if (exists) return AlreadyExists("database ", database, " exists in warehouse ", warehouse_, " already");
  return MakeFolder(store_.get(), DatabasePath(database));
}

Status Catalog::DropDatabase(const std::string& database, bool cascade) {
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<std::string> tables, ListTables(database));
  const std::string doing = "dropping database " + database;
  HEADRACE_RETURN_NOT_OK(CheckNotALink(store_.get(), DatabasePath(database), doing));
  if (!tables.empty() && !cascade)
    return Invalid("dropping database ", database, ": it holds ", tables.size(), " tables, ", tables.front(),
                   " among them; drop them first, or ask to drop them too");
  // Before the first is gone: all of them can be dropped.
  for (const std::string& table : tables)
    HEADRACE_RETURN_NOT_OK(CheckNotALink(store_.get(), TablePath({database, table}), doing));
  for (const std::string& table : tables) HEADRACE_RETURN_NOT_OK(DropTable({database, table}));
  return store_->DeleteRecursively(DatabasePath(database));
}

Result<Table> Catalog::CreateTable(const TableIdentifier& name, NewTable table) {
  HEADRACE_RETURN_NOT_OK(CheckIdentifier(name));
  const std::string doing = "creating table " + name.ToString();
  const auto schema = MakeTableSchema(std::move(table), clock_->NowMs());
  if (!schema.ok()) return WithContext(doing, schema.status());
  const auto options = ParseTableOptions(*schema, Access::kWrite);
  if (!options.ok()) return WithContext(doing, options.status());

  const std::string path = TablePath(name);
  HEADRACE_ASSIGN_OR_RETURN(const bool exists, TableExists(name));
  if (exists)
    return AlreadyExists("table ", name.ToString(), " exists in warehouse ", warehouse_, " already");
  HEADRACE_RETURN_NOT_OK(WithContext(doing, CheckNoRemains(store_.get(), path)));
  HEADRACE_RETURN_NOT_OK(WithContext(doing, PublishFirstSchema(store_.get(), path, *schema)));
  return OpenTable(name, Access::kWrite);
}

Status Catalog::DropTable(const TableIdentifier& name) {
  HEADRACE_RETURN_NOT_OK(RequireTable(name, "dropping"));
  HEADRACE_RETURN_NOT_OK(CheckNotALink(store_.get(), TablePath(name), "dropping table " + name.ToString()));
  // At once out of the way, under a name that is no table's, so that half of a table is never seen. A store that cannot move folders deletes in
  // place: snapshots before the schema, so that half of it is an empty table, never data that a new schema would bring back.
  std::string path = TablePath(name);
  const std::string aside =
      DatabasePath(name.database) + "/" + std::string(kDroppedPrefix) + name.table + "." + NewUuid();
  const Status moved = store_->RenameDirectory(path, aside);
  if (moved.ok())
    path = aside;
  else if (!IsKind(moved, ErrorKind::kUnsupported))
    return WithContext("dropping table " + name.ToString(), moved);
  for (const std::string_view folder : {"/snapshot", "/changelog", "/tag", "/branch", "/consumer", "/schema"})
    HEADRACE_RETURN_NOT_OK(store_->DeleteRecursively(path + std::string(folder)));
  return store_->DeleteRecursively(path);
}

Status Catalog::RenameTable(const TableIdentifier& from, const TableIdentifier& to) {
  HEADRACE_RETURN_NOT_OK(RequireTable(from, "renaming"));
  HEADRACE_RETURN_NOT_OK(CheckIdentifier(to));
  const std::string doing = "renaming table " + from.ToString() + " to " + to.ToString();
  HEADRACE_ASSIGN_OR_RETURN(const bool database_exists, DatabaseExists(to.database));
  if (!database_exists)
    return NotFound(doing, ": database ", to.database, " does not exist in warehouse ", warehouse_);
  return WithContext(doing, store_->RenameDirectory(TablePath(from), TablePath(to)));
}

Result<Table> Catalog::OpenTable(const TableIdentifier& name, Access access) const {
  HEADRACE_RETURN_NOT_OK(CheckIdentifier(name));
  return OpenTableAt(store_, clock_, TablePath(name), name.ToString(), access);
}

}  // namespace headrace
