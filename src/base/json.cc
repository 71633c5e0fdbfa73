// Parsing by nlohmann's SAX interface into a tree, and typed access to it. The writer is in json_writer.cc.
#include "base/json.h"

#include <limits>
#include <utility>

namespace headrace {
namespace {

using nlohmann::json;

// Builds the tree itself, because the library's own builder has no limit of depth.
class TreeBuilder final : public nlohmann::json_sax<json> {
 public:
  explicit TreeBuilder(std::string_view origin) : origin_(origin) {}

  bool null() override { return Add(nullptr) != nullptr; }
  bool boolean(bool value) override { return Add(value) != nullptr; }
  bool number_integer(number_integer_t value) override { return Add(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) override { return Add(value) != nullptr; }
  bool number_float(number_float_t value, const string_t&) override { return Add(value) != nullptr; }
  bool string(string_t& value) override { return Add(std::move(value)) != nullptr; }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return Enter(json::object()); }
  bool start_array(std::size_t) override { return Enter(json::array()); }
  bool end_object() override { return Leave(); }
  bool end_array() override { return Leave(); }
  bool key(string_t& value) override {
    key_ = std::move(value);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 5: …": only what follows the bracket is for people.
    std::string_view what = error.what();
    if (const size_t end = what.find("] "); end != what.npos) what.remove_prefix(end + 2);
    error_ = Corruption(origin_, ": not valid JSON at byte ", position, ": ", what);
    return false;
  }

  Result<json> Finish(bool parsed) && {
    if (!error_.ok()) return error_;
    if (!parsed) return Corruption(origin_, ": not valid JSON");
    return std::move(root_);
  }

 private:
  json* Add(json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    json& member = parent[key_];
    member = std::move(value);
    return &member;
  }

  bool Enter(json value) {
    if (static_cast<int>(open_.size()) >= kMaxJsonDepth) {
      error_ = Corruption(origin_, ": JSON nested deeper than ", kMaxJsonDepth, " levels");
      return false;
    }
    open_.push_back(Add(std::move(value)));
    return true;
  }

  bool Leave() {
    open_.pop_back();
    return true;
  }

  const std::string_view origin_;
  json root_;
  std::vector<json*> open_;  // a parent is not touched while its last child is open, so these stay valid
  std::string key_;
  Status error_;
};

Status WrongType(std::string_view key, std::string_view origin, std::string_view wanted, const json& found) {
  std::string shown = ToJsonText(found, JsonLayout::kFlat);
  if (shown.size() > 80) {
    size_t end = 77;
    while (end > 0 && (static_cast<unsigned char>(shown[end]) & 0xC0) == 0x80)
      --end;  // not inside a character
    shown = shown.substr(0, end) + "...";
  }
  return Corruption(origin, ": \"", key, "\" must be ", wanted, ", but is ", shown);
}

Result<const json*> Member(const json& object, std::string_view key, std::string_view origin) {
  if (!object.is_object()) {
    return Corruption(origin, ": an object with the key \"", key, "\" is expected, but ", object.type_name(),
                      " was found");
  }
  const auto member = object.find(key);
  if (member == object.end() || member->is_null()) return nullptr;
  return &*member;
}

Status Absent(std::string_view key, std::string_view origin) {
  return Corruption(origin, ": the key \"", key, "\" is missing");
}

Status Read(const json& value, std::string_view key, std::string_view origin, std::string& out) {
  if (!value.is_string()) return WrongType(key, origin, "a string", value);
  out = value.get_ref<const std::string&>();
  return Status::OK();
}

Status Read(const json& value, std::string_view key, std::string_view origin, bool& out) {
  if (!value.is_boolean()) return WrongType(key, origin, "true or false", value);
  out = value.get<bool>();
  return Status::OK();
}

Status Read(const json& value, std::string_view key, std::string_view origin, int64_t& out) {
  const bool fits =
      value.is_number_integer() &&
      (!value.is_number_unsigned() || value.get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()});
  if (!fits) return WrongType(key, origin, "a 64-bit integer", value);
  out = value.get<int64_t>();
  return Status::OK();
}

Status Read(const json& value, std::string_view key, std::string_view origin, int32_t& out) {
  int64_t wide = 0;
  if (!Read(value, key, origin, wide).ok() || !std::in_range<int32_t>(wide)) {
    return WrongType(key, origin, "a 32-bit integer", value);
  }
  out = static_cast<int32_t>(wide);
  return Status::OK();
}

Status Read(const json& value, std::string_view key, std::string_view origin, std::vector<std::string>& out) {
  if (!value.is_array()) return WrongType(key, origin, "an array of strings", value);
  for (const json& element : value) {
    if (!element.is_string()) return WrongType(key, origin, "an array of strings", value);
    out.push_back(element.get_ref<const std::string&>());
  }
  return Status::OK();
}

Status Read(const json& value, std::string_view key, std::string_view origin,
            std::map<std::string, std::string>& out) {
  if (!value.is_object()) return WrongType(key, origin, "an object of strings", value);
  for (const auto& [name, element] : value.items()) {
    if (!element.is_string()) return WrongType(key, origin, "an object of strings", value);
    out.emplace(name, element.get_ref<const std::string&>());
  }
  return Status::OK();
}

Status Read(const json& value, std::string_view key, std::string_view origin, const json*& out, bool array) {
  if (array && !value.is_array()) return WrongType(key, origin, "an array", value);
  if (!array && !value.is_object()) return WrongType(key, origin, "an object", value);
  out = &value;
  return Status::OK();
}

template <typename T>
Result<std::optional<T>> Find(const json& object, std::string_view key, std::string_view origin) {
  HEADRACE_ASSIGN_OR_RETURN(const json* member, Member(object, key, origin));
  if (member == nullptr) return std::optional<T>();
  T value{};
  HEADRACE_RETURN_NOT_OK(Read(*member, key, origin, value));
  return std::optional<T>(std::move(value));
}

template <typename T>
Result<T> Get(const json& object, std::string_view key, std::string_view origin) {
  HEADRACE_ASSIGN_OR_RETURN(std::optional<T> value, Find<T>(object, key, origin));
  if (!value.has_value()) return Absent(key, origin);
  return *std::move(value);
}

Result<const json*> FindNested(const json& object, std::string_view key, std::string_view origin,
                               bool array) {
  HEADRACE_ASSIGN_OR_RETURN(const json* member, Member(object, key, origin));
  if (member == nullptr) return nullptr;
  HEADRACE_RETURN_NOT_OK(Read(*member, key, origin, member, array));
  return member;
}

Result<const json*> GetNested(const json& object, std::string_view key, std::string_view origin, bool array) {
  HEADRACE_ASSIGN_OR_RETURN(const json* member, FindNested(object, key, origin, array));
  if (member == nullptr) return Absent(key, origin);
  return member;
}

}  // namespace

