#include "ingest/event_format.h"

namespace headrace::ingest {

Result<EventFormat> ParseEventFormat(std::string_view name) {
  if (name.empty() || name == "auto") return EventFormat::kAuto;
  if (name == "debezium-json" || name == "debezium") return EventFormat::kDebeziumJson;
  if (name == "debezium-avro") return EventFormat::kDebeziumAvro;
  if (name == "debezium-flat") return EventFormat::kDebeziumFlat;
  if (name == "canal-json" || name == "canal") return EventFormat::kCanalJson;
  if (name == "maxwell-json" || name == "maxwell") return EventFormat::kMaxwellJson;
  if (name == "wal2json") return EventFormat::kWal2Json;
  if (name == "test-decoding" || name == "test_decoding") return EventFormat::kTestDecoding;
  if (name == "json" || name == "jsonl") return EventFormat::kJson;
  if (name == "avro") return EventFormat::kAvro;
  if (name == "csv") return EventFormat::kCsv;
  if (name == "parquet") return EventFormat::kParquet;
  if (name == "arrow") return EventFormat::kArrow;
  return Invalid(
      "'", name,
      "' is not a format of inputs: debezium-json, debezium-avro, debezium-flat, canal-json, maxwell-json, "
      "wal2json, test-decoding, json, avro, csv, parquet or arrow");
}

std::string_view NameOf(EventFormat format) {
  switch (format) {
    case EventFormat::kAuto: return "auto";
    case EventFormat::kDebeziumJson: return "debezium-json";
    case EventFormat::kDebeziumAvro: return "debezium-avro";
    case EventFormat::kDebeziumFlat: return "debezium-flat";
    case EventFormat::kCanalJson: return "canal-json";
    case EventFormat::kMaxwellJson: return "maxwell-json";
    case EventFormat::kWal2Json: return "wal2json";
    case EventFormat::kTestDecoding: return "test-decoding";
    case EventFormat::kJson: return "json";
    case EventFormat::kAvro: return "avro";
    case EventFormat::kCsv: return "csv";
    case EventFormat::kParquet: return "parquet";
    case EventFormat::kArrow: return "arrow";
  }
  return "";
}

bool IsEventForm(EventFormat format) {
  return format == EventFormat::kDebeziumJson || format == EventFormat::kDebeziumAvro ||
         format == EventFormat::kDebeziumFlat || format == EventFormat::kCanalJson ||
         format == EventFormat::kMaxwellJson || format == EventFormat::kWal2Json ||
         format == EventFormat::kTestDecoding;
}

}  // namespace headrace::ingest
