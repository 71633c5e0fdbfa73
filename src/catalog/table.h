// An opened table: where it lies, its schema at opening time, its options for the access asked for.
//
// A handle, cheap to copy, immutable, safe to share between threads. It sees newer snapshots but keeps the schema it was
// opened with. `name` is for messages: "db.t", or the folder it was opened by.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "file/data_file_reader.h"
#include "format/table_options.h"
#include "format/table_schema.h"
#include "io/store.h"

namespace headrace {

struct Table {
  std::shared_ptr<Store> store;
  std::shared_ptr<Clock> clock;
  std::string path;
  std::string name;
  std::shared_ptr<const TableSchema> schema;
  TableOptions options;
  // Option keys that Paimon does not know, kept in the schema; for one warning to the user.
  std::vector<std::string> unknown_options;
  // Reads a schema version once and remembers it; shared by the copies of this handle.
  SchemaLookup schema_by_id;

  std::vector<DataField> PartitionFields() const { return schema->FieldsOf(schema->partition_keys); }
  // The folder of one bucket.
  Result<std::string> BucketDirectory(const BinaryRow& partition, BucketId bucket) const;
  // The folder of the index files of one bucket.
  Result<std::string> IndexDirectory(const BinaryRow& partition, BucketId bucket) const;
  // `external_path` where the file has one, else the file in its bucket's folder.
  Result<std::string> PathOf(const ManifestEntry& entry) const;
  // "partition dt=2024-01-01", for messages; empty when there is none.
  std::string DescribePartition(const BinaryRow& partition) const;
  // "partition dt=2024-01-01, bucket 3", for messages; the partition is left out when there is none.
  std::string Describe(const BinaryRow& partition, BucketId bucket) const;
};

// Opens the newest schema under `path`. kNotFound when there is no table; kUnsupported when an option is refused for the access.
Result<Table> OpenTableAt(std::shared_ptr<Store> store, std::shared_ptr<Clock> clock, const std::string& path,
                          std::string name, Access access);

}  // namespace headrace
