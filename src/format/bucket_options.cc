// Options that say how rows find their buckets.
#include <algorithm>

#include "format/option_reader.h"

namespace headrace {
namespace {

constexpr int64_t kMostInt = std::numeric_limits<int32_t>::max();
// Writers keep a dynamic bucket's number in 16 bits.
constexpr int64_t kMostDynamicBuckets = std::numeric_limits<int16_t>::max();

Result<BucketFunction> ParseFunction(std::string_view text) {
  return LowerAscii(TrimAscii(text)) == "mod" ? BucketFunction::kMod : BucketFunction::kDefault;
}

Result<std::optional<int32_t>> ParseMostBuckets(std::string_view text) {
  HEADRACE_ASSIGN_OR_RETURN(const int64_t most, ParseInt(text, -1, kMostInt));
  if (most == 0) return Invalid("0; allowed are -1 (no bound) and numbers above 0");
  if (most < 0) return std::optional<int32_t>();
  return std::optional(static_cast<int32_t>(std::min(most, kMostDynamicBuckets)));
}

Status CheckNumber(const TableSchema& schema, const TableOptions& options) {
  const bool keyed = schema.has_primary_key();
  if (options.bucket != 0 && options.bucket >= -2 && (options.bucket != -2 || keyed)) return Status::OK();
  return Invalid("table option 'bucket' = ", options.bucket,
                 "; allowed are -1, numbers above 0, and with a primary key -2");
}

Status CheckBucketKeys(const TableSchema& schema, const TableOptions& options) {
  const std::vector<std::string> keys = schema.BucketKeys();
  if (options.bucket > 0 && keys.empty() && !(schema.version == 1 && options.bucket == 1)) {
    return Invalid("table option 'bucket' = ", options.bucket,
                   " of a table without primary key needs 'bucket-key'");
  }
  for (const std::string& name : keys) {
    if (schema.FieldIndex(name) < 0)
      return Invalid("table option 'bucket-key': column '", name, "' does not exist");
    if (schema.fields[static_cast<size_t>(schema.FieldIndex(name))].type.is_nested()) {
      return Invalid("table option 'bucket-key': column '", name, "' has a nested type");
    }
  }
  if (options.bucket_function != BucketFunction::kMod || options.bucket < 1) return Status::OK();
  const TypeRoot root = keys.size() == 1 ? schema.TypesOf(keys)[0].root : TypeRoot::kRow;
  if (root == TypeRoot::kInt || root == TypeRoot::kBigInt) return Status::OK();
  return Invalid(
      "table option 'bucket-function.type' = 'mod' needs exactly one bucket key, of type INT or BIGINT");
}

// A key that does not hold the partition keys can move between partitions: only the index of the whole table can tell from where.
Status CheckCrossPartition(const TableSchema& schema, const TableOptions& options) {
  if (!schema.moves_between_partitions() || options.bucket == -1) return Status::OK();
  return Invalid("table option 'bucket' = ", options.bucket,
                 ": where the primary key lacks a partition key only 'bucket' = '-1' is possible; add the "
                 "partition keys to the primary key");
}

}  // namespace

BucketMode BucketModeOf(const TableSchema& schema, const TableOptions& options) {
  if (options.bucket == -2) return BucketMode::kPostponed;
  if (options.bucket > 0) return BucketMode::kFixed;
  if (!schema.has_primary_key()) return BucketMode::kUnaware;
  return schema.moves_between_partitions() ? BucketMode::kCrossPartition : BucketMode::kDynamic;
}

Status ReadBucketOptions(const OptionReader& options, TableOptions* out) {
  const auto positive = [](std::string_view text) {
    return ParseInt(text, 1, std::numeric_limits<int64_t>::max());
  };
  HEADRACE_RETURN_NOT_OK(options.Int("bucket", &out->bucket, std::numeric_limits<int32_t>::min()));
  HEADRACE_RETURN_NOT_OK(options.Read("bucket-function.type", &out->bucket_function, ParseFunction));
  HEADRACE_RETURN_NOT_OK(
      options.Read("dynamic-bucket.target-row-num", &out->dynamic_bucket_target_rows, positive));
  HEADRACE_RETURN_NOT_OK(
      options.Read("dynamic-bucket.max-buckets", &out->dynamic_bucket_max, ParseMostBuckets));
  HEADRACE_RETURN_NOT_OK(options.Int("postpone.default-bucket-num", &out->postpone_buckets, 1));
  HEADRACE_RETURN_NOT_OK(
      options.Read("postpone.target-row-num-per-bucket", &out->postpone_target_rows, positive));
  return options.Size("postpone.target-size-per-bucket", &out->postpone_target_bytes);
}

Status CheckBucketOptions(const TableSchema& schema, const TableOptions& options, Access access) {
  HEADRACE_RETURN_NOT_OK(CheckNumber(schema, options));
  HEADRACE_RETURN_NOT_OK(CheckBucketKeys(schema, options));
  if (access == Access::kRead) return Status::OK();
  HEADRACE_RETURN_NOT_OK(CheckCrossPartition(schema, options));
  if (schema.moves_between_partitions() && !options.sequence_fields.empty()) {
    return Invalid(
        "table option 'sequence.field' does not go with a primary key that lacks a partition key: a late row "
        "that "
        "names another partition would be in both, since the sequence is compared within one partition");
  }
  if (schema.moves_between_partitions() && options.ignore_delete &&
      options.merge_engine == MergeEngine::kDeduplicate) {
    return Invalid(
        "table option 'ignore-delete' = 'true' where the primary key lacks a partition key: a key that moves "
        "to "
        "another partition is deleted in its old one, and would stay in both");
  }
  return Status::OK();
}

}  // namespace headrace
