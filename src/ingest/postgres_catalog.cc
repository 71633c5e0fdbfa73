#include "ingest/postgres_catalog.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace headrace::ingest {
namespace {

constexpr int kOldestVersion = 130000;
constexpr int kColumnListsVersion = 150000;
constexpr uint32_t kLongestBlockHeader = 40;

int64_t NumberOf(const std::optional<std::string>& text) {
  int64_t number = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

std::string TextOrEmpty(const std::optional<std::string>& text) { return text.value_or(""); }

bool IsTrue(const std::optional<std::string>& text) { return text == "t"; }

std::string JoinOids(const std::map<uint32_t, SourceTable>& tables) {
  std::string list;
  for (const auto& [oid, table] : tables) list += (list.empty() ? "" : ",") + std::to_string(oid);
  return list;
}

Status AddColumns(PostgresConnection* connection, std::map<uint32_t, SourceTable>* tables) {
  HEADRACE_ASSIGN_OR_RETURN(
      const std::vector<PostgresRow> columns,
      connection->Query(
          "SELECT attrelid, attname, atttypid, atttypmod FROM pg_attribute WHERE attrelid IN (" +
          JoinOids(*tables) +
          ") AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attrelid, attnum"));
  for (const PostgresRow& row : columns) {
    pgoutput::RelationColumn column;
    column.name = TextOrEmpty(row[1]);
    column.type_oid = static_cast<uint32_t>(NumberOf(row[2]));
    column.type_modifier = static_cast<int32_t>(NumberOf(row[3]));
    (*tables)[static_cast<uint32_t>(NumberOf(row[0]))].relation.columns.push_back(std::move(column));
  }
  return Status::OK();
}

// The columns of the index that tells rows apart, in its order.
Status AddKeys(PostgresConnection* connection, std::map<uint32_t, SourceTable>* tables) {
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<PostgresRow> keys,
                            connection->Query("SELECT i.indrelid, a.attname FROM pg_index i JOIN pg_class c "
                                              "ON c.oid = i.indrelid CROSS JOIN LATERAL "
                                              "unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, place) "
                                              "JOIN pg_attribute a ON a.attrelid = i.indrelid AND "
                                              "a.attnum = k.attnum WHERE i.indrelid IN (" +
                                              JoinOids(*tables) +
                                              ") AND k.place <= i.indnkeyatts AND CASE c.relreplident WHEN "
                                              "'i' THEN i.indisreplident ELSE i.indisprimary END "
                                              "ORDER BY i.indrelid, k.place"));
  for (const PostgresRow& row : keys) {
    SourceTable& table = (*tables)[static_cast<uint32_t>(NumberOf(row[0]))];
    table.key.push_back(TextOrEmpty(row[1]));
    for (pgoutput::RelationColumn& column : table.relation.columns)
      column.identity = column.identity || column.name == table.key.back();
  }
  return Status::OK();
}

}  // namespace

Result<PostgresServer> ReadServer(PostgresConnection* connection) {
  if (connection->server_version() < kOldestVersion) {
    return Unsupported("syncing from ", connection->name(), ": the server is of version ",
                       connection->server_version() / 10000, "; at least 13 is needed");
  }
  HEADRACE_ASSIGN_OR_RETURN(
      const std::vector<PostgresRow> rows,
      connection->Query(
          "SELECT (SELECT system_identifier FROM pg_control_system()), current_setting('wal_level'), "
          "current_setting('wal_block_size'), (SELECT setting FROM pg_settings WHERE name = "
          "'wal_sender_timeout'), pg_is_in_recovery()"));
  const PostgresRow& row = rows.front();
  if (TextOrEmpty(row[1]) != "logical") {
    return Unsupported("syncing from ", connection->name(), ": its wal_level is ", TextOrEmpty(row[1]),
                       "; set wal_level = logical in postgresql.conf and restart the server");
  }
  if (IsTrue(row[4])) {
    return Unsupported("syncing from ", connection->name(), ": it is a standby; connect to its primary");
  }
  PostgresServer server;
  server.system = TextOrEmpty(row[0]);
  server.log_block_bytes = static_cast<uint32_t>(std::max<int64_t>(NumberOf(row[2]), 1024));
  server.sender_timeout_ms = NumberOf(row[3]);
  HEADRACE_ASSIGN_OR_RETURN(server.log_end, ReadLogEnd(connection, server));
  return server;
}

