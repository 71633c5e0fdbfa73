#include "ingest/foreign_form.h"

#include "ingest/event_format.h"
#include "ingest/test_decoding_text.h"

namespace headrace::ingest {
namespace {

bool Has(const JsonToken& object, std::string_view name) { return FindMember(object, name) != nullptr; }

std::string Refusal(std::string_view form, std::string_view advice) {
  return "this is " + std::string(form) + ", a form that is not read from files and topics; " +
         std::string(advice);
}

bool IsDebezium(const JsonToken& root) {
  const bool event = Has(root, "op") && (Has(root, "before") || Has(root, "after") || Has(root, "source"));
  const bool schema_change = Has(root, "ddl") && Has(root, "source");
  const bool boundary = Has(root, "status") && Has(root, "event_count");
  return event || schema_change || boundary || (root.length == 1 && Has(root, "ts_ms"));
}

bool IsFlat(const JsonToken& root) { return Has(root, "__op") || Has(root, "__deleted"); }

std::string_view Described(EventFormat form) {
  switch (form) {
    case EventFormat::kDebeziumJson: return "a Debezium event";
    case EventFormat::kDebeziumFlat: return "a flattened Debezium event (ExtractNewRecordState)";
    case EventFormat::kCanalJson: return "a Canal JSON message";
    case EventFormat::kMaxwellJson: return "a Maxwell JSON message";
    case EventFormat::kWal2Json: return "wal2json output";
    case EventFormat::kTestDecoding: return "the text of PostgreSQL's test_decoding";
    case EventFormat::kAuto:
    case EventFormat::kDebeziumAvro:
    case EventFormat::kAvro:
    case EventFormat::kJson:
    case EventFormat::kCsv:
    case EventFormat::kParquet:
    case EventFormat::kArrow: break;
  }
  return "of another form";
}

}  // namespace

std::optional<EventFormat> FormOfJson(const JsonToken& root) {
  if (root.kind != JsonKind::kObject) return std::nullopt;
  if (IsDebezium(root)) return EventFormat::kDebeziumJson;
  const JsonToken* payload = FindMember(root, "payload");
  if (payload != nullptr && Has(root, "schema")) {
    const bool flat = payload->kind == JsonKind::kObject && !Has(*payload, "op") && IsFlat(*payload);
    return flat ? EventFormat::kDebeziumFlat : EventFormat::kDebeziumJson;
  }
  if (Has(root, "key") && (Has(root, "value") || payload != nullptr)) return EventFormat::kDebeziumJson;
  if (Has(root, "op")) return std::nullopt;
  if (Has(root, "isDdl") || (Has(root, "data") && Has(root, "database") && Has(root, "mysqlType")))
    return EventFormat::kCanalJson;
  if (Has(root, "type") && Has(root, "database") &&
      (Has(root, "data") || Has(root, "def") || Has(root, "sql")))
    return EventFormat::kMaxwellJson;
  if (Has(root, "action") &&
      (Has(root, "columns") || Has(root, "identity") || Has(root, "lsn") || Has(root, "xid")))
    return EventFormat::kWal2Json;
  if (Has(root, "change") && (Has(root, "xid") || Has(root, "nextlsn") || root.length == 1))
    return EventFormat::kWal2Json;
  if (IsFlat(root) || Has(root, "__source_ts_ms")) return EventFormat::kDebeziumFlat;
  return std::nullopt;
}

EventFormat FormatOfLines(const std::vector<std::string>& lines) {
  JsonTape tape;
  for (const std::string& line : lines) {
    if (IsTestDecoding(line)) return EventFormat::kTestDecoding;
    if (!tape.Parse(line) || tape.root().kind != JsonKind::kObject) continue;
    const EventFormat form = FormOfJson(tape.root()).value_or(EventFormat::kJson);
    // Schema changes and marks of Debezium stand among flattened events too: a row decides.
    if (form != EventFormat::kDebeziumJson || FindMember(tape.root(), "ddl") == nullptr) return form;
  }
  return EventFormat::kAuto;
}

std::string RecogniseForeignJson(const JsonToken& root, EventFormat reading) {
  const std::optional<EventFormat> form = FormOfJson(root);
  if (!form || *form == reading) return {};
  // Lines of schema changes, heartbeats and marks stand among flattened events as they are.
  if (reading == EventFormat::kDebeziumFlat && *form == EventFormat::kDebeziumJson && !Has(root, "op"))
    return {};
  return "this is " + std::string(Described(*form)) + ", while " + std::string(NameOf(reading)) +
         " is being read; say --format " + std::string(NameOf(*form));
}

std::string RecogniseForeignText(std::string_view line) {
  // A zero byte, the schema's number in four, then what it describes.
  if (line.size() > 5 && line[0] == '\0') {
    return "this is a message of a schema registry (Avro, Protobuf or JSON Schema); Avro is read as "
           "debezium-avro or avro, with --schema-registry URL; for the others let the connector write plain "
           "JSON, by JsonConverter";
  }
  if (IsTestDecoding(line)) {
    return "this is " + std::string(Described(EventFormat::kTestDecoding)) + "; say --format " +
           std::string(NameOf(EventFormat::kTestDecoding));
  }
  // "0/1925F28 731 42000…"
  size_t i = 0;
  const auto take = [&](std::string_view digits) {
    const size_t begin = i;
    while (i < line.size() && digits.find(line[i]) != std::string_view::npos) ++i;
    return i > begin;
  };
  const auto skip = [&](char c) { return i < line.size() && line[i] == c && ++i > 0; };
  constexpr std::string_view kHex = "0123456789ABCDEFabcdef";
  if (!take(kHex) || !skip('/') || !take(kHex) || !skip(' ') || !take("0123456789") || !skip(' ')) return {};
  const std::string_view rest = line.substr(i);
  if (!rest.empty() && rest.find_first_not_of(kHex) == std::string_view::npos) {
    return Refusal("raw pgoutput", "write the slot by wal2json, or let Debezium capture the source");
  }
  return {};
}

}  // namespace headrace::ingest
