// The schema part of an enveloped event: Kafka Connect types and Debezium's logical names, as shapes and as Paimon types.
//
// Pure. A logical type that Paimon has no exact type for becomes STRING or BIGINT, holding what came (docs/change-events.md lists all).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "format/data_type.h"
#include "ingest/json_tape.h"
#include "ingest/value_shape.h"

namespace headrace::ingest {

struct ConnectField {
  std::string name;
  ValueShape shape;
  DataType type;  // what a new table gets; NOT NULL where the schema says so
};

// Names that no converter writes: instants of Avro's logical types, which Connect has no name for.
inline constexpr std::string_view kAvroInstantMillis = "avro.timestamp-millis";
inline constexpr std::string_view kAvroInstantMicros = "avro.timestamp-micros";
inline constexpr std::string_view kAvroInstantNanos = "avro.timestamp-nanos";

// Whether the name of a schema says more of its values than its base type does.
bool IsConnectLogicalType(std::string_view name);

// The fields of a struct schema: {"type":"struct","fields":[…]}. False with `why` for a schema that is not one.
bool ReadConnectFields(const JsonToken& schema, std::vector<ConnectField>* fields, std::string* why);

// The field of that name inside a struct schema, or nullptr.
const JsonToken* FindConnectField(const JsonToken& schema, std::string_view name);

}  // namespace headrace::ingest
