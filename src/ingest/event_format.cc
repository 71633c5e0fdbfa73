#include "ingest/event_format.h"

namespace headrace::ingest {

Result<EventFormat> ParseEventFormat(std::string_view name) {
  if (name.empty() || name == "auto") return EventFormat::kAuto;
  if (name == "debezium-json" || name == "debezium") return EventFormat::kDebeziumJson;
  if (name == "json" || name == "jsonl") return EventFormat::kJson;
  if (name == "csv") return EventFormat::kCsv;
  if (name == "parquet") return EventFormat::kParquet;
  if (name == "arrow") return EventFormat::kArrow;
  return Invalid("'", name, "' is not a format of inputs: debezium-json, json, csv, parquet or arrow");
}

std::string_view NameOf(EventFormat format) {
  switch (format) {
    case EventFormat::kAuto: return "auto";
    case EventFormat::kDebeziumJson: return "debezium-json";
    case EventFormat::kJson: return "json";
    case EventFormat::kCsv: return "csv";
    case EventFormat::kParquet: return "parquet";
    case EventFormat::kArrow: return "arrow";
  }
  return "";
}

}  // namespace headrace::ingest
