#include "ingest/postgres_stream.h"

#include <chrono>
#include <utility>

#include "base/clock.h"

namespace headrace::ingest {
namespace {

constexpr int64_t kMostQueuedBytes = 32LL << 20;
constexpr int kStreamWaitMs = 50;
constexpr int64_t kSilenceMs = 120000;  // after it the connection counts as lost
constexpr int64_t kEpochShiftUs = 946684800LL * 1000000;
constexpr size_t kDataHeader = 1 + 8 + 8 + 8;
constexpr size_t kKeepalive = 1 + 8 + 8 + 1;

void AppendBig(uint64_t value, std::string* out) {
  for (int shift = 56; shift >= 0; shift -= 8) out->push_back(static_cast<char>(value >> shift));
}

uint64_t ReadBig(std::string_view bytes) {
  uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

}  // namespace

Result<std::unique_ptr<PostgresStream>> PostgresStream::Start(const std::string& uri, const Options& options,
                                                              const std::atomic<bool>* cancel) {
  HEADRACE_ASSIGN_OR_RETURN(std::unique_ptr<PostgresConnection> connection,
                            PostgresConnection::Open(uri, PostgresConnection::Use::kReplication, cancel));
  const std::string publications = connection->Literal(connection->Quoted(options.publication));
  HEADRACE_RETURN_NOT_OK(connection->StartReplication(
      "START_REPLICATION SLOT " + connection->Quoted(options.slot) + " LOGICAL " +
      pgoutput::LsnText(options.from) + " (proto_version '1', publication_names " + publications + ")"));
  std::unique_ptr<PostgresStream> stream(new PostgresStream(std::move(connection), options));
  stream->committed_ = options.from;
  stream->received_ = options.from;
  stream->last_message_ms_ = SteadyMs();
  stream->thread_ = std::thread([raw = stream.get()] { raw->Work(); });
  return stream;
}

PostgresStream::~PostgresStream() {
  stop_.store(true);
  {
    MutexLock lock(mutex_);
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void PostgresStream::Work() {
  Status status;
  while (status.ok() && !stop_.load()) status = ReadOnce();
  if (status.ok()) {
    // The last word: what is committed need not be sent again. Nothing is lost when it does not arrive.
    const Status told = SendStatus(false);
    (void)told;
  }
  MutexLock lock(mutex_);
  failed_ = status.ok() ? Cancelled("following the log: stopped") : status;
  changed_.NotifyAll();
}

Status PostgresStream::ReadOnce() {
  const int64_t now = SteadyMs();
  const bool due = now - last_status_ms_ >= options_.status_every_ms;
  const bool moved = committed_.load() != last_told_ && now - last_status_ms_ >= kStreamWaitMs;
  const bool asked = ask_.exchange(false);
  if (due || moved || asked) HEADRACE_RETURN_NOT_OK(SendStatus(asked || due));
  bool full = false;
  {
    MutexLock lock(mutex_);
    full = queued_bytes_ >= kMostQueuedBytes;
    if (full) changed_.WaitForMs(mutex_, kStreamWaitMs);
  }
  if (full) {
    last_message_ms_ = SteadyMs();  // it is us who do not listen
    return Status::OK();
  }
  HEADRACE_ASSIGN_OR_RETURN(const std::optional<std::string_view> message,
                            connection_->NextMessage(kStreamWaitMs));
  if (message) {
    last_message_ms_ = SteadyMs();
    return Take(*message);
  }
  if (SteadyMs() - last_message_ms_ > kSilenceMs)
    return IoError("following the log of ", connection_->name(), ": the server has been silent for ",
                   kSilenceMs / 1000, " s");
  return Status::OK();
}

Status PostgresStream::SendStatus(bool ask) {
  const pgoutput::Lsn committed = committed_.load();
  std::string message = "r";
  AppendBig(std::max(received_, committed), &message);
  AppendBig(committed, &message);
  AppendBig(committed, &message);
  const int64_t now_us = std::chrono::duration_cast<std::chrono::microseconds>(
                             std::chrono::system_clock::now().time_since_epoch())
                             .count();
  AppendBig(static_cast<uint64_t>(now_us - kEpochShiftUs), &message);
  message.push_back(ask ? 1 : 0);
  last_status_ms_ = SteadyMs();
  last_told_ = committed;
  return connection_->SendMessage(message);
}

Status PostgresStream::Take(std::string_view message) {
  StreamMessage taken;
  if (message.front() == 'w' && message.size() > kDataHeader) {
    taken.begin = ReadBig(message.substr(1));
    taken.server_end = ReadBig(message.substr(9));
    taken.bytes = message.substr(kDataHeader);
    received_ = std::max(received_, taken.begin);
  } else if (message.front() == 'k' && message.size() == kKeepalive) {
    taken.keepalive = true;
    taken.server_end = ReadBig(message.substr(1));
    taken.wants_answer = message.back() != 0;
    if (taken.wants_answer) HEADRACE_RETURN_NOT_OK(SendStatus(false));
  } else {
    return Corruption("following the log of ", connection_->name(), ": a message of ", message.size(),
                      " bytes that begins with byte ", static_cast<int>(message.front()));
  }
  MutexLock lock(mutex_);
  queued_bytes_ += static_cast<int64_t>(taken.bytes.size() + sizeof(taken));
  queue_.push_back(std::move(taken));
  changed_.NotifyAll();
  return Status::OK();
}

Result<std::optional<StreamMessage>> PostgresStream::Next(int wait_ms) {
  if (taken_.empty()) {
    MutexLock lock(mutex_);
    if (queue_.empty() && failed_.ok()) changed_.WaitForMs(mutex_, wait_ms);
    if (queue_.empty()) {
      HEADRACE_RETURN_NOT_OK(failed_);
      return std::nullopt;
    }
    taken_.swap(queue_);
    queued_bytes_ = 0;
    changed_.NotifyAll();
  }
  StreamMessage message = std::move(taken_.front());
  taken_.pop_front();
  return message;
}

}  // namespace headrace::ingest