Result<pgoutput::Lsn> ReadLogEnd(PostgresConnection* connection, const PostgresServer& server) {
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<PostgresRow> rows,
                            connection->Query("SELECT pg_current_wal_lsn()"));
  const std::optional<pgoutput::Lsn> lsn = pgoutput::ParseLsn(TextOrEmpty(rows.front()[0]));
  if (!lsn)
    return Corruption("syncing from ", connection->name(), ": its log ends at ",
                      TextOrEmpty(rows.front()[0]));
  const pgoutput::Lsn in_block = *lsn % server.log_block_bytes;
  return in_block <= kLongestBlockHeader ? *lsn - in_block : *lsn;
}

bool MatchesPattern(std::string_view name, std::string_view pattern) {
  size_t at = 0;
  size_t in_pattern = 0;
  size_t star = std::string_view::npos;
  size_t after_star = 0;
  while (at < name.size()) {
    if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
      star = in_pattern++;
      after_star = at;
    } else if (in_pattern < pattern.size() && pattern[in_pattern] == name[at]) {
      ++in_pattern;
      ++at;
    } else if (star != std::string_view::npos) {
      in_pattern = star + 1;
      at = ++after_star;
    } else {
      return false;
    }
  }
  while (in_pattern < pattern.size() && pattern[in_pattern] == '*') ++in_pattern;
  return in_pattern == pattern.size();
}

Result<std::vector<SourceTable>> ListTables(PostgresConnection* connection,
                                            const std::vector<std::string>& patterns) {
  HEADRACE_ASSIGN_OR_RETURN(
      const std::vector<PostgresRow> rows,
      connection->Query(
          "SELECT c.oid, n.nspname, c.relname, c.relreplident FROM pg_class c JOIN pg_namespace n ON n.oid = "
          "c.relnamespace WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence = 'p' "
          "AND n.nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY 2, 3"));
  std::map<uint32_t, SourceTable> tables;
  for (const PostgresRow& row : rows) {
    SourceTable table;
    table.relation.id = static_cast<uint32_t>(NumberOf(row[0]));
    table.relation.schema = TextOrEmpty(row[1]);
    table.relation.name = TextOrEmpty(row[2]);
    table.relation.identity = static_cast<pgoutput::ReplicaIdentity>(TextOrEmpty(row[3]).front());
    const auto takes = [&table](const std::string& pattern) {
      return MatchesPattern(table.name(),
                            pattern.find('.') == std::string::npos ? "public." + pattern : pattern);
    };
    if (std::any_of(patterns.begin(), patterns.end(), takes)) tables[table.relation.id] = std::move(table);
  }
  if (tables.empty()) return std::vector<SourceTable>();
  HEADRACE_RETURN_NOT_OK(AddColumns(connection, &tables));
  HEADRACE_RETURN_NOT_OK(AddKeys(connection, &tables));
  std::vector<SourceTable> listed;
  for (auto& [oid, table] : tables) listed.push_back(std::move(table));
  std::sort(listed.begin(), listed.end(),
            [](const SourceTable& a, const SourceTable& b) { return a.name() < b.name(); });
  return listed;
}

Status LoadTypes(PostgresConnection* connection, PostgresTypes* types) {
  // An array is what is read and written as one: vectors of the catalog look alike, but are written otherwise.
  HEADRACE_ASSIGN_OR_RETURN(
      const std::vector<PostgresRow> rows,
      connection->Query(
          "SELECT oid, typname, typtype, typbasetype, typtypmod, CASE WHEN typcategory = 'A' AND typlen = -1 "
          "AND typdelim = ',' AND oid NOT IN (22, 30) THEN typelem ELSE 0 END FROM pg_type"));
  for (const PostgresRow& row : rows) {
    PostgresType type;
    type.oid = static_cast<uint32_t>(NumberOf(row[0]));
    type.name = TextOrEmpty(row[1]);
    type.kind = TextOrEmpty(row[2]).empty() ? 'b' : TextOrEmpty(row[2]).front();
    type.base = static_cast<uint32_t>(NumberOf(row[3]));
    type.base_modifier = static_cast<int32_t>(NumberOf(row[4]));
    type.element = static_cast<uint32_t>(NumberOf(row[5]));
    types->Add(std::move(type));
  }
  return Status::OK();
}

