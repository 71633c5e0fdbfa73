// The words by which a Kafka topic is named and configured, without the client library behind them.
//
// Plain values and pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace headrace::ingest {

struct KafkaAddress {
  std::string brokers;  // host:port,host:port
  std::string topic;
};

inline bool IsKafkaAddress(std::string_view input) { return input.starts_with("kafka://"); }
Result<KafkaAddress> ParseKafkaAddress(std::string_view text);

// In the order given; librdkafka's names.
using KafkaProperties = std::vector<std::pair<std::string, std::string>>;

// Called with a line of text for people, while work goes on.
using SayLine = std::function<void(const std::string&)>;

// Where a job without a position begins in each partition.
struct KafkaStart {
  enum class At { kEarliest, kLatest, kTime, kOffsets };
  At at = At::kEarliest;
  int64_t time_ms = 0;                 // of kTime: the first record of this time or later
  std::map<int32_t, int64_t> offsets;  // of kOffsets: every partition's
};

// earliest, latest, timestamp:<milliseconds or ISO-8601>, offsets:0=12,1=40; empty is earliest.
Result<KafkaStart> ParseKafkaStart(std::string_view text);

}  // namespace headrace::ingest
