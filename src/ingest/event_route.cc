#include "ingest/event_route.h"

#include <algorithm>

#include "ingest/event_lines.h"
#include "ingest/flat_decoder.h"
#include "ingest/test_decoding_text.h"

namespace headrace::ingest {
namespace {

void Add(const SourceName& name, EventRoute* route) {
  if (!name.known()) {
    route->is_nameless = true;
    return;
  }
  std::string text = name.ToString();
  route->to = EventRoute::To::kTables;
  if (std::find(route->tables.begin(), route->tables.end(), text) == route->tables.end())
    route->tables.push_back(std::move(text));
}

// The event inside a message and an envelope; nullptr when there is none.
const JsonToken* Unwrapped(const JsonToken& root, JsonTape* inner) {
  const JsonToken* event = &root;
  const JsonToken* value = FindMember(root, "value");
  if (value == nullptr) value = FindMember(root, "payload");
  if (value != nullptr && FindMember(root, "key") != nullptr && FindMember(root, "op") == nullptr) {
    if (value->kind == JsonKind::kString) {
      if (!inner->Parse(value->view())) return nullptr;
      value = &inner->root();
    }
    event = value;
  }
  if (event->kind != JsonKind::kObject) return nullptr;
  const JsonToken* payload = FindMember(*event, "payload");
  if (payload == nullptr || FindMember(*event, "schema") == nullptr) return event;
  return payload->kind == JsonKind::kObject ? payload : nullptr;
}

void RouteDebezium(const JsonToken& event, EventRoute* route) {
  const std::string_view op = TextOf(event, "op");
  if (op.empty() && FindMember(event, "ddl") != nullptr) {
    route->to = EventRoute::To::kEverybody;
  } else if (op.size() == 1 && op != "m") {
    Add(SourceNameOf(FindMember(event, "source")), route);
    route->has_rows = op != "t";
    // Another letter is what is wrong first.
    route->is_nameless = route->is_nameless && std::string_view("crudt").find(op) != std::string_view::npos;
  }
}

void RouteCanal(const JsonToken& event, EventRoute* route) {
  const std::string_view type = TextOf(event, "type");
  if (type == "INSERT" || type == "UPDATE" || type == "DELETE") {
    Add(SourceNameBeside(event), route);
    route->has_rows = true;
  } else if (!type.empty()) {
    route->to = EventRoute::To::kEverybody;
  }
}

void RouteMaxwell(const JsonToken& event, EventRoute* route) {
  const std::string_view type = TextOf(event, "type");
  if (type == "insert" || type == "update" || type == "delete" || type == "bootstrap-insert") {
    Add(SourceNameBeside(event), route);
    route->has_rows = true;
  } else if (type.starts_with("table-")) {
    route->to = EventRoute::To::kEverybody;
  }
}

void RouteWal2Json(const JsonToken& event, EventRoute* route) {
  const JsonToken* changes = FindMember(event, "change");
  if (!IsArray(changes)) {
    const std::string_view action = TextOf(event, "action");
    if (action == "I" || action == "U" || action == "D" || action == "T") Add(SourceNameBeside(event), route);
    route->has_rows = action != "T";
    return;
  }
  for (const JsonToken* change = changes->begin(); change != changes->end(); change = change->next()) {
    if (change->kind == JsonKind::kObject && TextOf(*change, "kind") != "message")
      Add(SourceNameBeside(*change), route);
  }
  route->has_rows = true;
}

bool IsFlatChange(const JsonToken& event) {
  std::string field;
  std::string why;
  return FlatOpOf(event, &field, &why).has_value();
}

EventRoute RouteTestDecoding(std::string_view record) {
  EventRoute route;
  TestDecodingChange change;
  std::string why;
  if (!ReadTestDecodingHead(record, &change, &why)) return route;
  for (const TestDecodingChange::Name& name : change.tables) Add({"", name.schema, name.table}, &route);
  route.has_rows = change.what != TestDecodingChange::What::kTruncate;
  return route;
}

}  // namespace

EventRoute RouteOf(EventFormat format, std::string_view line, JsonTape* tape, JsonTape* inner) {
  if (format == EventFormat::kTestDecoding) return RouteTestDecoding(line);
  EventRoute route;
  if (IsBlank(line) || !tape->Parse(line) || tape->root().kind != JsonKind::kObject) return route;
  const JsonToken* event = Unwrapped(tape->root(), inner);
  if (event == nullptr) return route;
  switch (format) {
    case EventFormat::kCanalJson: RouteCanal(*event, &route); break;
    case EventFormat::kMaxwellJson: RouteMaxwell(*event, &route); break;
    case EventFormat::kWal2Json: RouteWal2Json(*event, &route); break;
    case EventFormat::kDebeziumFlat:
      if (FindMember(*event, "ddl") == nullptr || FindMember(*event, "source") == nullptr)
        Add(FlatSourceOf(*event), &route);
      route.has_rows = true;
      route.is_nameless = route.is_nameless && IsFlatChange(*event);
      break;
    case EventFormat::kAuto:
    case EventFormat::kDebeziumAvro:
    case EventFormat::kDebeziumJson: RouteDebezium(*event, &route); break;
    case EventFormat::kTestDecoding:
    case EventFormat::kJson:
    case EventFormat::kAvro:
    case EventFormat::kCsv:
    case EventFormat::kParquet:
    case EventFormat::kArrow: break;
  }
  return route;
}

}  // namespace headrace::ingest
