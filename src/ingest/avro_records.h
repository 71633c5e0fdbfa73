// Messages of Avro as records of JSON with their schema, which is what the decoders of enveloped events read.
//
// Around a source of messages (record_source.h), whose places and positions it passes on. Of `debezium-avro` a record is the event; of `avro`
// it is a row, handed on as an event that creates it. A message that cannot be read has a damage(), and raw() gives its own bytes. A registry
// that does not answer is waited for, as brokers are: the message is given back and the source is idle meanwhile. One thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "ingest/avro_schemas.h"
#include "ingest/kafka_terms.h"
#include "ingest/record_source.h"

namespace headrace::ingest {

struct AvroReading {
  std::shared_ptr<AvroSchemas> schemas;
  bool rows = false;  // the format avro: a record is a row; else an event of Debezium
};

class AvroRecords final : public RecordSource {
 public:
  // `topic` is the source's; `wants_keys` as in KafkaSourceOptions.
  AvroRecords(std::unique_ptr<RecordSource> messages, AvroReading reading, std::string topic, bool wants_keys,
              SayLine say);

  Result<Event> Next() override;
  void Unread() override { messages_->Unread(); }
  std::string_view value() const override { return line_; }
  std::optional<std::string_view> key() const override;
  std::string_view raw() const override { return messages_->raw(); }
  std::string_view damage() const override { return damage_; }
  RecordPlace place() const override { return messages_->place(); }
  void Stamp(Position* position) const override { messages_->Stamp(position); }
  Result<bool> IsBefore(const Position& position) const override { return messages_->IsBefore(position); }
  void Committed(const Position& position) override { messages_->Committed(position); }
  int64_t bytes_read() const override { return messages_->bytes_read(); }
  std::optional<int64_t> lag() const override { return messages_->lag(); }
  bool is_live() const override { return messages_->is_live(); }

 private:
  Status Translate();
  Status TranslateValue(std::string_view message);
  Status TranslateKey(const Message& message);
  Status KeyPart(std::string_view bytes, std::string_view what, bool has_schema, std::string* json);
  Result<Event> WaitForRegistry(const Status& failed);

  const std::unique_ptr<RecordSource> messages_;
  const AvroReading reading_;
  const std::string topic_;
  const bool wants_keys_;
  const SayLine say_;
  std::string line_;
  std::string key_line_;
  std::string damage_;
  std::shared_ptr<const AvroMeaning> envelope_of_;
  AvroEnvelope envelope_;
  std::optional<std::chrono::steady_clock::time_point> away_since_;
  std::chrono::steady_clock::time_point ask_again_;
  int failures_ = 0;
};

}  // namespace headrace::ingest
