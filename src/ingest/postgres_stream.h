// The log of a PostgreSQL server as it goes on: a thread of its own reads it and answers the server, whatever the caller is doing.
//
// Messages come out in order, each with its place. Acknowledge says up to where everything is committed: the server may free its log up to
// there, and after a restart begins no earlier. Status goes out every few seconds and when the server asks, also during long commits.
// Not more than a bound of bytes is kept ahead of the caller; the server waits then. One caller; the destructor sends a last status.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/lock.h"
#include "ingest/pgoutput_decoder.h"
#include "ingest/postgres_connection.h"

namespace headrace::ingest {

struct StreamMessage {
  bool keepalive = false;
  bool wants_answer =
      false;  // of a keepalive: the server waits, perhaps to shut down, until all of its log is committed
  pgoutput::Lsn begin = 0;  // of a message: where it is in the log
  pgoutput::Lsn server_end =
      0;              // how far the server's log reached; of a keepalive: everything before was sent
  std::string bytes;  // pgoutput's
};

class PostgresStream {
 public:
  struct Options {
    std::string slot;
    std::string publication;
    pgoutput::Lsn from = 0;
    int64_t status_every_ms = 10000;
  };
  static Result<std::unique_ptr<PostgresStream>> Start(const std::string& uri, const Options& options,
                                                       const std::atomic<bool>* cancel);
  ~PostgresStream();

  // Nothing when none came within `wait_ms`.
  Result<std::optional<StreamMessage>> Next(int wait_ms);
  void Acknowledge(pgoutput::Lsn committed) { committed_.store(committed); }
  // Asks the server how far its log reaches.
  void AskForEnd() { ask_.store(true); }

 private:
  PostgresStream(std::unique_ptr<PostgresConnection> connection, const Options& options)
      : connection_(std::move(connection)), options_(options) {}

  void Work();
  Status ReadOnce();
  Status SendStatus(bool ask);
  Status Take(std::string_view message);

  const std::unique_ptr<PostgresConnection> connection_;  // of the thread once it runs
  const Options options_;
  std::atomic<pgoutput::Lsn> committed_{0};
  std::atomic<bool> ask_{false};
  std::atomic<bool> stop_{false};
  pgoutput::Lsn received_ = 0;   // the thread's
  int64_t last_status_ms_ = 0;   // the thread's
  int64_t last_message_ms_ = 0;  // the thread's
  pgoutput::Lsn last_told_ = 0;  // the thread's

  Mutex mutex_;
  CondVar changed_;
  std::deque<StreamMessage> queue_ GUARDED_BY(mutex_);
  int64_t queued_bytes_ GUARDED_BY(mutex_) = 0;
  Status failed_ GUARDED_BY(mutex_);
  std::deque<StreamMessage> taken_;  // the caller's
  std::thread thread_;
};

}  // namespace headrace::ingest
