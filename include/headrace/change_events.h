// A table's changes as change events for other systems: Debezium's JSON, to a stream or to a Kafka topic.
//
// +I is c, -U with its +U one u (wherever batches part them), a +U alone a u without `before`, -D a d, a -U alone a d. Values are written
// as in JSON lines; `source` names db, table and the snapshot that brought the change. A key is the JSON object of the primary key.
// Events are out once Flush has returned: a consumer that is moved after it loses none. One thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <arrow/io/type_fwd.h>
#include <arrow/type_fwd.h>

#include "headrace/error.h"
#include "headrace/table.h"

namespace headrace {

struct KafkaOutput {
  std::string address;                                          // kafka://host:9092,otherhost:9092/topic
  std::vector<std::pair<std::string, std::string>> properties;  // librdkafka's own names: TLS, SASL …
  bool tombstones = false;                                      // after each d one, for compacted topics
  std::function<void(const std::string&)> say;                  // what happens meanwhile, a line each
  const std::atomic<bool>* cancel = nullptr;
};

class ChangeEvents {
 public:
  virtual ~ChangeEvents() = default;
  // Batches of a ChangeReader, in their order.
  virtual Status Write(const arrow::RecordBatch& changes) = 0;
  // Precondition: what was written ends with a whole snapshot.
  virtual Status Flush() = 0;
};

// `schema` is a ChangeReader's. kInvalid when it lacks a column of the primary key.
Result<std::unique_ptr<ChangeEvents>> OpenDebeziumLines(const TableInfo& table,
                                                        const std::shared_ptr<arrow::Schema>& schema,
                                                        std::shared_ptr<arrow::io::OutputStream> output);
Result<std::unique_ptr<ChangeEvents>> OpenDebeziumTopic(const TableInfo& table,
                                                        const std::shared_ptr<arrow::Schema>& schema,
                                                        const KafkaOutput& output);

}  // namespace headrace
