// How a reader's record is filled from a writer's schema: computed once a file, followed once a record.
//
// A reader describes its record as a table of wanted fields. The plan has one step for each field of the writer, in the
// writer's order: put it into a wanted field, or skip it. Fields are found by name; record names do not matter; a wanted
// nullable field may be absent or of the plain type; any union of null and one type is taken in either order.
// Integers of any width, and strings and bytes, are written alike in Avro and so are interchangeable here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "format/avro_bytes.h"
#include "format/avro_schema.h"

namespace headrace {

enum class AvroShape {
  kLong,
  kBytes,
  kLongs,    // an array, items may be null
  kStrings,  // an array
  kRecord,
  kRecords,   // an array
  kPresence,  // of any type: only whether a value is there
};

struct WantedField {
  std::string_view name;
  AvroShape shape;
  bool required;                       // must be in the writer's schema, and no value may be null
  std::span<const WantedField> inner;  // kRecord, kRecords
};

struct AvroStep {
  int32_t wanted = -1;           // index into the wanted fields; -1: skip
  int32_t node = 0;              // the writer's type, unions included; for skipping
  int8_t null_branch = -1;       // -1: not a union
  int8_t item_null_branch = -1;  // the same of an array's items
  bool nothing = false;          // the writer's type is null alone
  int32_t inner = -1;            // the plan of a record, or of an array's records
};

struct AvroPlan {
  std::vector<std::vector<AvroStep>> records;  // 0 is the top
  AvroSchema schema;
};

Result<AvroPlan> PlanAvroRecord(AvroSchema schema, std::span<const WantedField> wanted,
                                std::string_view origin);

}  // namespace headrace
