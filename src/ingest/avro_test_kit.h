// For tests of Avro messages: those that a Connect converter wrote (tests/fixtures/avro), a registry that knows their schemas, and a source
// that hands them out.
//
// Header only, included by tests alone. The registry speaks the documented API; a real one is in tests/interop/test_kafka_avro.py.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <httplib.h>

#include "ingest/decoder_test_kit.h"
#include "ingest/encoded_bytes.h"
#include "ingest/record_source.h"

namespace headrace::ingest {

inline std::vector<std::string> AvroFixture(const std::string& name) {
  return LinesOf(ReadFixture("../avro/" + name));
}

inline std::optional<std::string> FromBase64(const JsonToken& token) {
  if (token.is_null()) return std::nullopt;
  std::string bytes;
  EXPECT_TRUE(DecodeBase64(token.view(), false, &bytes));
  return bytes;
}

struct AvroMessage {
  std::string topic;
  std::optional<std::string> key;
  std::optional<std::string> value;
  std::vector<MessageHeader> headers;
};

inline std::vector<AvroMessage> MessagesOf(const std::string& capture) {
  std::vector<AvroMessage> messages;
  JsonTape tape;
  for (const std::string& line : AvroFixture(capture + ".messages.jsonl")) {
    EXPECT_TRUE(tape.Parse(line));
    AvroMessage& message = messages.emplace_back();
    message.topic = FindMember(tape.root(), "topic")->view();
    message.key = FromBase64(*FindMember(tape.root(), "key"));
    message.value = FromBase64(*FindMember(tape.root(), "value"));
    const JsonToken& headers = *FindMember(tape.root(), "headers");
    for (const JsonToken* name = headers.begin(); name != headers.end(); name = name[1].next())
      message.headers.emplace_back(std::string(name->view()), *FromBase64(name[1]));
  }
  return messages;
}

// Answers on loopback until it goes. Paths that nobody gave are 404, as a registry's are.
class TestRegistry {
 public:
  struct Answer {
    int status = 200;
    std::string body;
    std::chrono::milliseconds after{0};
  };

  TestRegistry() {
    server_.Get(".*", [this](const httplib::Request& request, httplib::Response& response) {
      std::unique_lock lock(mutex_);
      ++asked_[request.path];
      last_authorization_ = request.get_header_value("Authorization");
      const auto found = answers_.find(request.path);
      const Answer answer = found == answers_.end()
                                ? Answer{404, R"({"error_code":40403,"message":"Schema not found"})"}
                                : found->second;
      lock.unlock();
      std::this_thread::sleep_for(answer.after);
      response.status = answer.status;
      response.set_content(answer.body, "application/json");
    });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~TestRegistry() {
    server_.stop();
    thread_.join();
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

  void Set(const std::string& path, Answer answer) {
    const std::lock_guard lock(mutex_);
    answers_[path] = std::move(answer);
  }
  // `more`: members of the answer beside the schema.
  void SetSchema(int64_t id, const std::string& schema, const std::string& more = "") {
    Set("/schemas/ids/" + std::to_string(id), {200, AnswerOf(schema, more)});
  }
  static std::string AnswerOf(const std::string& schema, const std::string& more = "") {
    std::string text = "{\"schema\":";
    AppendJsonString(schema, &text);
    return text + more + "}";
  }
  void AddFixtures() {
    JsonTape tape;
    for (const std::string& line : AvroFixture("schemas.jsonl")) {
      ASSERT_TRUE(tape.Parse(line));
      SetSchema(std::stoll(std::string(FindMember(tape.root(), "id")->view())),
                std::string(FindMember(tape.root(), "schema")->view()));
    }
  }
  int asked(const std::string& path) {
    const std::lock_guard lock(mutex_);
    return asked_[path];
  }
  std::string last_authorization() {
    const std::lock_guard lock(mutex_);
    return last_authorization_;
  }

 private:
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
  std::mutex mutex_;
  std::map<std::string, Answer> answers_;
  std::map<std::string, int> asked_;
  std::string last_authorization_;
};

// Messages as a partition of the topic "t" has them.
class GivenMessages final : public RecordSource {
 public:
  explicit GivenMessages(std::vector<AvroMessage> messages) : messages_(std::move(messages)) {}
  Result<Event> Next() override { return next_++ < messages_.size() ? Event::kRecord : Event::kEnd; }
  void Unread() override { --next_; }
  std::string_view value() const override { return at().value ? std::string_view(*at().value) : "null"; }
  std::optional<std::string_view> key() const override { return std::nullopt; }
  Message message() const override {
    Message parts;
    if (at().value) parts.value = *at().value;
    if (at().key) parts.key = *at().key;
    parts.headers = at().headers;
    return parts;
  }
  RecordPlace place() const override {
    return {"topic t, partition 0", "offset", static_cast<int64_t>(next_) - 1};
  }
  void Stamp(Position*) const override {}
  Result<bool> IsBefore(const Position&) const override { return false; }

 private:
  const AvroMessage& at() const { return messages_[next_ - 1]; }
  std::vector<AvroMessage> messages_;
  size_t next_ = 0;
};

inline std::string WithId(int32_t id, const std::string& datum) {
  std::string message(1, '\0');
  for (int shift = 24; shift >= 0; shift -= 8) message += static_cast<char>(id >> shift);
  return message + datum;
}

}  // namespace headrace::ingest
