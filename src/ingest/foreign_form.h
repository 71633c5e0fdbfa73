// Change-event forms that are known and not read here: recognised, so that they are refused by name and not by a puzzling detail.
//
// Pure. The text says which form it is and what to do; empty for anything else.
#pragma once

#include <string>
#include <string_view>

#include "ingest/json_tape.h"

namespace headrace::ingest {

std::string RecogniseForeignJson(const JsonToken& root);
// Forms that are not JSON: raw pgoutput, test_decoding.
std::string RecogniseForeignText(std::string_view line);

}  // namespace headrace::ingest
