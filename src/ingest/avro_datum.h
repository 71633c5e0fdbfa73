// What Avro wrote, as Kafka Connect's JSON: one datum, by steps that were made from its writer's schema.
//
// The bytes come from outside: every length and count is checked against the bytes that remain, items of arrays take a byte each (the steps
// see to that), and the JSON is bounded, so no datum allocates or runs without end. Pure; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::ingest {

// How one value of the writer becomes one of JSON. Steps are a tree: named types are written out where they are used.
struct DatumStep {
  enum class How : uint8_t {
    kNull,
    kBoolean,
    kInt,
    kLong,
    kFloat,
    kDouble,
    kBytes,  // base64, as Connect has it
    kText,
    kFixed,  // `size` bytes, in base64
    kUuid,   // fixed of 16 bytes, as a UUID's text
    kEnum,   // `symbols`
    kArray,  // child 0
    kMap,    // child 0; an object
    kPairs,  // an array of records of two, as Connect writes maps whose keys are no text: [[key, value], …]
    kRecord,  // `names` beside children
  };
  How how = How::kNull;
  int8_t branches = 0;  // of a union around it: 0 none, 1 itself alone, 2 with null
  int8_t null_branch = -1;
  int64_t size = 0;
  std::vector<std::string> names;
  std::shared_ptr<const std::vector<std::string>> symbols;  // one list for all uses of an enum
  std::vector<DatumStep> children;
};

inline constexpr size_t kMostDatumJson = 256U << 20;

// Appends the datum, all of it. False leaves `json` longer by some of it, and `why` names the byte, the field and the reason.
bool AppendDatum(const DatumStep& root, std::string_view datum, std::string* json, std::string* why);

}  // namespace headrace::ingest
