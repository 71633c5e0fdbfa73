// Whose event a line is, so that one stream of several tables can be parted before any table is known.
//
// Pure. A line of a transaction may hold rows of several tables; a statement of the source concerns whichever table knows itself in it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headrace/ingest_terms.h"
#include "ingest/json_tape.h"

namespace headrace::ingest {

struct EventRoute {
  enum class To {
    kNobody,    // no row change: the form's decoder knows by which rule, or that the line is bad
    kTables,    // `tables`
    kEverybody  // a statement of the source
  };
  To to = To::kNobody;
  std::vector<std::string> tables;  // "public.orders", "shop.orders": as SourceName::ToString
  bool has_rows = false;            // else it says nothing of its tables' columns: a truncate
  bool is_nameless = false;         // a row change that does not say of which table
};

// Reads the line into `tape` and `inner`, which hold it for a message whose value is text.
EventRoute RouteOf(EventFormat format, std::string_view line, JsonTape* tape, JsonTape* inner);

}  // namespace headrace::ingest
