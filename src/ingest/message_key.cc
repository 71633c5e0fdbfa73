#include "ingest/message_key.h"

#include "ingest/json_tape.h"

namespace headrace::ingest {
namespace {

// A key or a header is JSON where its converter writes JSON.
bool LooksLikeObject(std::string_view text) { return text.starts_with('{') && text.ends_with('}'); }

}  // namespace

std::string KeyLineOf(std::string_view topic, std::string_view key, std::span<const MessageHeader> headers) {
  std::string line = "{\"topic\":\"" + std::string(topic) + "\",\"key\":";
  line += LooksLikeObject(key) ? key : std::string_view("null");
  bool any = false;
  for (const auto& [name, value] : headers) {
    if (!LooksLikeObject(value)) continue;
    line += any ? "," : ",\"headers\":{";
    any = true;
    AppendJsonString(name, &line);
    line += ":";
    line += value;
  }
  line += any ? "}}" : "}";
  return line;
}

}  // namespace headrace::ingest
