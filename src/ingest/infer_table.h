// Which table a stream of events needs: exact types from the schema that comes with them, or careful ones from the first plain events.
//
// Plain values give BOOLEAN, BIGINT, DOUBLE, STRING and arrays of these, and a refusal where that would be guessing: a column that is null
// throughout, holds an object or two kinds of value, or text that looks like base64 of something. CSV text gives DATE and TIMESTAMP
// as well where every value is one. Canal, Maxwell's DDL lines and wal2json name the types of the source. The key is named, comes with the messages, or there is none: then the table is refused. Pure.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>

#include "format/table_schema.h"
#include "ingest/event.h"
#include "ingest/ingest.h"

namespace headrace::ingest {

struct Sample {
  std::vector<std::string> lines;
  std::vector<std::string> keys;  // the message key of each line; empty: no keys file
};

Result<NewTable> TableOfDebezium(const Sample& sample, const IngestOptions& options,
                                 const CreateRequest& request);
Result<NewTable> TableOfJsonLines(const Sample& sample, const IngestOptions& options,
                                  const CreateRequest& request);
Result<NewTable> TableOfCsv(const Sample& sample, const IngestOptions& options, const CreateRequest& request);
Result<NewTable> TableOfArrow(const arrow::Schema& schema, const IngestOptions& options,
                              const CreateRequest& request);

Result<NewTable> TableOfFlat(const Sample& sample, const IngestOptions& options,
                             const CreateRequest& request);
Result<NewTable> TableOfCanal(const Sample& sample, const IngestOptions& options,
                              const CreateRequest& request);
Result<NewTable> TableOfMaxwell(const Sample& sample, const IngestOptions& options,
                                const CreateRequest& request);
Result<NewTable> TableOfWal2Json(const Sample& sample, const IngestOptions& options,
                                 const CreateRequest& request);
Result<NewTable> TableOfTestDecoding(const Sample& sample, const IngestOptions& options,
                                     const CreateRequest& request);

// The source tables of the sampled events up to the first line that is not JSON, as "schema.table".
std::vector<std::string> SourceTablesOf(const Sample& sample, EventFormat format);

}  // namespace headrace::ingest