Result<json> ParseJson(std::string_view text, std::string_view origin) {
  TreeBuilder builder(origin);
  const bool parsed = json::sax_parse(text.begin(), text.end(), &builder);
  return std::move(builder).Finish(parsed);
}

Result<std::string> GetString(const json& object, std::string_view key, std::string_view origin) {
  return Get<std::string>(object, key, origin);
}
Result<int64_t> GetInt64(const json& object, std::string_view key, std::string_view origin) {
  return Get<int64_t>(object, key, origin);
}
Result<int32_t> GetInt32(const json& object, std::string_view key, std::string_view origin) {
  return Get<int32_t>(object, key, origin);
}
Result<bool> GetBool(const json& object, std::string_view key, std::string_view origin) {
  return Get<bool>(object, key, origin);
}
Result<std::vector<std::string>> GetStringList(const json& object, std::string_view key,
                                               std::string_view origin) {
  return Get<std::vector<std::string>>(object, key, origin);
}
Result<std::map<std::string, std::string>> GetStringMap(const json& object, std::string_view key,
                                                        std::string_view origin) {
  return Get<std::map<std::string, std::string>>(object, key, origin);
}

Result<std::optional<std::string>> FindString(const json& object, std::string_view key,
                                              std::string_view origin) {
  return Find<std::string>(object, key, origin);
}
Result<std::optional<int64_t>> FindInt64(const json& object, std::string_view key, std::string_view origin) {
  return Find<int64_t>(object, key, origin);
}
Result<std::optional<int32_t>> FindInt32(const json& object, std::string_view key, std::string_view origin) {
  return Find<int32_t>(object, key, origin);
}
Result<std::optional<bool>> FindBool(const json& object, std::string_view key, std::string_view origin) {
  return Find<bool>(object, key, origin);
}
Result<std::optional<std::vector<std::string>>> FindStringList(const json& object, std::string_view key,
                                                               std::string_view origin) {
  return Find<std::vector<std::string>>(object, key, origin);
}
Result<std::optional<std::map<std::string, std::string>>> FindStringMap(const json& object,
                                                                        std::string_view key,
                                                                        std::string_view origin) {
  return Find<std::map<std::string, std::string>>(object, key, origin);
}

Result<const json*> GetArray(const json& object, std::string_view key, std::string_view origin) {
  return GetNested(object, key, origin, true);
}
Result<const json*> GetObject(const json& object, std::string_view key, std::string_view origin) {
  return GetNested(object, key, origin, false);
}
Result<const json*> FindArray(const json& object, std::string_view key, std::string_view origin) {
  return FindNested(object, key, origin, true);
}
Result<const json*> FindObject(const json& object, std::string_view key, std::string_view origin) {
  return FindNested(object, key, origin, false);
}

}  // namespace headrace
