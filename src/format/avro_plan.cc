// Matches a writer's schema with the fields a reader wants.
#include "format/avro_plan.h"

namespace headrace {
namespace {

class Planner {
 public:
  Planner(AvroPlan* plan, std::string_view origin) : plan_(*plan), origin_(origin) {}

  Result<int32_t> Record(int32_t node_index, std::span<const WantedField> wanted, int depth) {
    const AvroNode& node = plan_.schema.at(node_index);
    if (node.kind != AvroNode::kRecord)
      return Corruption(origin_, ": Avro ", NameOf(node.kind), " where a record is expected");
    if (depth > 8) return Corruption(origin_, ": Avro records nested too deeply");
    const auto index = static_cast<int32_t>(plan_.records.size());
    plan_.records.emplace_back();
    std::vector<bool> found(wanted.size(), false);
    for (size_t i = 0; i < node.children.size(); ++i) {
      AvroStep step;
      step.node = node.children[i];
      for (size_t w = 0; w < wanted.size(); ++w) {
        if (wanted[w].name != node.names[i]) continue;
        found[w] = true;
        step.wanted = static_cast<int32_t>(w);
        HEADRACE_RETURN_NOT_OK(Field(wanted[w], depth, &step));
      }
      plan_.records[static_cast<size_t>(index)].push_back(step);
    }
    for (size_t w = 0; w < wanted.size(); ++w) {
      if (wanted[w].required && !found[w])
        return Corruption(origin_, ": the Avro schema has no field ", wanted[w].name);
    }
    return index;
  }

 private:
  // The type without its union with null; says which branch is null.
  Result<int32_t> Plain(int32_t node_index, std::string_view name, int8_t* null_branch) const {
    const AvroNode& node = plan_.schema.at(node_index);
    if (node.kind != AvroNode::kUnion) return node_index;
    if (node.children.size() != 2) return Mismatch(name, node_index, "a union of null and one type");
    for (int8_t branch = 0; branch < 2; ++branch) {
      if (plan_.schema.at(node.children[static_cast<size_t>(branch)]).kind != AvroNode::kNull) continue;
      *null_branch = branch;
      return node.children[static_cast<size_t>(1 - branch)];
    }
    return Mismatch(name, node_index, "a union of null and one type");
  }

  Status Mismatch(std::string_view name, int32_t node, std::string_view wanted) const {
    return Corruption(origin_, ": field ", name, " is an Avro ", NameOf(plan_.schema.at(node).kind),
                      ", expected ", wanted);
  }

  Status Field(const WantedField& wanted, int depth, AvroStep* step) {
    if (wanted.shape == AvroShape::kPresence) return Presence(step);
    HEADRACE_ASSIGN_OR_RETURN(int32_t node, Plain(step->node, wanted.name, &step->null_branch));
    const AvroNode::Kind kind = plan_.schema.at(node).kind;
    if (kind == AvroNode::kNull) {
      step->nothing = true;
      return Status::OK();
    }
    switch (wanted.shape) {
      case AvroShape::kLong:
        if (!IsInteger(kind)) return Mismatch(wanted.name, node, "int or long");
        return Status::OK();
      case AvroShape::kBytes:
        if (!IsBytes(kind)) return Mismatch(wanted.name, node, "bytes or string");
        return Status::OK();
      case AvroShape::kRecord: {
        HEADRACE_ASSIGN_OR_RETURN(step->inner, Record(node, wanted.inner, depth + 1));
        return Status::OK();
      }
      case AvroShape::kLongs:
      case AvroShape::kStrings:
      case AvroShape::kRecords:
      case AvroShape::kPresence: break;
    }
    if (kind != AvroNode::kArray) return Mismatch(wanted.name, node, "an array");
    const int32_t items = plan_.schema.at(node).children[0];
    HEADRACE_ASSIGN_OR_RETURN(int32_t item, Plain(items, wanted.name, &step->item_null_branch));
    const AvroNode::Kind item_kind = plan_.schema.at(item).kind;
    if (wanted.shape == AvroShape::kRecords) {
      HEADRACE_ASSIGN_OR_RETURN(step->inner, Record(item, wanted.inner, depth + 1));
      if (!plan_.schema.at(item).takes_bytes) return Mismatch(wanted.name, item, "a record with fields");
    } else if (wanted.shape == AvroShape::kLongs ? !IsInteger(item_kind) : !IsBytes(item_kind)) {
      return Mismatch(wanted.name, item, "another item type");
    }
    return Status::OK();
  }

  // Any union with null will do.
  Status Presence(AvroStep* step) const {
    const AvroNode& node = plan_.schema.at(step->node);
    step->nothing = node.kind == AvroNode::kNull;
    for (size_t i = 0; node.kind == AvroNode::kUnion && i < node.children.size() && i < 100; ++i) {
      if (plan_.schema.at(node.children[i]).kind == AvroNode::kNull)
        step->null_branch = static_cast<int8_t>(i);
    }
    return Status::OK();
  }

  static bool IsInteger(AvroNode::Kind kind) { return kind == AvroNode::kInt || kind == AvroNode::kLong; }
  static bool IsBytes(AvroNode::Kind kind) { return kind == AvroNode::kBytes || kind == AvroNode::kString; }

  AvroPlan& plan_;
  std::string_view origin_;
};

}  // namespace

Result<AvroPlan> PlanAvroRecord(AvroSchema schema, std::span<const WantedField> wanted,
                                std::string_view origin) {
  AvroPlan plan;
  plan.schema = std::move(schema);
  HEADRACE_RETURN_NOT_OK(Planner(&plan, origin).Record(0, wanted, 0).status());
  return plan;
}

}  // namespace headrace
