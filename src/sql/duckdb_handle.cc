// Connections, statements without rows, errors and quoting.
#include "sql/duckdb_handle.h"

namespace headrace {
namespace {

std::string Quoted(std::string_view text, char quote) {
  std::string quoted(1, quote);
  for (const char c : text) {
    if (c == quote) quoted += quote;
    quoted += c;
  }
  return quoted + quote;
}

}  // namespace

Result<DuckConnection> ConnectDuck(duckdb_database database) {
  duckdb_connection connection = nullptr;
  if (duckdb_connect(database, &connection) != DuckDBSuccess)
    return Invalid("opening a connection to DuckDB failed");
  return DuckConnection(connection);
}

Status RunDuck(duckdb_connection connection, const std::string& sql) {
  DuckResult result;
  if (duckdb_query(connection, sql.c_str(), result.get()) == DuckDBSuccess) return Status::OK();
  const char* message = duckdb_result_error(result.get());
  return Invalid(message == nullptr ? "DuckDB failed and did not say why" : message);
}

Status FromDuckError(duckdb_error_data error, std::string_view doing) {
  if (error == nullptr) return Status::OK();
  Status status;
  if (duckdb_error_data_has_error(error)) status = Invalid(doing, ": ", duckdb_error_data_message(error));
  duckdb_destroy_error_data(&error);
  return status;
}

std::string QuotedName(std::string_view name) { return Quoted(name, '"'); }
std::string QuotedText(std::string_view text) { return Quoted(text, '\''); }

}  // namespace headrace
