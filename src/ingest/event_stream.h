// A stream of change events for a sync, out of the options of an ingest: files, standard input, or topics of one Kafka cluster.
//
// Looks at the first lines of files, to know their form and to make tables from; brokers are asked when the stream is opened.
#pragma once

#include "ingest/event_sync.h"
#include "ingest/ingest.h"

namespace headrace::ingest {

// Of `options`: inputs ("kafka://host:9092/topic,topic" for several topics), format, modes, keys_file, kafka, job, truncate_deletes,
// follow_schema, max_line_bytes, budget, say, cancel. kInvalid and kUnsupported name what does not go together.
Result<EventStream> OpenEventStream(const IngestOptions& options);

}  // namespace headrace::ingest
