// JSON text in and out: parsing without exceptions, typed access with good errors, and a writer that keeps the order of keys.
//
// Parsing: one value and nothing after it; nesting at most kMaxJsonDepth; of two equal keys in an object the later one counts,
// as for the Java readers of the same files. `origin` names the file in messages. Failures are kCorruption: a caller whose text came from
// a user gives it the kind it wants.
// Writing: the layout of Jackson's default pretty printer (`"key" : value`, `[ {`, two spaces an object), which table files have, or flat.
// Pure functions and plain values; nothing throws.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace headrace {

inline constexpr int kMaxJsonDepth = 256;

Result<nlohmann::json> ParseJson(std::string_view text, std::string_view origin);

// The member `key` of an object. Get…: it must be there and of that type. Find…: an absent key and an explicit null are nothing, another
// type is an error. Integers must be written as integers and fit.
Result<std::string> GetString(const nlohmann::json& object, std::string_view key, std::string_view origin);
Result<int64_t> GetInt64(const nlohmann::json& object, std::string_view key, std::string_view origin);
Result<int32_t> GetInt32(const nlohmann::json& object, std::string_view key, std::string_view origin);
Result<bool> GetBool(const nlohmann::json& object, std::string_view key, std::string_view origin);
Result<std::vector<std::string>> GetStringList(const nlohmann::json& object, std::string_view key,
                                               std::string_view origin);
Result<std::map<std::string, std::string>> GetStringMap(const nlohmann::json& object, std::string_view key,
                                                        std::string_view origin);

Result<std::optional<std::string>> FindString(const nlohmann::json& object, std::string_view key,
                                              std::string_view origin);
Result<std::optional<int64_t>> FindInt64(const nlohmann::json& object, std::string_view key,
                                         std::string_view origin);
Result<std::optional<int32_t>> FindInt32(const nlohmann::json& object, std::string_view key,
                                         std::string_view origin);
Result<std::optional<bool>> FindBool(const nlohmann::json& object, std::string_view key,
                                     std::string_view origin);
Result<std::optional<std::vector<std::string>>> FindStringList(const nlohmann::json& object,
                                                               std::string_view key, std::string_view origin);
Result<std::optional<std::map<std::string, std::string>>> FindStringMap(const nlohmann::json& object,
                                                                        std::string_view key,
                                                                        std::string_view origin);

// The member itself, borrowed from `object`: an array or an object inside. Find… is nullptr for an absent key and for null.
Result<const nlohmann::json*> GetArray(const nlohmann::json& object, std::string_view key,
                                       std::string_view origin);
Result<const nlohmann::json*> GetObject(const nlohmann::json& object, std::string_view key,
                                        std::string_view origin);
Result<const nlohmann::json*> FindArray(const nlohmann::json& object, std::string_view key,
                                        std::string_view origin);
Result<const nlohmann::json*> FindObject(const nlohmann::json& object, std::string_view key,
                                         std::string_view origin);

enum class JsonLayout {
  kPretty,  // as Jackson's default pretty printer
  kFlat,    // no white space at all
};

// Writes one JSON value, keys in the order they are given. Calls must nest properly: that is the caller's own code, and is asserted.
// Bytes that are not UTF-8 become U+FFFD, so that what is written can always be read.
class JsonWriter {
 public:
  explicit JsonWriter(JsonLayout layout = JsonLayout::kPretty) : layout_(layout) {}

  JsonWriter& BeginObject() { return Begin('{'); }
  JsonWriter& EndObject() { return End('}'); }
  JsonWriter& BeginArray() { return Begin('['); }
  JsonWriter& EndArray() { return End(']'); }
  JsonWriter& Key(std::string_view key);

  JsonWriter& String(std::string_view value);
  JsonWriter& Int(int64_t value);
  JsonWriter& Bool(bool value);
  JsonWriter& Null();
  JsonWriter& Number(std::string_view text);  // a number already in JSON's notation
  JsonWriter& StringList(const std::vector<std::string>& values);
  JsonWriter& StringMap(const std::map<std::string, std::string>& values);

  // A key and its value.
  JsonWriter& Field(std::string_view key, std::string_view value) { return Key(key).String(value); }
  JsonWriter& Field(std::string_view key, const std::string& value) { return Key(key).String(value); }
  JsonWriter& Field(std::string_view key, const char* value) { return Key(key).String(value); }
  JsonWriter& Field(std::string_view key, int64_t value) { return Key(key).Int(value); }
  JsonWriter& Field(std::string_view key, int32_t value) { return Key(key).Int(value); }
  JsonWriter& Field(std::string_view key, bool value) { return Key(key).Bool(value); }
  JsonWriter& Field(std::string_view key, const std::vector<std::string>& values) {
    return Key(key).StringList(values);
  }
  JsonWriter& Field(std::string_view key, const std::map<std::string, std::string>& values) {
    return Key(key).StringMap(values);
  }
  // Nothing at all when there is no value.
  template <typename T>
  JsonWriter& FieldIfSet(std::string_view key, const std::optional<T>& value) {
    return value.has_value() ? Field(key, *value) : *this;
  }

  // The text. Precondition: everything begun has been ended.
  std::string Finish() &&;

 private:
  struct Open {
    bool is_array = false;
    bool has_members = false;
  };

  JsonWriter& Begin(char bracket);
  JsonWriter& Scalar(std::string_view text);
  JsonWriter& End(char bracket);
  void BeforeValue();
  void NewLine();

  const JsonLayout layout_;
  std::string text_;
  std::vector<Open> open_;
  int object_depth_ = 0;
  bool after_key_ = false;
};

// The text in double quotes with what JSON demands escaped, and nothing else.
std::string QuoteJson(std::string_view value);

// A parsed value as text again: keys sorted; numbers that do not fit 64 bits keep a double's precision.
std::string ToJsonText(const nlohmann::json& value, JsonLayout layout);

}  // namespace headrace
