#include "ingest/json_tape.h"

#include <cstring>
#include <mutex>

// The parser reports misuse by assertions of its own; input can never be misuse, and the checks below do not rely on them.
#if defined(__SSE2__)
#define RAPIDJSON_SSE2 1
#endif
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

#include "base/text.h"

namespace headrace::ingest {
namespace {

constexpr size_t kPadding = 64;  // wide loads of the parser look past the end

// The parser's wide comparison passes over these six control characters inside strings; no JSON has them anywhere.
bool HasLateControl(std::string_view text) {
  uint8_t found = 0;
  for (const char c : text) found |= static_cast<uint8_t>(static_cast<uint8_t>(c - 0x1A) < 6);
  return found != 0;
}

// A surrogate that an escape wrote as three bytes: valid UTF-8 input has none.
bool HasSurrogate(const char* text, size_t length) {
  const char* const end = text + length;
  while ((text = static_cast<const char*>(std::memchr(text, 0xED, end - text))) != nullptr) {
    if (end - text >= 2 && static_cast<uint8_t>(text[1]) >= 0xA0) return true;
    if (++text == end) return false;
  }
  return false;
}

}  // namespace

std::string_view NameOf(JsonKind kind) {
  switch (kind) {
    case JsonKind::kNull: return "null";
    case JsonKind::kTrue:
    case JsonKind::kFalse: return "a boolean";
    case JsonKind::kNumber: return "a number";
    case JsonKind::kString: return "text";
    case JsonKind::kArray: return "an array";
    case JsonKind::kObject: return "an object";
  }
  return "";
}

const JsonToken* FindMember(const JsonToken& object, std::string_view name) {
  for (const JsonToken* key = object.begin(); key != object.end(); key = key[1].next()) {
    if (key->view() == name) return key + 1;
  }
  return nullptr;
}

void AppendJsonString(std::string_view text, std::string* out) {
  static constexpr char kHex[] = "0123456789abcdef";
  out->push_back('"');
  for (const char c : text) {
    switch (c) {
      case '"': out->append("\\\""); break;
      case '\\': out->append("\\\\"); break;
      case '\n': out->append("\\n"); break;
      case '\r': out->append("\\r"); break;
      case '\t': out->append("\\t"); break;
      default:
        if (static_cast<uint8_t>(c) < 0x20) {
          out->append("\\u00");
          out->push_back(kHex[c >> 4]);
          out->push_back(kHex[c & 15]);
        } else {
          out->push_back(c);
        }
    }
  }
  out->push_back('"');
}

void AppendJson(const JsonToken& value, std::string* out) {
  switch (value.kind) {
    case JsonKind::kNull: out->append("null"); return;
    case JsonKind::kTrue: out->append("true"); return;
    case JsonKind::kFalse: out->append("false"); return;
    case JsonKind::kNumber: out->append(value.view()); return;
    case JsonKind::kString: AppendJsonString(value.view(), out); return;
    case JsonKind::kArray:
      out->push_back('[');
      for (const JsonToken* element = value.begin(); element != value.end(); element = element->next()) {
        if (element != value.begin()) out->push_back(',');
        AppendJson(*element, out);
      }
      out->push_back(']');
      return;
    case JsonKind::kObject:
      out->push_back('{');
      for (const JsonToken* key = value.begin(); key != value.end(); key = key[1].next()) {
        if (key != value.begin()) out->push_back(',');
        AppendJsonString(key->view(), out);
        out->push_back(':');
        AppendJson(key[1], out);
      }
      out->push_back('}');
      return;
  }
}

// Receives the parser's events. Answering false ends the parsing, before the parser goes one level deeper.
struct JsonTape::Builder {
  JsonTape* tape;
  bool check_surrogates;
  const char* refusal = nullptr;

  bool Scalar(JsonKind kind, const char* text = nullptr, uint32_t length = 0) {
    tape->tokens_.push_back({text, length, 1, kind});
    return true;
  }
  bool Open(JsonKind kind) {
    if (tape->open_.size() >= kMaxDepth) {
      refusal = "more than 256 levels deep";
      return false;
    }
    tape->open_.push_back(static_cast<uint32_t>(tape->tokens_.size()));
    return Scalar(kind);
  }
  bool Close(uint32_t count) {
    const uint32_t at = tape->open_.back();
    tape->open_.pop_back();
    tape->tokens_[at].length = count;
    tape->tokens_[at].span = static_cast<uint32_t>(tape->tokens_.size()) - at;
    return true;
  }

  bool Null() { return Scalar(JsonKind::kNull); }
  bool Bool(bool value) { return Scalar(value ? JsonKind::kTrue : JsonKind::kFalse); }
  bool Int(int) { return false; }  // numbers come as text
  bool Uint(unsigned) { return false; }
  bool Int64(int64_t) { return false; }
  bool Uint64(uint64_t) { return false; }
  bool Double(double) { return false; }
  bool RawNumber(const char* text, rapidjson::SizeType length, bool) {
    return Scalar(JsonKind::kNumber, text, length);
  }
  bool String(const char* text, rapidjson::SizeType length, bool) {
    if (check_surrogates && HasSurrogate(text, length)) {
      refusal = "half a surrogate pair in a string";
      return false;
    }
    return Scalar(JsonKind::kString, text, length);
  }
  bool Key(const char* text, rapidjson::SizeType length, bool copy) { return String(text, length, copy); }
  bool StartObject() { return Open(JsonKind::kObject); }
  bool StartArray() { return Open(JsonKind::kArray); }
  bool EndObject(rapidjson::SizeType members) { return Close(members); }
  bool EndArray(rapidjson::SizeType elements) { return Close(elements); }
};

bool JsonTape::Fail(std::string_view what, size_t at) {
  if (what.ends_with('.')) what.remove_suffix(1);
  error_.assign("not JSON: ").append(what).append(", at byte ").append(std::to_string(at + 1));
  return false;
}

bool JsonTape::Parse(std::string_view text) { return Run(text, true, nullptr); }

bool JsonTape::ParseFirst(std::string_view text, size_t* consumed) { return Run(text, false, consumed); }

bool JsonTape::Run(std::string_view text, bool whole, size_t* consumed) {
  if (!IsUtf8(text)) {
    error_ = "not UTF-8";
    return false;
  }
  if (HasLateControl(text)) {
    error_ = "not JSON: a control character";
    return false;
  }
  tokens_.clear();
  open_.clear();
  scratch_.resize(text.size() + kPadding);
  std::memcpy(scratch_.data(), text.data(), text.size());
  std::memset(scratch_.data() + text.size(), 0, kPadding);

  Builder builder{this, std::memchr(text.data(), '\\', text.size()) != nullptr};
  rapidjson::InsituStringStream stream(scratch_.data());
  rapidjson::GenericReader<rapidjson::UTF8<>, rapidjson::UTF8<>> reader;
  constexpr unsigned kFlags = rapidjson::kParseInsituFlag | rapidjson::kParseNumbersAsStringsFlag;
  const rapidjson::ParseResult result =
      whole ? reader.Parse<kFlags>(stream, builder)
            : reader.Parse<kFlags | rapidjson::kParseStopWhenDoneFlag>(stream, builder);
  if (builder.refusal != nullptr) return Fail(builder.refusal, stream.Tell());
  if (result.IsError()) return Fail(rapidjson::GetParseError_En(result.Code()), result.Offset());
  // A zero byte looks like the end to the parser.
  if (whole && stream.Tell() != text.size()) return Fail("a zero byte", stream.Tell());
  if (consumed != nullptr) *consumed = stream.Tell();
  return true;
}

}  // namespace headrace::ingest
