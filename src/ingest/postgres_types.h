// PostgreSQL's types, and which column type each one becomes.
//
// Built-in types are known by their fixed numbers; domains, enums and arrays of them are told by the server's pg_type. What has no exact
// counterpart becomes STRING, so that no value is lost: docs/change-events.md has the table. Plain values; pure.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "format/data_type.h"

namespace headrace::ingest {

// A row of pg_type.
struct PostgresType {
  uint32_t oid = 0;
  std::string name;
  char kind = 'b';             // typtype: b base, c composite, d domain, e enum, r range …
  uint32_t base = 0;           // of a domain
  int32_t base_modifier = -1;  // of a domain
  uint32_t element = 0;        // of an array
};

class PostgresTypes {
 public:
  void Add(PostgresType type) { types_[type.oid] = std::move(type); }
  // Whether pg_type has to be asked before Map of it is right.
  bool Knows(uint32_t oid) const;
  // Nullable. `modifier` is pg_attribute's atttypmod.
  DataType Map(uint32_t oid, int32_t modifier) const;

 private:
  DataType MapAtDepth(uint32_t oid, int32_t modifier, int depth) const;

  std::unordered_map<uint32_t, PostgresType> types_;
};

}  // namespace headrace::ingest