Result<std::optional<std::vector<std::string>>> FindPublished(PostgresConnection* connection,
                                                              const std::string& publication,
                                                              const std::vector<SourceTable>& wanted) {
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<PostgresRow> found,
                            connection->Query("SELECT pubinsert AND pubupdate AND pubdelete AND pubtruncate "
                                              "FROM pg_publication WHERE pubname = " +
                                              connection->Literal(publication)));
  if (found.empty()) return std::nullopt;
  if (!IsTrue(found.front()[0])) {
    return Unsupported("syncing from ", connection->name(), ": publication ", publication,
                       " leaves out kinds of changes; it must publish insert, update, delete and truncate");
  }
  const bool lists = connection->server_version() >= kColumnListsVersion;
  HEADRACE_ASSIGN_OR_RETURN(
      const std::vector<PostgresRow> rows,
      connection->Query("SELECT schemaname || '.' || tablename, " +
                        std::string(lists ? "rowfilter IS NOT NULL, cardinality(attnames)" : "false, null") +
                        " FROM pg_publication_tables WHERE pubname = " + connection->Literal(publication)));
  std::vector<std::string> published;
  for (const PostgresRow& row : rows) {
    const std::string name = TextOrEmpty(row[0]);
    const auto table = std::find_if(wanted.begin(), wanted.end(),
                                    [&name](const SourceTable& one) { return one.name() == name; });
    published.push_back(name);
    if (table == wanted.end()) continue;
    if (IsTrue(row[1])) {
      return Unsupported("syncing from ", connection->name(), ": publication ", publication,
                         " leaves out rows of ", name, " by a row filter; publish the table whole");
    }
    if (row[2] && NumberOf(row[2]) < static_cast<int64_t>(table->relation.columns.size())) {
      return Unsupported("syncing from ", connection->name(), ": publication ", publication,
                         " leaves out columns of ", name, "; publish the table whole");
    }
  }
  return published;
}

Result<std::optional<SlotState>> FindSlot(PostgresConnection* connection, const std::string& slot) {
  HEADRACE_ASSIGN_OR_RETURN(
      const std::vector<PostgresRow> rows,
      connection->Query(
          "SELECT plugin, database, wal_status IS NOT DISTINCT FROM 'lost', active_pid, confirmed_flush_lsn "
          "FROM pg_replication_slots WHERE slot_name = " +
          connection->Literal(slot)));
  if (rows.empty()) return std::nullopt;
  const PostgresRow& row = rows.front();
  SlotState state;
  state.plugin = TextOrEmpty(row[0]);
  state.database = TextOrEmpty(row[1]);
  state.lost = IsTrue(row[2]);
  if (row[3]) state.active_process = NumberOf(row[3]);
  state.confirmed = pgoutput::ParseLsn(TextOrEmpty(row[4])).value_or(0);
  return state;
}

Result<ExportedSnapshot> CreateSlot(PostgresConnection* replication, const std::string& slot,
                                    bool temporary) {
  HEADRACE_ASSIGN_OR_RETURN(
      const std::vector<PostgresRow> rows,
      replication->Query("CREATE_REPLICATION_SLOT " + replication->Quoted(slot) +
                         (temporary ? " TEMPORARY" : "") + " LOGICAL pgoutput EXPORT_SNAPSHOT"));
  ExportedSnapshot made;
  const std::optional<pgoutput::Lsn> point = rows.empty() || rows.front().size() < 3
                                                 ? std::nullopt
                                                 : pgoutput::ParseLsn(TextOrEmpty(rows.front()[1]));
  if (!point || !rows.front()[2])
    return Corruption("making slot ", slot, " at ", replication->name(),
                      ": the server told no consistent point");
  made.consistent_point = *point;
  made.snapshot = *rows.front()[2];
  return made;
}

}  // namespace headrace::ingest
