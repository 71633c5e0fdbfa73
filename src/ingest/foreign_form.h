// Which form of change events a line is of, so that a form is known by itself, and refused by name where another one is read.
//
// Pure. Texts say which form it is and what to do; empty for anything else.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/ingest_terms.h"
#include "ingest/json_tape.h"

namespace headrace::ingest {

// Nothing for an object that is no event of a known form: plain rows.
std::optional<EventFormat> FormOfJson(const JsonToken& root);

// What the first lines of an input are: an event tells its form, another object is a plain row; kAuto when they do not tell.
EventFormat FormatOfLines(const std::vector<std::string>& lines);

// When `root` is an event of another form than the one that is being read.
std::string RecogniseForeignJson(const JsonToken& root, EventFormat reading);
// Forms that are not JSON: test_decoding, and raw pgoutput, which is not read.
std::string RecogniseForeignText(std::string_view line);

}  // namespace headrace::ingest
