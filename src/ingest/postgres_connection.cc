#include "ingest/postgres_connection.h"

#include <poll.h>

#include <libpq-fe.h>

namespace headrace::ingest {
namespace {

constexpr int kBetweenLooksMs = 200;  // between two looks at `cancel`
constexpr const char* kConnectSeconds = "15";

struct ResultDeleter {
  void operator()(PGresult* result) const { PQclear(result); }
};
using OwnedResult = std::unique_ptr<PGresult, ResultDeleter>;

std::string TrimmedMessage(const char* message) {
  std::string text = message == nullptr ? "" : message;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

std::string NameOf(const char* user, const char* host, const char* port, const char* database) {
  const auto part = [](const char* text) { return std::string(text == nullptr ? "" : text); };
  std::string name = "postgres://";
  if (!part(user).empty()) name += part(user) + "@";
  name += part(host).empty() ? "localhost" : part(host);
  if (!part(port).empty()) name += ":" + part(port);
  return name + "/" + part(database);
}

// Errors that a new connection a moment later may not meet: the server ends the session, or another one still holds what is needed. Told by codes,
// for texts are in the server's language.
bool PassesByItself(const PGresult* result) {
  const char* severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const std::string_view level = severity == nullptr ? "" : severity;
  const std::string_view code = state == nullptr ? "" : state;
  constexpr std::string_view kObjectInUse = "55006";
  return code.empty() || level == "FATAL" || level == "PANIC" || code.starts_with("08") ||
         code.starts_with("57P") || code == kObjectInUse;
}

// A statement in a message: its beginning.
std::string Shown(const std::string& sql) { return sql.size() <= 120 ? sql : sql.substr(0, 117) + "..."; }

}  // namespace

std::string DescribePostgresUri(const std::string& uri) {
  char* error = nullptr;
  PQconninfoOption* options = PQconninfoParse(uri.c_str(), &error);
  PQfreemem(error);
  if (options == nullptr) return "the PostgreSQL server";
  const char* parts[4] = {};
  const char* keys[4] = {"user", "host", "port", "dbname"};
  for (PQconninfoOption* option = options; option->keyword != nullptr; ++option) {
    for (int i = 0; i < 4; ++i) {
      if (std::string_view(option->keyword) == keys[i]) parts[i] = option->val;
    }
  }
  std::string name = NameOf(parts[0], parts[1], parts[2], parts[3]);
  PQconninfoFree(options);
  return name;
}

Result<std::unique_ptr<PostgresConnection>> PostgresConnection::Open(const std::string& uri, Use use,
                                                                     const std::atomic<bool>* cancel) {
  // libpq's own message about a URI may quote it, password included.
  PQconninfoOption* parsed = PQconninfoParse(uri.c_str(), nullptr);
  if (parsed == nullptr) {
    return Invalid(
        "connecting to PostgreSQL: the address is not one that libpq reads; write "
        "postgres://user@host:port/database");
  }
  PQconninfoFree(parsed);
  // What is in the URI comes after what stands before it here, and wins.
  const char* keys[] = {"connect_timeout", "fallback_application_name", "dbname",
                        "replication",     "client_encoding",           nullptr};
  const char* values[] = {kConnectSeconds, "headrace",
                          uri.c_str(),     use == Use::kReplication ? "database" : "false",
                          "UTF8",          nullptr};
  pg_conn* made = PQconnectdbParams(keys, values, /*expand_dbname=*/1);
  std::unique_ptr<PostgresConnection> connection(new PostgresConnection(made, cancel));
  if (made == nullptr || PQstatus(made) != CONNECTION_OK) {
    return IoError("connecting to ", DescribePostgresUri(uri), ": ",
                   made == nullptr ? "out of memory" : TrimmedMessage(PQerrorMessage(made)));
  }
  HEADRACE_RETURN_NOT_OK(connection->Prepare(use));
  return connection;
}

PostgresConnection::~PostgresConnection() {
  PQfreemem(copied_);
  PQfinish(connection_);
}

Status PostgresConnection::Prepare(Use use) {
  name_ = NameOf(PQuser(connection_), PQhost(connection_), PQport(connection_), PQdb(connection_));
  // One at a time: a replication session takes no list.
  for (const char* setting :
       {"SET datestyle = 'ISO, MDY'", "SET intervalstyle = 'postgres'", "SET timezone = 'UTC'",
        "SET extra_float_digits = 3", "SET bytea_output = 'hex'", "SET statement_timeout = 0",
        "SET lock_timeout = 0", "SET idle_in_transaction_session_timeout = 0"}) {
    HEADRACE_RETURN_NOT_OK(Run(setting));
  }
  // Names in catalog queries mean the catalog, whatever tables there are.
  return use == Use::kQueries ? Run("SET search_path = pg_catalog") : Status::OK();
}

std::string PostgresConnection::database() const { return PQdb(connection_); }
int PostgresConnection::server_version() const { return PQserverVersion(connection_); }

Status PostgresConnection::ErrorOf(std::string_view doing, const pg_result* result) const {
  const std::string message = result == nullptr ? TrimmedMessage(PQerrorMessage(connection_))
                                                : TrimmedMessage(PQresultErrorMessage(result));
  const bool lost = PQstatus(connection_) != CONNECTION_OK || result == nullptr || PassesByItself(result);
  const std::string text = std::string(doing) + " at " + name_ + ": " + message;
  return lost ? IoError(text) : Invalid(text);
}

void PostgresConnection::StopQuery() {
  PGcancel* stop = PQgetCancel(connection_);
  if (stop == nullptr) return;
  char error[256];
  PQcancel(stop, error, sizeof(error));
  PQfreeCancel(stop);
}

// False when nothing came in time.
Result<bool> PostgresConnection::WaitForInput(int wait_ms) {
  pollfd ready{PQsocket(connection_), POLLIN, 0};
  const int found = poll(&ready, 1, wait_ms);
  if (found < 0 && errno != EINTR) return IoError("waiting for ", name_, ": errno ", errno);
  if (found <= 0) return false;
  if (PQconsumeInput(connection_) == 0) return ErrorOf("reading", nullptr);
  return true;
}

Status PostgresConnection::WaitForResult(const std::string& sql) {
  if (PQsendQuery(connection_, sql.c_str()) == 0) return ErrorOf("running " + Shown(sql), nullptr);
  while (PQisBusy(connection_) != 0) {
    if (cancelled()) {
      StopQuery();
      return Cancelled("running ", Shown(sql), " at ", name_, ": stopped on request");
    }
    HEADRACE_RETURN_NOT_OK(WaitForInput(kBetweenLooksMs).status());
  }
  return Status::OK();
}

// What the server still sends of a copy is read and forgotten, so that the connection can be used again.
void PostgresConnection::AbandonCopy() {
  StopQuery();
  char* line = nullptr;
  while (PQgetCopyData(connection_, &line, /*async=*/0) > 0) PQfreemem(line);
  while (const OwnedResult rest{PQgetResult(connection_)}) {
  }
}

Result<std::vector<PostgresRow>> PostgresConnection::Query(const std::string& sql) {
  HEADRACE_RETURN_NOT_OK(WaitForResult(sql));
  std::vector<PostgresRow> rows;
  Status status;
  while (true) {
    const OwnedResult result(PQgetResult(connection_));
    if (result == nullptr) break;
    const ExecStatusType kind = PQresultStatus(result.get());
    if (kind != PGRES_TUPLES_OK && kind != PGRES_COMMAND_OK) {
      if (status.ok()) status = ErrorOf("running " + Shown(sql), result.get());
      if (kind == PGRES_COPY_BOTH || kind == PGRES_COPY_OUT || kind == PGRES_COPY_IN) break;
      continue;
    }
    for (int r = 0; r < PQntuples(result.get()); ++r) {
      PostgresRow row;
      for (int c = 0; c < PQnfields(result.get()); ++c) {
        if (PQgetisnull(result.get(), r, c) != 0) {
          row.emplace_back(std::nullopt);
        } else {
          row.emplace_back(std::string(PQgetvalue(result.get(), r, c), PQgetlength(result.get(), r, c)));
        }
      }
      rows.push_back(std::move(row));
    }
  }
  HEADRACE_RETURN_NOT_OK(status);
  return rows;
}

Status PostgresConnection::Run(const std::string& sql) { return Query(sql).status(); }

Status PostgresConnection::CopyOut(const std::string& sql,
                                   const std::function<Status(std::string_view line)>& each) {
  HEADRACE_RETURN_NOT_OK(WaitForResult(sql));
  {
    const OwnedResult begun(PQgetResult(connection_));
    if (PQresultStatus(begun.get()) != PGRES_COPY_OUT) {
      Status status = ErrorOf("running " + Shown(sql), begun.get());
      while (const OwnedResult rest{PQgetResult(connection_)}) {
      }
      return status;
    }
  }
  while (true) {
    char* line = nullptr;
    const int length = PQgetCopyData(connection_, &line, /*async=*/1);
    Status status;
    if (length > 0) {
      status = each(std::string_view(line, static_cast<size_t>(length) - (line[length - 1] == '\n' ? 1 : 0)));
      PQfreemem(line);
    } else if (length == 0) {
      status = WaitForInput(kBetweenLooksMs).status();
    } else {
      break;
    }
    if (status.ok() && cancelled()) status = Cancelled("copying from ", name_, ": stopped on request");
    if (!status.ok()) {
      AbandonCopy();
      return status;
    }
  }
  Status status;
  while (const OwnedResult end{PQgetResult(connection_)}) {
    if (PQresultStatus(end.get()) != PGRES_COMMAND_OK && status.ok())
      status = ErrorOf("running " + Shown(sql), end.get());
  }
  return status;
}

Status PostgresConnection::StartReplication(const std::string& sql) {
  HEADRACE_RETURN_NOT_OK(WaitForResult(sql));
  const OwnedResult result(PQgetResult(connection_));
  if (PQresultStatus(result.get()) == PGRES_COPY_BOTH) return Status::OK();
  return ErrorOf("running " + Shown(sql), result.get());
}

Result<std::optional<std::string_view>> PostgresConnection::NextMessage(int wait_ms) {
  PQfreemem(copied_);
  copied_ = nullptr;
  for (int tries = 0; tries < 2; ++tries) {
    const int length = PQgetCopyData(connection_, &copied_, /*async=*/1);
    if (length > 0) return std::string_view(copied_, static_cast<size_t>(length));
    if (length < 0) {
      const OwnedResult result(PQgetResult(connection_));
      if (length == -1 && PQresultStatus(result.get()) == PGRES_COMMAND_OK)
        return IoError("following the log of ", name_, ": the server ended the stream; it is shutting down");
      return ErrorOf("following the log", result.get());
    }
    if (tries > 0) break;
    HEADRACE_ASSIGN_OR_RETURN(const bool came, WaitForInput(wait_ms));
    if (!came) break;
  }
  return std::nullopt;
}

Status PostgresConnection::SendMessage(std::string_view message) {
  if (PQputCopyData(connection_, message.data(), static_cast<int>(message.size())) != 1 ||
      PQflush(connection_) < 0)
    return ErrorOf("answering", nullptr);
  return Status::OK();
}

std::string PostgresConnection::Quoted(std::string_view name) const {
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"') text += '"';
    text += c;
  }
  return text + "\"";
}

std::string PostgresConnection::Literal(std::string_view text) const {
  std::string literal = text.find('\\') == std::string_view::npos ? "'" : "E'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') literal += c;
    literal += c;
  }
  return literal + "'";
}

}  // namespace headrace::ingest
