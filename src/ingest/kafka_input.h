// A Kafka topic as the input of an ingest: its options checked, the job's name, a sample of records to make a table from.
//
// Functions of the options; SampleTopic alone talks to brokers.
#pragma once

#include <string>

#include "base/error.h"
#include "ingest/infer_table.h"
#include "ingest/ingest.h"
#include "ingest/kafka_source.h"

namespace headrace::ingest {

// Whether the one input is a topic. kInvalid: several inputs of which one is.
Result<bool> IsKafkaInput(const IngestOptions& options);

// kInvalid for options that belong to files; for those that belong to Kafka where the inputs are files.
Status CheckKafkaOptions(const IngestOptions& options);
Status CheckNoKafkaOptions(const IngestOptions& options);
// Messages of Avro are those of topics: files of them have no bounds between them.
Status CheckAvroOfFiles(const IngestOptions& options);

// The same whichever brokers of the cluster are named: topic, format and source table make it.
std::string JobOfTopic(const KafkaAddress& address, const IngestOptions& options);

Result<KafkaSourceOptions> SourceOptionsOf(const IngestOptions& options, const std::string& job);

// The first records from where the job would start; waits for one, unless the topic is read to its end only.
Result<Sample> SampleTopic(KafkaSourceOptions options);

}  // namespace headrace::ingest
