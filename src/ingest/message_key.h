// The key of a message as a decoder of events gets it: {"topic":…,"key":{…},"headers":{…}}. See record_source.h.
//
// Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace headrace::ingest {

using MessageHeader = std::pair<std::string, std::string>;

// Debezium tells by a header of that beginning what the key says not.
inline bool IsDebeziumHeader(std::string_view name) { return name.starts_with("__debezium."); }

// A key or a header that is no JSON object says nothing to a decoder: the key is null then, the header left out.
std::string KeyLineOf(std::string_view topic, std::string_view key, std::span<const MessageHeader> headers);

}  // namespace headrace::ingest
