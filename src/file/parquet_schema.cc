#include "file/parquet_schema.h"

#include <exception>
#include <string>

#include <arrow/type.h>
#include <parquet/schema.h>
#include <parquet/types.h>

namespace headrace {
namespace {

using parquet::LogicalType;
using parquet::Repetition;
using parquet::schema::GroupNode;
using parquet::schema::NodePtr;
using parquet::schema::PrimitiveNode;

// Ids of nested nodes count away from a base: elements and values upwards, map keys downwards.
// Java's int arithmetic: a huge field id wraps, as there.
constexpr uint32_t kNestedIdBase = 536870911;

uint32_t NestedDistance(int32_t field_id, int32_t depth) {
  return 1024u * static_cast<uint32_t>(field_id) + static_cast<uint32_t>(depth);
}

int32_t ElementId(int32_t field_id, int32_t depth) {
  return static_cast<int32_t>(kNestedIdBase + NestedDistance(field_id, depth));
}

int32_t MapKeyId(int32_t field_id, int32_t depth) {
  return static_cast<int32_t>(kNestedIdBase - NestedDistance(field_id, depth));
}

NodePtr Leaf(const std::string& name, const DataType& type, int32_t node_id, parquet::Type::type physical,
             std::shared_ptr<const LogicalType> logical = LogicalType::None(), int length = -1) {
  const Repetition::type repetition = type.nullable ? Repetition::OPTIONAL : Repetition::REQUIRED;
  return PrimitiveNode::Make(name, repetition, std::move(logical), physical, length, node_id);
}

NodePtr DecimalLeaf(const std::string& name, const DataType& type, int32_t node_id) {
  auto logical = LogicalType::Decimal(type.precision, type.scale);
  if (type.precision <= 9) return Leaf(name, type, node_id, parquet::Type::INT32, std::move(logical));
  if (type.precision <= 18) return Leaf(name, type, node_id, parquet::Type::INT64, std::move(logical));
  return Leaf(name, type, node_id, parquet::Type::FIXED_LEN_BYTE_ARRAY, std::move(logical),
              arrow::DecimalType::DecimalSize(type.precision));
}

NodePtr TimestampLeaf(const std::string& name, const DataType& type, int32_t node_id, bool utc) {
  if (type.precision > 6) return Leaf(name, type, node_id, parquet::Type::INT96);
  const auto unit = type.precision <= 3 ? LogicalType::TimeUnit::MILLIS : LogicalType::TimeUnit::MICROS;
  return Leaf(name, type, node_id, parquet::Type::INT64, LogicalType::Timestamp(utc, unit));
}

// `field_id` is that of the enclosing column or row field, `depth` how many lists and maps lie between it and this node,
// `node_id` the node's own id.
NodePtr ToNode(const std::string& name, const DataType& type, int32_t node_id, int32_t field_id,
               int32_t depth);

NodePtr MapNode(const std::string& name, const DataType& type, DataType key, const DataType& value,
                int32_t node_id, int32_t field_id, int32_t depth) {
  key.nullable = false;
  NodePtr key_node = ToNode("key", key, MapKeyId(field_id, depth), field_id, depth);
  NodePtr value_node = ToNode("value", value, ElementId(field_id, depth), field_id, depth);
  NodePtr entries = GroupNode::Make("key_value", Repetition::REPEATED, {key_node, value_node});
  return GroupNode::Make(name, type.nullable ? Repetition::OPTIONAL : Repetition::REQUIRED, {entries},
                         LogicalType::Map(), node_id);
}

NodePtr ListNode(const std::string& name, const DataType& type, int32_t node_id, int32_t field_id,
                 int32_t depth) {
  NodePtr element = ToNode("element", *type.element, ElementId(field_id, depth), field_id, depth);
  NodePtr list = GroupNode::Make("list", Repetition::REPEATED, {element});
  return GroupNode::Make(name, type.nullable ? Repetition::OPTIONAL : Repetition::REQUIRED, {list},
                         LogicalType::List(), node_id);
}

NodePtr RowNode(const std::string& name, const DataType& type, int32_t node_id) {
  parquet::schema::NodeVector children;
  for (const DataField& field : type.fields) {
    children.push_back(ToNode(field.name, field.type, field.id, field.id, 0));
  }
  return GroupNode::Make(name, type.nullable ? Repetition::OPTIONAL : Repetition::REQUIRED, children, nullptr,
                         node_id);
}

NodePtr ToNode(const std::string& name, const DataType& type, int32_t node_id, int32_t field_id,
               int32_t depth) {
  using P = parquet::Type;
  switch (type.root) {
    case TypeRoot::kBoolean: return Leaf(name, type, node_id, P::BOOLEAN);
    case TypeRoot::kTinyInt: return Leaf(name, type, node_id, P::INT32, LogicalType::Int(8, true));
    case TypeRoot::kSmallInt: return Leaf(name, type, node_id, P::INT32, LogicalType::Int(16, true));
    case TypeRoot::kInt: return Leaf(name, type, node_id, P::INT32);
    case TypeRoot::kBigInt: return Leaf(name, type, node_id, P::INT64);
    case TypeRoot::kFloat: return Leaf(name, type, node_id, P::FLOAT);
    case TypeRoot::kDouble: return Leaf(name, type, node_id, P::DOUBLE);
    case TypeRoot::kDecimal: return DecimalLeaf(name, type, node_id);
    case TypeRoot::kChar:
    case TypeRoot::kVarChar: return Leaf(name, type, node_id, P::BYTE_ARRAY, LogicalType::String());
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary: return Leaf(name, type, node_id, P::BYTE_ARRAY);
    case TypeRoot::kDate: return Leaf(name, type, node_id, P::INT32, LogicalType::Date());
    case TypeRoot::kTime:
      return Leaf(name, type, node_id, P::INT32, LogicalType::Time(true, LogicalType::TimeUnit::MILLIS));
    case TypeRoot::kTimestamp: return TimestampLeaf(name, type, node_id, false);
    case TypeRoot::kTimestampLtz: return TimestampLeaf(name, type, node_id, true);
    case TypeRoot::kArray: return ListNode(name, type, node_id, field_id, depth + 1);
    case TypeRoot::kMap: return MapNode(name, type, *type.key, *type.value, node_id, field_id, depth + 1);
    case TypeRoot::kMultiset: {
      DataType count;
      count.root = TypeRoot::kInt;
      count.nullable = false;
      return MapNode(name, type, *type.element, count, node_id, field_id, depth + 1);
    }
    case TypeRoot::kRow: return RowNode(name, type, node_id);
  }
  return nullptr;
}

}  // namespace

Result<std::shared_ptr<parquet::schema::GroupNode>> ToParquetSchema(const std::vector<DataField>& fields) {
  try {
    parquet::schema::NodeVector nodes;
    for (const DataField& field : fields)
      nodes.push_back(ToNode(field.name, field.type, field.id, field.id, 0));
    return std::static_pointer_cast<GroupNode>(GroupNode::Make("paimon_schema", Repetition::REQUIRED, nodes));
  } catch (const std::exception& error) {
    return Invalid("making the Parquet schema of a table: ", error.what());
  }
}

}  // namespace headrace
