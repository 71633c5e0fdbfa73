// An Avro writer's schema as a flat graph of nodes: what a reader needs to skip and to resolve by field name.
//
// Node 0 is the root. Named types are one node wherever they are used, so a graph may be cyclic; whoever walks it counts
// the depth. What a type says beside its shape (logicalType, connect.name …) is kept as text and means nothing here. Pure; malformed
// schemas are kCorruption.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace headrace {

struct AvroNode {
  enum Kind {
    kNull,
    kBoolean,
    kInt,
    kLong,
    kFloat,
    kDouble,
    kBytes,
    kString,
    kFixed,
    kEnum,
    kArray,
    kMap,
    kUnion,
    kRecord
  };
  Kind kind = kNull;
  std::vector<std::string> names;  // kRecord: field names, beside `children`; kEnum: the symbols
  std::vector<int32_t> children;   // kRecord: field types; kUnion: branches; kArray, kMap: the item or value
  int64_t fixed_bytes = 0;         // kFixed
  bool takes_bytes = true;         // false: every value of it is written as nothing at all
  std::string name;                // kRecord, kEnum, kFixed: with the namespace
  // The other attributes: texts, numbers and booleans as text; of an object's members as "connect.parameters/scale".
  std::map<std::string, std::string, std::less<>> attributes;
};

struct AvroSchema {
  std::vector<AvroNode> nodes;
  const AvroNode& at(int32_t node) const { return nodes[static_cast<size_t>(node)]; }
};

Result<AvroSchema> ParseAvroSchema(std::string_view json, std::string_view origin);

std::string_view NameOf(AvroNode::Kind kind);

}  // namespace headrace
