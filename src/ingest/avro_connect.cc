#include "ingest/avro_connect.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <optional>

#include "format/avro_schema.h"
#include "ingest/connect_schema.h"
#include "ingest/json_tape.h"

namespace headrace::ingest {
namespace {

constexpr int kMostLevels = 50;
constexpr size_t kMostSteps = 100000;
constexpr size_t kMostConnectBytes = 8U << 20;
constexpr std::string_view kDecimal = "org.apache.kafka.connect.data.Decimal";

// Avro's logical types by their Connect names. A timestamp is an instant, a local-timestamp is none.
struct LogicalName {
  AvroNode::Kind kind;
  std::string_view avro;
  std::string_view connect;
};
constexpr LogicalName kLogicalNames[] = {
    {AvroNode::kInt, "date", "org.apache.kafka.connect.data.Date"},
    {AvroNode::kInt, "time-millis", "org.apache.kafka.connect.data.Time"},
    {AvroNode::kLong, "time-micros", "io.debezium.time.MicroTime"},
    {AvroNode::kLong, "timestamp-millis", kAvroInstantMillis},
    {AvroNode::kLong, "timestamp-micros", kAvroInstantMicros},
    {AvroNode::kLong, "timestamp-nanos", kAvroInstantNanos},
    {AvroNode::kLong, "local-timestamp-millis", "io.debezium.time.Timestamp"},
    {AvroNode::kLong, "local-timestamp-micros", "io.debezium.time.MicroTimestamp"},
    {AvroNode::kLong, "local-timestamp-nanos", "io.debezium.time.NanoTimestamp"},
};

std::string_view AttributeOf(const AvroNode& node, std::string_view name) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? std::string_view() : std::string_view(found->second);
}

std::optional<int64_t> NumberOf(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// A map whose keys are no text, as the converters write it.
bool IsMapEntry(const AvroNode& node) {
  const bool named = AttributeOf(node, "connect.internal.type") == "MapEntry" ||
                     node.name == "io.confluent.connect.avro.MapEntry";
  return node.kind == AvroNode::kRecord && named && node.names == std::vector<std::string>{"key", "value"};
}

// What says that the bytes are a number.
struct Decimal {
  int64_t scale = 0;
  std::optional<int64_t> precision;
};

std::optional<Decimal> DecimalOf(const AvroNode& node) {
  if (node.kind != AvroNode::kBytes && node.kind != AvroNode::kFixed) return std::nullopt;
  Decimal decimal;
  const std::optional<int64_t> scale = NumberOf(AttributeOf(node, "scale"));
  if (AttributeOf(node, "connect.name") == kDecimal) {
    // The precision beside it is the converter's stopgap where Connect's own does not say one.
    decimal.scale = NumberOf(AttributeOf(node, "connect.parameters/scale")).value_or(scale.value_or(0));
    decimal.precision = NumberOf(AttributeOf(node, "connect.parameters/connect.decimal.precision"));
    return decimal;
  }
  if (AttributeOf(node, "logicalType") != "decimal") return std::nullopt;
  decimal.scale = scale.value_or(0);
  decimal.precision = NumberOf(AttributeOf(node, "precision"));
  // A logical type that does not hold is none, says the specification.
  const bool holds = decimal.precision && *decimal.precision > 0 && decimal.scale >= 0 &&
                     decimal.scale <= *decimal.precision;
  return holds ? std::optional(decimal) : std::nullopt;
}

class Reader {
 public:
  Reader(const AvroSchema& schema, std::string_view origin) : schema_(schema), origin_(origin) {}

  Result<AvroMeaning> Read(int32_t root) {
    AvroMeaning meaning;
    HEADRACE_RETURN_NOT_OK(Type(root, "", &meaning.steps));
    meaning.connect_schema = std::move(connect_);
    return meaning;
  }

 private:
  template <typename... Args>
  Status Refuse(Args&&... args) const {
    return Unsupported(origin_, path_.empty() ? "" : ", field ", path_, ": ", std::forward<Args>(args)...);
  }

  // Writes the type's Connect schema, as that of the struct's field `field` where that is not empty.
  Status Type(int32_t index, std::string_view field, DatumStep* step) {
    if (++steps_ > kMostSteps || connect_.size() > kMostConnectBytes)
      return Refuse("the schema is too large when its named types are written out where they are used");
    const AvroNode* node = &schema_.at(index);
    if (node->kind == AvroNode::kUnion) {
      HEADRACE_ASSIGN_OR_RETURN(index, ValueOf(*node, step));
      node = &schema_.at(index);
    }
    if (node->kind == AvroNode::kUnion) return Refuse("a union stands in a union");
    if (static_cast<int>(inside_.size()) >= kMostLevels)
      return Refuse("types are nested deeper than ", kMostLevels, " levels");
    if (std::find(inside_.begin(), inside_.end(), index) != inside_.end())
      return Refuse("the type ", node->name, " holds itself, which no column type does");
    inside_.push_back(index);
    connect_ += '{';
    HEADRACE_RETURN_NOT_OK(Value(*node, step));
    inside_.pop_back();
    const bool optional = step->null_branch >= 0 || node->kind == AvroNode::kNull;
    connect_ += optional ? ",\"optional\":true" : ",\"optional\":false";
    if (!field.empty()) Member("field", field);
    connect_ += '}';
    return Status::OK();
  }

  // The branch of a union that is not null.
  Result<int32_t> ValueOf(const AvroNode& node, DatumStep* step) const {
    const size_t branches = node.children.size();
    step->branches = static_cast<int8_t>(std::min<size_t>(branches, 2));
    std::optional<int32_t> value;
    std::string kinds;
    for (size_t i = 0; i < branches; ++i) {
      const AvroNode& branch = schema_.at(node.children[i]);
      kinds += (i == 0 ? "" : ", ") + (branch.name.empty() ? std::string(NameOf(branch.kind)) : branch.name);
      if (branch.kind == AvroNode::kNull && branches == 2 && step->null_branch < 0) {
        step->null_branch = static_cast<int8_t>(i);
      } else {
        value = node.children[i];
      }
    }
    if (branches <= 2 && value && (branches == 1 || step->null_branch >= 0)) return *value;
    return Refuse("a union of ", kinds.substr(0, 200),
                  " fits no column: only null and one type do. Let the producer write a record of optional "
                  "fields instead");
  }

  void Member(std::string_view name, std::string_view text) {
    connect_ += ",\"";
    connect_ += name;
    connect_ += "\":";
    AppendJsonString(text, &connect_);
  }
  void TypeName(std::string_view type) {
    connect_ += "\"type\":\"";
    connect_ += type;
    connect_ += '"';
  }

  Status Scalar(const AvroNode& node, DatumStep::How how, std::string_view type, DatumStep* step) {
    step->how = how;
    TypeName(type);
    std::string_view name = AttributeOf(node, "connect.name");
    const std::string_view logical = AttributeOf(node, "logicalType");
    if (!IsConnectLogicalType(name)) {
      for (const LogicalName& one : kLogicalNames) {
        if (one.kind == node.kind && one.avro == logical) name = one.connect;
      }
    }
    if (const std::optional<Decimal> decimal = DecimalOf(node)) {
      Member("name", kDecimal);
      connect_ += ",\"parameters\":{\"scale\":\"" + std::to_string(decimal->scale) + '"';
      if (decimal->precision)
        connect_ += ",\"connect.decimal.precision\":\"" + std::to_string(*decimal->precision) + '"';
      connect_ += '}';
    } else if (!name.empty() && name != kDecimal) {
      Member("name", name);
    }
    return Status::OK();
  }

  // A list may be as long as the schema, and be used by each of its fields: no bound on steps or JSON counts it.
  std::shared_ptr<const std::vector<std::string>> SymbolsOf(const AvroNode& node) {
    std::shared_ptr<const std::vector<std::string>>& symbols = symbols_[&node];
    if (symbols == nullptr) symbols = std::make_shared<const std::vector<std::string>>(node.names);
    return symbols;
  }

  Status Value(const AvroNode& node, DatumStep* step) {
    const std::string_view narrow = AttributeOf(node, "connect.type");
    switch (node.kind) {
      case AvroNode::kNull: return Scalar(node, DatumStep::How::kNull, "string", step);
      case AvroNode::kBoolean: return Scalar(node, DatumStep::How::kBoolean, "boolean", step);
      case AvroNode::kInt:
        return Scalar(node, DatumStep::How::kInt, narrow == "int8" || narrow == "int16" ? narrow : "int32",
                      step);
      case AvroNode::kLong: return Scalar(node, DatumStep::How::kLong, "int64", step);
      case AvroNode::kFloat: return Scalar(node, DatumStep::How::kFloat, "float", step);
      case AvroNode::kDouble: return Scalar(node, DatumStep::How::kDouble, "double", step);
      case AvroNode::kBytes: return Scalar(node, DatumStep::How::kBytes, "bytes", step);
      case AvroNode::kString: return Scalar(node, DatumStep::How::kText, "string", step);
      case AvroNode::kFixed: {
        step->size = node.fixed_bytes;
        const bool uuid = node.fixed_bytes == 16 && AttributeOf(node, "logicalType") == "uuid";
        return uuid ? Scalar(node, DatumStep::How::kUuid, "string", step)
                    : Scalar(node, DatumStep::How::kFixed, "bytes", step);
      }
      case AvroNode::kEnum:
        step->symbols = SymbolsOf(node);
        return Scalar(node, DatumStep::How::kEnum, "string", step);
      case AvroNode::kArray: return Array(node, step);
      case AvroNode::kMap:
        step->how = DatumStep::How::kMap;
        TypeName("map");
        connect_ += ",\"keys\":{\"type\":\"string\",\"optional\":false},\"values\":";
        return Type(node.children[0], "", &step->children.emplace_back());
      case AvroNode::kRecord: return Record(node, step);
      case AvroNode::kUnion: break;
    }
    return Refuse("a union stands in a union");
  }

  Status Array(const AvroNode& node, DatumStep* step) {
    const AvroNode& item = schema_.at(node.children[0]);
    // Any number of them would stand in no bytes at all.
    if (!item.takes_bytes) return Refuse("an array of ", NameOf(item.kind), ", which takes no bytes");
    DatumStep* child = &step->children.emplace_back();
    if (!IsMapEntry(item)) {
      step->how = DatumStep::How::kArray;
      TypeName("array");
      connect_ += ",\"items\":";
      return Type(node.children[0], "", child);
    }
    step->how = DatumStep::How::kPairs;
    child->how = DatumStep::How::kRecord;
    child->names = item.names;
    child->children.resize(2);
    inside_.push_back(node.children[0]);
    TypeName("map");
    connect_ += ",\"keys\":";
    HEADRACE_RETURN_NOT_OK(Type(item.children[0], "", &child->children[0]));
    connect_ += ",\"values\":";
    HEADRACE_RETURN_NOT_OK(Type(item.children[1], "", &child->children[1]));
    inside_.pop_back();
    return Status::OK();
  }

  Status Record(const AvroNode& node, DatumStep* step) {
    step->how = DatumStep::How::kRecord;
    step->names = node.names;
    step->children.resize(node.children.size());
    TypeName("struct");
    const std::string_view name = AttributeOf(node, "connect.name");
    Member("name", name.empty() ? std::string_view(node.name) : name);
    connect_ += ",\"fields\":[";
    for (size_t i = 0; i < node.children.size(); ++i) {
      if (node.names[i].empty()) return Refuse("a field of ", node.name, " has no name");
      const size_t before = path_.size();
      path_ += (path_.empty() ? "" : ".") + node.names[i];
      if (i > 0) connect_ += ',';
      HEADRACE_RETURN_NOT_OK(Type(node.children[i], node.names[i], &step->children[i]));
      path_.resize(before);
    }
    connect_ += ']';
    return Status::OK();
  }

  const AvroSchema& schema_;
  const std::string_view origin_;
  std::string connect_;
  std::string path_;
  std::vector<int32_t> inside_;
  size_t steps_ = 0;
  std::map<const AvroNode*, std::shared_ptr<const std::vector<std::string>>> symbols_;
};

}  // namespace

Result<AvroMeaning> ReadAvroMeaning(std::string_view schema, std::span<const std::string> references,
                                    std::string_view origin) {
  // One union of all: what a reference names is then known to what comes after it.
  std::string all = "[";
  for (const std::string& reference : references) all += reference + ',';
  // A registry gives a primitive's schema also as its bare name.
  const bool bare = !schema.empty() && schema.find_first_of("{[\" \t\r\n") == std::string_view::npos;
  all += (bare ? "\"" : "") + std::string(schema) + (bare ? "\"" : "") + ']';
  HEADRACE_ASSIGN_OR_RETURN(const AvroSchema parsed, ParseAvroSchema(all, origin));
  if (parsed.at(0).children.size() != references.size() + 1)
    return Corruption(origin, ": Avro schema: it is more than one JSON value");
  return Reader(parsed, origin).Read(parsed.at(0).children.back());
}

AvroEnvelope EnvelopeOf(const AvroMeaning& meaning, bool row) {
  if (!row) return {"{\"schema\":" + meaning.connect_schema + ",\"payload\":", "}"};
  std::string schema = meaning.connect_schema;
  schema.insert(schema.size() - 1, ",\"field\":\"after\"");
  return {"{\"schema\":{\"type\":\"struct\",\"fields\":[" + schema +
              "],\"optional\":false},\"payload\":{\"op\":\"c\",\"source\":{},\"after\":",
          "}}"};
}

}  // namespace headrace::ingest
