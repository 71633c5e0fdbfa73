// Reads the JSON of an Avro schema.
#include "format/avro_schema.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "base/json.h"

namespace headrace {
namespace {

constexpr int kMaxSchemaDepth = 64;
constexpr std::array<std::string_view, 14> kKindNames = {"null",   "boolean", "int",    "long",  "float",
                                                         "double", "bytes",   "string", "fixed", "enum",
                                                         "array",  "map",     "union",  "record"};

class SchemaReader {
 public:
  explicit SchemaReader(std::string_view origin) : origin_(origin) {}

  Result<AvroSchema> Read(const nlohmann::json& json) {
    HEADRACE_ASSIGN_OR_RETURN(int32_t root, Node(json, "", 0));
    if (root != 0) return Bad("the root is not the first type");
    MarkEmpty();
    return std::move(schema_);
  }

 private:
  template <typename... Args>
  Status Bad(Args&&... args) const {
    return Corruption(origin_, ": Avro schema: ", std::forward<Args>(args)...);
  }

  int32_t Add(AvroNode::Kind kind) {
    schema_.nodes.emplace_back().kind = kind;
    return static_cast<int32_t>(schema_.nodes.size() - 1);
  }
  AvroNode& at(int32_t node) { return schema_.nodes[static_cast<size_t>(node)]; }

  static std::string FullName(const std::string& name, const std::string& space) {
    return name.find('.') != std::string::npos || space.empty() ? name : space + "." + name;
  }

  Result<int32_t> Node(const nlohmann::json& json, const std::string& space, int depth) {
    if (depth > kMaxSchemaDepth) return Bad("nested deeper than ", kMaxSchemaDepth, " levels");
    if (json.is_string()) return Named(json.get<std::string>(), space);
    if (json.is_array()) return Union(json, space, depth);
    if (!json.is_object()) return Bad("a type is ", json.type_name());
    const auto type = json.find("type");
    if (type == json.end()) return Bad("a type without \"type\"");
    if (!type->is_string()) return Node(*type, space, depth + 1);
    const auto name = type->get<std::string>();
    if (name == "record" || name == "error") return Record(json, space, depth);
    if (name == "array") return Collection(json, AvroNode::kArray, "items", space, depth);
    if (name == "map") return Collection(json, AvroNode::kMap, "values", space, depth);
    if (name == "fixed") return Fixed(json, space);
    if (name == "enum") return Enum(json, space);
    HEADRACE_ASSIGN_OR_RETURN(const int32_t node, Named(name, space));  // {"type": "long", "logicalType": …}
    if (at(node).kind <= AvroNode::kString) KeepAttributes(json, node);
    return node;
  }

  static std::optional<std::string> TextOf(const nlohmann::json& value) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number_integer() || value.is_boolean()) return value.dump();
    return std::nullopt;
  }

  void KeepAttributes(const nlohmann::json& json, int32_t node) {
    for (const auto& [name, value] : json.items()) {
      static constexpr std::array<std::string_view, 8> kShape = {"type",    "name",  "namespace", "fields",
                                                                 "symbols", "items", "values",    "doc"};
      if (std::find(kShape.begin(), kShape.end(), name) != kShape.end()) continue;
      if (std::optional<std::string> text = TextOf(value)) at(node).attributes[name] = *std::move(text);
      if (!value.is_object()) continue;
      for (const auto& [inner, held] : value.items()) {
        if (std::optional<std::string> text = TextOf(held))
          at(node).attributes[name + "/" + inner] = *std::move(text);
      }
    }
  }

  Result<int32_t> Named(const std::string& name, const std::string& space) {
    for (size_t kind = 0; kind <= AvroNode::kString; ++kind) {
      if (kKindNames[kind] == name) return Add(static_cast<AvroNode::Kind>(kind));
    }
    auto defined = named_.find(FullName(name, space));
    if (defined == named_.end()) defined = named_.find(name);
    if (defined == named_.end()) return Bad("unknown type '", name, "'");
    return defined->second;
  }

  // Registers a named type; gives the namespace inside it.
  Result<std::string> Define(const nlohmann::json& json, const std::string& space, int32_t node) {
    HEADRACE_ASSIGN_OR_RETURN(std::string name, GetString(json, "name", origin_));
    HEADRACE_ASSIGN_OR_RETURN(std::optional<std::string> own_space, FindString(json, "namespace", origin_));
    const std::string full = FullName(name, own_space.value_or(space));
    if (!named_.emplace(full, node).second) return Bad("the type '", full, "' is defined twice");
    at(node).name = full;
    KeepAttributes(json, node);
    const size_t dot = full.rfind('.');
    return dot == std::string::npos ? std::string() : full.substr(0, dot);
  }

