// Connections, statements without rows, errors.
#include "sql/duckdb_handle.h"

namespace headrace {

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

}  // namespace headrace
