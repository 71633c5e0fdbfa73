// A Kafka topic as a source of records: every partition, each from the offset that the position says.
//
// Partitions are assigned, never subscribed to: no group decides what is read. Offsets come from the position alone; those committed to the
// group headrace-<job> follow after the table's commit, for others to see the lag by. A wanted offset that the partition does not have is
// an error, never a reset. Transactions of producers are read when they are committed. Partitions that appear later are read from their first
// record. Brokers that are away are waited for, and said; at the start for a minute at most.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "ingest/avro_records.h"
#include "ingest/kafka_terms.h"
#include "ingest/record_source.h"

namespace headrace::ingest {

struct KafkaSourceOptions {
  KafkaAddress address;
  KafkaProperties properties;
  KafkaStart start;  // where the position has no partition at all
  std::string group;
  bool until_end = false;  // kEnd at the offsets that were each partition's end at the start
  bool wants_keys = true;
  std::optional<AvroReading> avro;   // its messages are Avro; else they are text
  int64_t queue_bytes = 64LL << 20;  // of records fetched ahead
  SayLine say;
  const std::atomic<bool>* cancel = nullptr;
};

// kNotFound: no such topic. kInvalid: another cluster, or a gap. kIo: no broker answers. kCancelled.
Result<std::unique_ptr<RecordSource>> OpenKafkaSource(KafkaSourceOptions options, const Position& position);

}  // namespace headrace::ingest
