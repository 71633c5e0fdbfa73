#include "cli/event_arguments.h"

#include <charconv>
#include <cstdint>

namespace headrace::cli {
namespace {

constexpr int64_t kMostCommitEvery = 1'000'000'000'000;  // in minutes too, its milliseconds fit 64 bits

}  // namespace

Result<EventFormat> ParseEventFormat(const std::string& name) {
  if (name.empty()) return EventFormat::kAuto;
  if (name == "debezium-json") return EventFormat::kDebeziumJson;
  if (name == "debezium-flat") return EventFormat::kDebeziumFlat;
  if (name == "canal-json") return EventFormat::kCanalJson;
  if (name == "debezium-avro") return EventFormat::kDebeziumAvro;
  if (name == "avro") return EventFormat::kAvro;
  if (name == "maxwell-json") return EventFormat::kMaxwellJson;
  if (name == "wal2json") return EventFormat::kWal2Json;
  if (name == "test-decoding") return EventFormat::kTestDecoding;
  if (name == "json") return EventFormat::kJson;
  if (name == "csv") return EventFormat::kCsv;
  if (name == "parquet") return EventFormat::kParquet;
  if (name == "arrow") return EventFormat::kArrow;
  return UsageError("format ", name,
                    " is not known; use debezium-json, debezium-avro, debezium-flat, canal-json, "
                    "maxwell-json, wal2json, test-decoding, json, avro, csv, parquet or arrow");
}

Result<CommitEvery> ParseCommitEvery(const std::string& text, const char* forms) {
  CommitEvery every;
  if (text.empty()) return every;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, text.data() + text.size());
  if (error != std::errc() || number <= 0 || number > kMostCommitEvery)
    return UsageError("--commit-every ", text, ": write ", forms);
  if (unit.empty()) {
    every.rows = number;
  } else if (unit == "ms") {
    every.milliseconds = number;
  } else if (unit == "s") {
    every.milliseconds = number * 1000;
  } else if (unit == "m" || unit == "min") {
    every.milliseconds = number * 60 * 1000;
  } else {
    return UsageError("--commit-every ", text, ": the unit ", unit, " is not known; use ms, s or m");
  }
  return every;
}

Status AddKafkaOptions(const std::vector<std::string>& given, KafkaInput* kafka) {
  for (const std::string& one : given) {
    const size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0)
      return UsageError("--kafka-option ", one.substr(0, equals), ": write NAME=VALUE");
    kafka->properties.emplace_back(one.substr(0, equals), one.substr(equals + 1));
  }
  return Status::OK();
}

void AddAvroOptions(CLI::App* sub, AvroInput* avro) {
  sub->add_option("--schema-registry", avro->registry,
                  "Avro messages: where their schemas are, http://user:password@host:8081/path")
      ->type_name("URL");
  sub->add_option("--avro-schema", avro->schema_file,
                  "Avro messages without a registry: the schema they were written by (.avsc)")
      ->type_name("FILE");
  sub->add_option("--avro-key-schema", avro->key_schema_file, "The same of their keys (debezium-avro)")
      ->type_name("FILE");
  sub->add_option("--schema-id-bytes", avro->id_bytes,
                  "Bytes of a schema's id in a message: 4 (default), or 8 of Apicurio")
      ->type_name("N");
}

Result<bool> ParseChoice(const std::string& option, const std::string& given, const std::string& yes,
                         const std::string& no) {
  if (given == yes) return true;
  if (given == no) return false;
  return UsageError(option, " ", given, ": write ", yes, " or ", no);
}

}  // namespace headrace::cli
