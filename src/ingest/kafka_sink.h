// Messages into a Kafka topic, idempotently and acknowledged by all replicas in sync.
//
// Send hands over; Flush returns when everything handed over is delivered, so what is moved after it is behind the messages: each is there at
// least once, and in the order of Send within a partition. A message that cannot be delivered fails the next call. Brokers that are away are
// waited for, and said. One thread.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "ingest/kafka_terms.h"

namespace headrace::ingest {

struct KafkaSinkOptions {
  KafkaAddress address;
  KafkaProperties properties;
  SayLine say;
  const std::atomic<bool>* cancel = nullptr;
};

class KafkaSink {
 public:
  virtual ~KafkaSink() = default;
  // A `value` of nothing is a tombstone.
  virtual Status Send(std::optional<std::string_view> key, std::optional<std::string_view> value) = 0;
  // kCancelled when `cancel` is set while brokers are away.
  virtual Status Flush() = 0;
};

// kNotFound: no such topic.
Result<std::unique_ptr<KafkaSink>> OpenKafkaSink(KafkaSinkOptions options);

}  // namespace headrace::ingest
