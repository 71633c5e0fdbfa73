// The engine: a warehouse folder, its databases and tables, and the budget of memory and threads that everything opened from it shares.
//
// Long-lived and thread-safe: one engine serves many tables at once, and several engines live in one process without knowing of each other.
// Tables opened from an engine must not outlive it. Nothing here throws; errors carry an ErrorKind (headrace/error.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/alter_terms.h"
#include "headrace/error.h"
#include "headrace/table.h"

namespace headrace {

struct EngineOptions {
  std::string warehouse = "./warehouse";  // the folder that holds <database>.db/<table>
  int64_t memory_bytes = 1LL << 30;       // of all write buffers together; at least 1 MiB
  int64_t lookup_cache_bytes =
      256LL << 20;  // what lookups keep, those of compactions too, all tables together; 0: nothing
  int threads = 2;  // compactions beside the writers; 0 runs them in the caller
  std::string spill_directory = {};  // where rows wait if memory is short, a folder; empty: the temporary one
  bool durable = true;               // fsync files and folders before a commit is acknowledged
};

// What a new table is. Columns, keys and options as Paimon knows them.
struct TableDefinition {
  std::string columns;                   // "customer_id BIGINT, name STRING"
  std::vector<std::string> primary_key;  // in this order; empty: an append table
  std::vector<std::string> partition_by;
  std::map<std::string, std::string> options;
  std::string comment;
};

// Reads Flink's CREATE TABLE syntax: columns, PRIMARY KEY (…) NOT ENFORCED, PARTITIONED BY (…), COMMENT, WITH ('k'='v', …). `name` gets the
// table's name as written, which may be empty of a database. kInvalid tells the place of what it does not understand.
Result<TableDefinition> ParseCreateTable(std::string_view ddl, std::string* name);

// What creating a table decided for the user, to be told: "bucket=-1, since none was given …".
struct CreatedTable {
  std::string path;
  std::vector<std::string> notes;
};

class Engine {
 public:
  static Result<std::unique_ptr<Engine>> Open(const EngineOptions& options);
  virtual ~Engine() = default;

  virtual Result<std::vector<std::string>> ListDatabases() = 0;
  virtual Result<std::vector<std::string>> ListTables(const std::string& database) = 0;

  // `name` is "db.table", or a table's folder when it holds a '/'. The database is made when absent. A primary-key table without `bucket`
  // gets bucket=-1, dynamic buckets; a table with a changelog gets an explicit changelog.time-retained: both are told in `notes`.
  virtual Result<CreatedTable> CreateTable(const std::string& name, const TableDefinition& definition) = 0;
  virtual Status DropTable(const std::string& name) = 0;
  virtual Status RenameTable(const std::string& from, const std::string& to) = 0;
  // Adds a schema with the changes, in their order, all or none; rows and files stay. kInvalid, kNotFound, kAlreadyExists or
  // kUnsupported (what would need rows rewritten) names the column or option and the rule. Handles and writers that are open keep the schema
  // they were opened with. docs/sql.md has the rules.
  virtual Result<AlteredTable> AlterTable(const std::string& name,
                                          const std::vector<SchemaChange>& changes) = 0;

  // kNotFound when there is none; kUnsupported when an option of the table cannot be read here, naming it.
  virtual Result<std::unique_ptr<TableHandle>> OpenTable(const std::string& name) = 0;
};

// "0.1.0"
std::string_view Version();

}  // namespace headrace
