// The ordered writer. Jackson's layout: an object's members each on a line of their own, an array's elements on one line with a space
// after the bracket; only objects indent.
#include <cassert>
#include <charconv>

#include "base/json.h"
#include "base/text.h"

namespace headrace {
namespace {

void AppendControl(char c, std::string& out) {
  switch (c) {
    case '\b': out += "\\b"; return;
    case '\t': out += "\\t"; return;
    case '\n': out += "\\n"; return;
    case '\f': out += "\\f"; return;
    case '\r': out += "\\r"; return;
    default:
      out += "\\u00";
      out += "0123456789ABCDEF"[(c >> 4) & 0xF];
      out += "0123456789ABCDEF"[c & 0xF];
  }
}

void WriteTree(const nlohmann::json& value, JsonWriter& writer) {
  switch (value.type()) {
    case nlohmann::json::value_t::object:
      writer.BeginObject();
      for (const auto& [key, member] : value.items()) WriteTree(member, writer.Key(key));
      writer.EndObject();
      return;
    case nlohmann::json::value_t::array:
      writer.BeginArray();
      for (const nlohmann::json& element : value) WriteTree(element, writer);
      writer.EndArray();
      return;
    case nlohmann::json::value_t::string: writer.String(value.get_ref<const std::string&>()); return;
    case nlohmann::json::value_t::boolean: writer.Bool(value.get<bool>()); return;
    case nlohmann::json::value_t::number_integer: writer.Int(value.get<int64_t>()); return;
    case nlohmann::json::value_t::number_unsigned:
    case nlohmann::json::value_t::number_float: writer.Number(value.dump()); return;
    case nlohmann::json::value_t::null:
    case nlohmann::json::value_t::binary:
    case nlohmann::json::value_t::discarded: writer.Null(); return;
  }
}

}  // namespace

std::string QuoteJson(std::string_view value) {
  std::string out;
  out.reserve(value.size() + 2);
  out += '"';
  while (!value.empty()) {
    const char c = value.front();
    const size_t length = Utf8CharacterBytes(value);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      AppendControl(c, out);
    } else {
      out += value.substr(0, length);
    }
    value.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
  return out;
}

void JsonWriter::NewLine() {
  text_ += '\n';
  text_.append(static_cast<size_t>(object_depth_) * 2, ' ');
}

void JsonWriter::BeforeValue() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (open_.empty()) {
    assert(text_.empty() && "one value only");
    return;
  }
  assert(open_.back().is_array && "a member of an object needs a key");
  if (open_.back().has_members) text_ += ',';
  if (layout_ == JsonLayout::kPretty) text_ += ' ';
  open_.back().has_members = true;
}

JsonWriter& JsonWriter::Key(std::string_view key) {
  assert(!open_.empty() && !open_.back().is_array && !after_key_ && "a key belongs into an object");
  if (open_.back().has_members) text_ += ',';
  if (layout_ == JsonLayout::kPretty) NewLine();
  open_.back().has_members = true;
  text_ += QuoteJson(key);
  text_ += layout_ == JsonLayout::kPretty ? " : " : ":";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::Begin(char bracket) {
  BeforeValue();
  text_ += bracket;
  open_.push_back({.is_array = bracket == '['});
  if (bracket == '{') ++object_depth_;
  return *this;
}

JsonWriter& JsonWriter::End(char bracket) {
  assert(!open_.empty() && open_.back().is_array == (bracket == ']') && !after_key_ && "ends what was begun");
  const Open ended = open_.back();
  open_.pop_back();
  if (!ended.is_array) --object_depth_;
  if (layout_ == JsonLayout::kPretty) {
    if (ended.is_array || !ended.has_members) {
      text_ += ' ';
    } else {
      NewLine();
    }
  }
  text_ += bracket;
  return *this;
}

JsonWriter& JsonWriter::Scalar(std::string_view text) {
  BeforeValue();
  text_ += text;
  return *this;
}

JsonWriter& JsonWriter::Number(std::string_view text) { return Scalar(text); }
JsonWriter& JsonWriter::String(std::string_view value) { return Scalar(QuoteJson(value)); }
JsonWriter& JsonWriter::Bool(bool value) { return Scalar(value ? "true" : "false"); }
JsonWriter& JsonWriter::Null() { return Scalar("null"); }

JsonWriter& JsonWriter::Int(int64_t value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value);
  return Scalar(std::string_view(digits, static_cast<size_t>(end.ptr - digits)));
}

JsonWriter& JsonWriter::StringList(const std::vector<std::string>& values) {
  BeginArray();
  for (const std::string& value : values) String(value);
  return EndArray();
}

JsonWriter& JsonWriter::StringMap(const std::map<std::string, std::string>& values) {
  BeginObject();
  for (const auto& [key, value] : values) Field(key, value);
  return EndObject();
}

std::string JsonWriter::Finish() && {
  assert(open_.empty() && "everything begun has been ended");
  return std::move(text_);
}

std::string ToJsonText(const nlohmann::json& value, JsonLayout layout) {
  JsonWriter writer(layout);
  WriteTree(value, writer);
  return std::move(writer).Finish();
}

}  // namespace headrace
