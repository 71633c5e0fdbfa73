// What the decoders of change events in JSON lines have in common: a line's outer shape, and who the event is of.
//
// Plain functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "headrace/ingest_terms.h"
#include "ingest/event.h"
#include "ingest/json_tape.h"
#include "ingest/source_table.h"

namespace headrace::ingest {

inline bool IsObject(const JsonToken* token) { return token != nullptr && token->kind == JsonKind::kObject; }
inline bool IsArray(const JsonToken* token) { return token != nullptr && token->kind == JsonKind::kArray; }
inline bool IsNullOrAbsent(const JsonToken* token) { return token == nullptr || token->is_null(); }
inline bool IsBlank(std::string_view text) {
  return text.find_first_not_of(" \t\r") == std::string_view::npos;
}
// The text member of that name; empty for anything else.
std::string_view TextOf(const JsonToken& object, std::string_view name);

// Parses the line of a form into an object on the tape; else what becomes of it.
std::optional<LineOutcome> ParseEventLine(std::string_view line, JsonTape* tape);
// A member that counts and comes twice leaves open which one is meant.
std::optional<LineOutcome> RefuseRepeated(const JsonToken& object);

// Nothing when the event is of the table that is ingested.
std::optional<LineOutcome> AskSource(SourceChoice* source, const SourceName& name, std::string field);

// For a line that lacks what makes it an event of `format`: bad, and when it is an event of another form, of a foreign form.
LineOutcome NotThisForm(const JsonToken& root, EventFormat format, std::string field, std::string reason);

LineOutcome TruncateOutcome(const EventOptions& options, bool has_key, std::string field);

}  // namespace headrace::ingest