  Result<int32_t> Record(const nlohmann::json& json, const std::string& space, int depth) {
    const int32_t node = Add(AvroNode::kRecord);
    HEADRACE_ASSIGN_OR_RETURN(std::string inner, Define(json, space, node));
    HEADRACE_ASSIGN_OR_RETURN(const nlohmann::json* fields, GetArray(json, "fields", origin_));
    std::set<std::string> seen;  // a registry's schema may have hundreds of thousands
    for (const nlohmann::json& field : *fields) {
      if (!field.is_object()) return Bad("a field is ", field.type_name());
      HEADRACE_ASSIGN_OR_RETURN(std::string name, GetString(field, "name", origin_));
      const auto type = field.find("type");
      if (type == field.end()) return Bad("field '", name, "' has no type");
      HEADRACE_ASSIGN_OR_RETURN(int32_t child, Node(*type, inner, depth + 1));
      if (!seen.insert(name).second) return Bad("field '", name, "' is there twice");
      at(node).names.push_back(std::move(name));
      at(node).children.push_back(child);
    }
    return node;
  }

  Result<int32_t> Union(const nlohmann::json& json, const std::string& space, int depth) {
    const int32_t node = Add(AvroNode::kUnion);
    if (json.empty()) return Bad("an empty union");
    for (const nlohmann::json& branch : json) {
      HEADRACE_ASSIGN_OR_RETURN(int32_t child, Node(branch, space, depth + 1));
      at(node).children.push_back(child);
    }
    return node;
  }

  Result<int32_t> Collection(const nlohmann::json& json, AvroNode::Kind kind, const char* key,
                             const std::string& space, int depth) {
    const int32_t node = Add(kind);
    const auto item = json.find(key);
    if (item == json.end()) return Bad(NameOf(kind), " without \"", key, "\"");
    HEADRACE_ASSIGN_OR_RETURN(int32_t child, Node(*item, space, depth + 1));
    at(node).children.push_back(child);
    KeepAttributes(json, node);
    return node;
  }

  Result<int32_t> Enum(const nlohmann::json& json, const std::string& space) {
    const int32_t node = Add(AvroNode::kEnum);
    HEADRACE_RETURN_NOT_OK(Define(json, space, node).status());
    HEADRACE_ASSIGN_OR_RETURN(std::optional<std::vector<std::string>> symbols,
                              FindStringList(json, "symbols", origin_));
    if (symbols) at(node).names = *std::move(symbols);
    return node;
  }

  Result<int32_t> Fixed(const nlohmann::json& json, const std::string& space) {
    const int32_t node = Add(AvroNode::kFixed);
    HEADRACE_RETURN_NOT_OK(Define(json, space, node).status());
    HEADRACE_ASSIGN_OR_RETURN(at(node).fixed_bytes, GetInt64(json, "size", origin_));
    if (at(node).fixed_bytes < 0) return Bad("a fixed of ", at(node).fixed_bytes, " bytes");
    return node;
  }

  // Only null, fixed of no bytes, and records of nothing else are written as nothing. Records that hold themselves stay
  // marked as taking bytes: no value of them is finite.
  void MarkEmpty() {
    bool changed = true;
    while (changed) {
      changed = false;
      for (AvroNode& node : schema_.nodes) {
        if (!node.takes_bytes) continue;
        bool takes =
            !(node.kind == AvroNode::kNull || (node.kind == AvroNode::kFixed && node.fixed_bytes == 0));
        if (node.kind == AvroNode::kRecord) {
          takes = false;
          for (const int32_t child : node.children) takes = takes || at(child).takes_bytes;
        }
        if (!takes) {
          node.takes_bytes = false;
          changed = true;
        }
      }
    }
  }

  std::string_view origin_;
  AvroSchema schema_;
  std::map<std::string, int32_t> named_;
};

}  // namespace

std::string_view NameOf(AvroNode::Kind kind) { return kKindNames[kind]; }

Result<AvroSchema> ParseAvroSchema(std::string_view json, std::string_view origin) {
  HEADRACE_ASSIGN_OR_RETURN(nlohmann::json parsed, ParseJson(json, origin));
  return SchemaReader(origin).Read(parsed);
}

}  // namespace headrace
