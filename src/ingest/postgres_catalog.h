// What a sync has to know of a PostgreSQL server before it begins: settings, tables, types, publication, slot.
//
// Questions to the server's catalog by one connection; answers are plain values. Errors name the server. Source: PostgreSQL's "System Catalogs".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "ingest/pgoutput_decoder.h"
#include "ingest/postgres_connection.h"
#include "ingest/postgres_types.h"

namespace headrace::ingest {

struct PostgresServer {
  std::string system;  // the cluster's identifier: the same after a restart, another after initdb
  pgoutput::Lsn log_end = 0;
  uint32_t log_block_bytes = 8192;
  int64_t sender_timeout_ms = 60000;  // 0: none
};
// kUnsupported when the server is too old, a standby, or does not log what replication needs.
Result<PostgresServer> ReadServer(PostgresConnection* connection);
// How far the log reaches now, in a form that the stream of changes gets to: never inside the header of a block.
Result<pgoutput::Lsn> ReadLogEnd(PostgresConnection* connection, const PostgresServer& server);

struct SourceTable {
  // As a relation message would tell it, but that generated columns are left out and `identity` of a column is that of the key.
  pgoutput::Relation relation;
  // What tells rows apart in what is sent of old rows: the primary key, or the index of REPLICA IDENTITY USING INDEX. Empty: nothing does.
  std::vector<std::string> key;

  std::string name() const { return relation.schema + "." + relation.name; }
};
// All tables with a name that a pattern takes, by name: "schema.table", where '*' stands for any characters; "table" alone is of public.
// Partitions are left out, for their rows are the partitioned table's.
Result<std::vector<SourceTable>> ListTables(PostgresConnection* connection,
                                            const std::vector<std::string>& patterns);
bool MatchesPattern(std::string_view name, std::string_view pattern);

Status LoadTypes(PostgresConnection* connection, PostgresTypes* types);

// The names of the tables that it publishes, or nothing when there is no such publication. kUnsupported when it leaves out rows, columns or kinds
// of changes of `wanted` tables.
Result<std::optional<std::vector<std::string>>> FindPublished(PostgresConnection* connection,
                                                              const std::string& publication,
                                                              const std::vector<SourceTable>& wanted);

struct SlotState {
  std::string plugin;
  std::string database;
  bool lost = false;  // the server no longer has the log that it needs
  std::optional<int64_t> active_process;
  pgoutput::Lsn confirmed = 0;
};
Result<std::optional<SlotState>> FindSlot(PostgresConnection* connection, const std::string& slot);

// A slot at its consistent point, and the snapshot of the tables at that point. The snapshot is there until the connection is used or closed.
struct ExportedSnapshot {
  pgoutput::Lsn consistent_point = 0;
  std::string snapshot;
};
Result<ExportedSnapshot> CreateSlot(PostgresConnection* replication, const std::string& slot, bool temporary);

}  // namespace headrace::ingest
