// One JSON text as a flat list of tokens: the form in which all JSON inputs are looked at.
//
// Strict by RFC 8259: UTF-8 checked, no NaN, no leading zero or plus, no raw control character, no lone surrogate, nothing after the value,
// at most kMaxDepth levels. Numbers stay text. Names may repeat: who reads an object refuses that. Buffers are reused from text to text, so
// tokens are valid until the next Parse. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::ingest {

enum class JsonKind : uint8_t { kNull, kTrue, kFalse, kNumber, kString, kArray, kObject };
std::string_view NameOf(JsonKind kind);  // "null", "a boolean", "a number" … for messages

struct JsonToken {
  const char* text = nullptr;  // of a string (unescaped) or number
  uint32_t length = 0;         // its bytes; of arrays the elements, of objects the members
  uint32_t span = 1;           // tokens of this value, itself included: the value after it is at +span
  JsonKind kind = JsonKind::kNull;

  std::string_view view() const { return {text, length}; }
  bool is_null() const { return kind == JsonKind::kNull; }
  const JsonToken* next() const { return this + span; }
  // Elements of an array; of an object a string token for each name and the value after it.
  const JsonToken* begin() const { return this + 1; }
  const JsonToken* end() const { return this + span; }
};

// The first member of that name, or nullptr.
const JsonToken* FindMember(const JsonToken& object, std::string_view name);

// JSON text of a value again, without white space.
void AppendJson(const JsonToken& value, std::string* out);
void AppendJsonString(std::string_view text, std::string* out);

class JsonTape {
 public:
  static constexpr uint32_t kMaxDepth = 256;

  // False when `text` is not one JSON value: error() says what and at which byte.
  bool Parse(std::string_view text);
  // Takes the value at the start of `text` and tells how many bytes it had.
  bool ParseFirst(std::string_view text, size_t* consumed);

  const JsonToken& root() const { return tokens_.front(); }
  const std::string& error() const { return error_; }

 private:
  struct Builder;
  bool Run(std::string_view text, bool whole, size_t* consumed);
  bool Fail(std::string_view what, size_t at);

  std::string scratch_;  // the text, unescaped in place, and padding
  std::vector<JsonToken> tokens_;
  std::vector<uint32_t> open_;  // tokens of the arrays and objects being read
  std::string error_;
};

}  // namespace headrace::ingest
