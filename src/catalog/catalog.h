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

class Catalog {
 public:
  Catalog(std::shared_ptr<Store> store, std::shared_ptr<Clock> clock, std::string warehouse);

  Result<std::vector<std::string>> ListDatabases() const;
  Result<std::vector<std::string>> ListTables(const std::string& database) const;
  Status CreateDatabase(const std::string& database);
  Status DropDatabase(const std::string& database, bool cascade);

  // Makes the database too. kAlreadyExists when the table is there.
  Result<Table> CreateTable(const TableIdentifier& name, NewTable table);
  Status DropTable(const TableIdentifier& name);
  Status RenameTable(const TableIdentifier& from, const TableIdentifier& to);
  Result<Table> OpenTable(const TableIdentifier& name, Access access) const;

  std::string TablePath(const TableIdentifier& name) const;

 private:
  std::shared_ptr<Store> store_;
  std::shared_ptr<Clock> clock_;
  std::string warehouse_;
};

}  // namespace headrace
