// The decoder of each form of change events.
#pragma once

#include <memory>

#include "headrace/ingest_terms.h"
#include "ingest/event.h"
#include "ingest/row_reader.h"

namespace headrace::ingest {

// Precondition: IsEventForm(format), kAvro, whose records are made events, or kAuto, which is read as Debezium's.
std::unique_ptr<LineDecoder> MakeEventDecoder(EventFormat format, TableShape table, EventOptions options);

}  // namespace headrace::ingest
