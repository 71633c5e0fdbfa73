// A connection to a PostgreSQL server by libpq: queries, COPY, and the messages of logical replication.
//
// Every wait looks at `cancel` a few times a second, so that Ctrl-C ends it (kCancelled; the server is told to stop the query). Sessions are
// set to write values as postgres_values.h reads them. Errors name the server, and the statement where that helps; a password is in none
// of them. kIo: the connection is gone, or could not be made. One thread at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

struct pg_conn;
struct pg_result;

namespace headrace::ingest {

using PostgresRow = std::vector<std::optional<std::string>>;

class PostgresConnection {
 public:
  enum class Use { kQueries, kReplication };

  // `uri` as libpq takes it: postgres://user@host:port/database?sslmode=require, or "host=… dbname=…".
  static Result<std::unique_ptr<PostgresConnection>> Open(const std::string& uri, Use use,
                                                          const std::atomic<bool>* cancel);
  ~PostgresConnection();

  // "postgres://user@host:port/database", for messages.
  const std::string& name() const { return name_; }
  std::string database() const;
  int server_version() const;  // 150018

  Result<std::vector<PostgresRow>> Query(const std::string& sql);
  Status Run(const std::string& sql);
  // COPY … TO STDOUT: each line without its end.
  Status CopyOut(const std::string& sql, const std::function<Status(std::string_view line)>& each);

  // After it only the three below.
  Status StartReplication(const std::string& sql);
  // A message as the server sent it, valid until the next call; nothing when none came within `wait_ms`.
  Result<std::optional<std::string_view>> NextMessage(int wait_ms);
  Status SendMessage(std::string_view message);

  std::string Quoted(std::string_view name) const;   // "name"
  std::string Literal(std::string_view text) const;  // 'text'

 private:
  explicit PostgresConnection(pg_conn* connection, const std::atomic<bool>* cancel)
      : connection_(connection), cancel_(cancel) {}

  Status Prepare(Use use);
  Status WaitForResult(const std::string& sql);
  Result<bool> WaitForInput(int wait_ms);
  Status ErrorOf(std::string_view doing, const pg_result* result) const;
  void StopQuery();
  void AbandonCopy();
  bool cancelled() const { return cancel_ != nullptr && cancel_->load(); }

  pg_conn* const connection_;
  const std::atomic<bool>* const cancel_;
  std::string name_;
  char* copied_ = nullptr;  // libpq's buffer of the last message
};

// The same for a URI alone, before there is a connection: no password.
std::string DescribePostgresUri(const std::string& uri);

}  // namespace headrace::ingest
