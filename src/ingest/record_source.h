// Where an ingest's records come from: files, Kafka, PostgreSQL's log. One contract for all, so that the loop that keeps the books is one.
//
// Records come one by one, each with its value, its message key where there is one, and its place as people read it. A source writes where it
// stands into a Position and is opened at one: what Stamp writes after a record is where a new source goes on behind that record. Next waits at
// most a moment and answers kIdle, so that commits by time, cancelling and progress go on. Views are valid until the next call of Next.
// One thread calls; what a source does behind it is its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ingest/message_key.h"
#include "ingest/position.h"

namespace headrace::ingest {

// "orders.jsonl, line 12"; "topic orders, partition 2, offset 31".
struct RecordPlace {
  std::string input;
  std::string_view unit = "line";  // static text: what `number` counts, the field's name in a dead letter too
  int64_t number = 0;

  std::string text() const { return input + ", " + std::string(unit) + " " + std::to_string(number); }
};

class RecordSource {
 public:
  enum class Event { kRecord, kIdle, kEnd };

  virtual ~RecordSource() = default;
  virtual Result<Event> Next() = 0;
  // Gives the last record back: Stamp does not count it, and the next Next() hands it out again. Once after each kRecord.
  virtual void Unread() = 0;

  // Of the last record. A value that is null (a Kafka tombstone) is the text "null".
  virtual std::string_view value() const = 0;
  // As a line of a keys file: the key's JSON, or {"key":…,"headers":{…}}. Nothing: there is none.
  virtual std::optional<std::string_view> key() const = 0;
  // The record's own bytes, where value() is made of them.
  virtual std::string_view raw() const { return value(); }
  // Why the last record cannot be read, though it was received: a bad record without a value. Empty: it can.
  virtual std::string_view damage() const { return {}; }
  // A message's parts as they came, for sources that make other records of them; without a value it is a tombstone.
  struct Message {
    std::optional<std::string_view> value;
    std::optional<std::string_view> key;
    std::vector<MessageHeader> headers;  // Debezium's
  };
  virtual Message message() const { return {value(), std::nullopt, {}}; }
  virtual RecordPlace place() const = 0;
  // The last record is its input's first: a header or a byte order mark may stand there.
  virtual bool first_of_input() const { return false; }

  virtual void Stamp(Position* position) const = 0;
  // The last record is in `position` already: of several tables that read one source, some are further on. kInvalid when the bytes that it was
  // made over are other ones.
  virtual Result<bool> IsBefore(const Position& position) const = 0;
  // `position` is durable in the table with its rows: others may now be told. A failure to tell them is no failure of the ingest.
  virtual void Committed(const Position&) {}

  // To show progress by.
  virtual int64_t bytes_read() const { return 0; }
  virtual std::optional<int64_t> lag() const {
    return std::nullopt;
  }  // records that are there and not read yet
  // Records may still come after a kIdle, with no end in sight: commits by time look at the clock also then.
  virtual bool is_live() const { return false; }
};

}  // namespace headrace::ingest
