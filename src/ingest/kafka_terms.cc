#include "ingest/kafka_terms.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "ingest/time_text.h"

namespace headrace::ingest {
namespace {

constexpr std::string_view kScheme = "kafka://";
constexpr size_t kMostTopicBytes = 249;

bool IsTopicName(std::string_view name) {
  return !name.empty() && name.size() <= kMostTopicBytes && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                  c == '_' || c == '-';
         });
}

template <typename Number>
std::optional<Number> WholeNumber(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

Status ReadOffsets(std::string_view text, KafkaStart* start) {
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view one = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const size_t equals = std::min(one.find('='), one.size());
    const auto partition = WholeNumber<int32_t>(one.substr(0, equals));
    const auto offset =
        equals < one.size() ? WholeNumber<int64_t>(one.substr(equals + 1)) : std::optional<int64_t>();
    if (!partition || !offset || !start->offsets.emplace(*partition, *offset).second) {
      return Invalid("'", one,
                     "' is not a partition and its offset; write offsets:0=12,1=40, each partition once");
    }
  }
  if (!start->offsets.empty()) return Status::OK();
  return Invalid("offsets: of no partition; write offsets:0=12,1=40");
}

}  // namespace

Result<KafkaAddress> ParseKafkaAddress(std::string_view text) {
  if (!IsKafkaAddress(text)) return Invalid("'", text, "' is not an address like kafka://host:9092/topic");
  const std::string_view rest = text.substr(kScheme.size());
  const size_t slash = rest.find('/');
  if (slash == std::string_view::npos || slash == 0) {
    return Invalid("'", text, "' names no topic; write kafka://host:9092,otherhost:9092/topic");
  }
  KafkaAddress address{std::string(rest.substr(0, slash)), std::string(rest.substr(slash + 1))};
  if (address.brokers.find('@') != std::string::npos) {
    return Invalid(
        "kafka://… with a user's name in it: give user and password by --kafka-option "
        "sasl.username=… and sasl.password=…");
  }
  if (IsTopicName(address.topic)) return address;
  return Invalid("'", address.topic, "' is not a topic's name: 1 to ", kMostTopicBytes,
                 " letters, digits, '.', '_' and '-'");
}

Result<KafkaStart> ParseKafkaStart(std::string_view text) {
  constexpr std::string_view kTimestamp = "timestamp:";
  constexpr std::string_view kOffsets = "offsets:";
  KafkaStart start;
  if (text.empty() || text == "earliest") return start;
  if (text == "latest") {
    start.at = KafkaStart::At::kLatest;
    return start;
  }
  if (text.starts_with(kOffsets)) {
    start.at = KafkaStart::At::kOffsets;
    HEADRACE_RETURN_NOT_OK(ReadOffsets(text.substr(kOffsets.size()), &start));
    return start;
  }
  if (text.starts_with(kTimestamp)) {
    const std::string_view when = text.substr(kTimestamp.size());
    start.at = KafkaStart::At::kTime;
    std::optional<int64_t> ms = WholeNumber<int64_t>(when);
    if (!ms) {
      const std::optional<ParsedTime> time = ParseDateTime(when);
      if (time) ms = time->CountAt(3);
    }
    if (ms && *ms >= 0) {
      start.time_ms = *ms;
      return start;
    }
    return Invalid("'", when,
                   "' is not a time: write milliseconds since 1970, or 2026-05-17T13:00:00Z "
                   "(without a zone: UTC) with at most three digits of fraction");
  }
  return Invalid("'", text,
                 "' is not a place to start: earliest, latest, timestamp:2026-05-17T13:00:00Z or "
                 "offsets:0=12,1=40");
}

}  // namespace headrace::ingest
