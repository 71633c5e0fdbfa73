// The filesystem catalog: names to folders. <warehouse>/<database>.db/<table>.
//
// A table exists when it has a schema file. Names are checked so that none can leave the warehouse. Stateless and
// thread-safe as far as its store is. Source: FileSystemCatalog, AbstractCatalog.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/table.h"

namespace headrace {

struct TableIdentifier {
  std::string database;
  std::string table;
  std::string ToString() const { return database + "." + table; }
};

// "db.table"; kInvalid says what is wrong with a name.
Result<TableIdentifier> ParseTableIdentifier(std::string_view text);

// A name that is a folder of its own wherever it stands: not empty, UTF-8, at most 200 bytes, without '/', '\', ':', '.', '$', control
// characters or blanks at its ends. `what` ("database", "table") is for the message.
Status CheckName(std::string_view what, std::string_view name);

class Catalog {
 public:
  Catalog(std::shared_ptr<Store> store, std::shared_ptr<Clock> clock, std::string warehouse);

  Result<std::vector<std::string>> ListDatabases() const;                          // sorted
  Result<std::vector<std::string>> ListTables(const std::string& database) const;  // sorted
  Status CreateDatabase(const std::string& database);
  // kInvalid when it has tables and `cascade` is not asked for.
  Status DropDatabase(const std::string& database, bool cascade);

  // Makes the database too. kAlreadyExists when the table is there; kUnsupported when it could not be written.
  Result<Table> CreateTable(const TableIdentifier& name, NewTable table);
  Status DropTable(const TableIdentifier& name);
  // Also into another database, which must exist.
  Status RenameTable(const TableIdentifier& from, const TableIdentifier& to);
  Result<Table> OpenTable(const TableIdentifier& name, Access access) const;

  std::string TablePath(const TableIdentifier& name) const;

 private:
  std::string DatabasePath(const std::string& database) const;
  Result<bool> DatabaseExists(const std::string& database) const;
  Result<bool> TableExists(const TableIdentifier& name) const;
  Status RequireTable(const TableIdentifier& name, std::string_view doing) const;

  std::shared_ptr<Store> store_;
  std::shared_ptr<Clock> clock_;
  std::string warehouse_;
};

}  // namespace headrace
