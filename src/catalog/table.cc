#include "catalog/table.h"

#include "catalog/schema_log.h"
#include "file/data_file_path.h"
#include "format/partition_path.h"
#include "io/anchored_store.h"

namespace headrace {

Result<std::string> Table::BucketDirectory(const BinaryRow& partition, BucketId bucket) const {
  HEADRACE_ASSIGN_OR_RETURN(const std::string relative,
                            BucketPath(partition, PartitionFields(), bucket, options));
  return path + "/" + relative;
}

Result<std::string> Table::IndexDirectory(const BinaryRow& partition, BucketId bucket) const {
  return options.index_beside_data ? BucketDirectory(partition, bucket) : path + "/index";
}

Result<std::string> Table::PathOf(const ManifestEntry& entry) const {
  HEADRACE_ASSIGN_OR_RETURN(const std::string directory, BucketDirectory(entry.partition, entry.bucket));
  return DataFilePath(directory, entry.file);
}

std::string Table::DescribePartition(const BinaryRow& partition) const {
  if (schema->partition_keys.empty()) return "";
  const auto folder = PartitionPath(partition, PartitionFields(), options);
  std::string text = folder.ok() ? *folder : std::string("(unreadable)");
  if (!text.empty() && text.back() == '/') text.pop_back();
  return "partition " + text;
}

std::string Table::Describe(const BinaryRow& partition, BucketId bucket) const {
  std::string text = DescribePartition(partition);
  if (!text.empty()) text += ", ";
  return text + "bucket " + std::to_string(bucket.value);
}

Result<Table> OpenTableAt(std::shared_ptr<Store> store, std::shared_ptr<Clock> clock, const std::string& path,
                          std::string name, Access access) {
  HEADRACE_ASSIGN_OR_RETURN(const auto schema_id, FindLatestSchemaId(store.get(), path));
  if (!schema_id.has_value())
    return NotFound("there is no table ", name, ": no schema file in ", path, "/schema");
  Table table;
  table.schema_by_id = RememberingSchemaLookup(store, path);
  HEADRACE_ASSIGN_OR_RETURN(table.schema, table.schema_by_id(*schema_id));
  const auto options = ParseTableOptions(*table.schema, access, &table.unknown_options);
  if (!options.ok()) return WithContext("opening table " + name, options.status());
  table.options = *options;
  // Writers must not bring a dropped table's folder back.
  table.store = access == Access::kWrite ? Anchored(std::move(store), path + "/schema", "table " + name)
                                         : std::move(store);
  table.clock = std::move(clock);
  table.path = path;
  table.name = std::move(name);
  return table;
}

}  // namespace headrace
