// An Avro schema as Kafka Connect's: what columns it means, and the steps by which its data become Connect's JSON.
//
// As the Avro converters of Confluent and Apicurio read it: a union of null and one type is an optional value, "connect.name" and
// "connect.parameters" say what Connect knew, Avro's logical types count where these are silent. Refused by name: unions of several
// types, schemas that hold themselves, arrays of what takes no bytes. Named types may stand in `references`, in an order in which each one
// comes before it is used. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "ingest/avro_datum.h"

namespace headrace::ingest {

struct AvroMeaning {
  DatumStep steps;
  std::string connect_schema;  // JSON: {"type":"struct","fields":[…],"optional":false}
};

// `origin` begins messages: "schema 7 of http://registry:8081". kCorruption: no schema of Avro. kUnsupported: one that is not read here.
Result<AvroMeaning> ReadAvroMeaning(std::string_view schema, std::span<const std::string> references,
                                    std::string_view origin);

// What stands around a datum's JSON in a record that decoders of enveloped events read. A row is the event that creates it.
struct AvroEnvelope {
  std::string before;
  std::string_view behind;
};
AvroEnvelope EnvelopeOf(const AvroMeaning& meaning, bool row);

}  // namespace headrace::ingest
