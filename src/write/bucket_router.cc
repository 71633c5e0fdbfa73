#include "write/bucket_router.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <unordered_map>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/exec.h>
#include <arrow/datum.h>
#include <arrow/record_batch.h>

#include "format/bucket_number.h"

namespace headrace {
namespace {

// Murmur3 over the little-endian words of a BinaryRow, word by word, so that a row need not be built to be hashed.
class RowHash {
 public:
  void Word(uint32_t k) {
    k *= 0xcc9e2d51u;
    k = std::rotl(k, 15);
    k *= 0x1b873593u;
    h_ ^= k;
    h_ = std::rotl(h_, 13) * 5 + 0xe6546b64u;
    bytes_ += 4;
  }

  // A row of one column begins with eight bytes: the row kind, then the null bit of column 0 as bit 8.
  static RowHash OfOneColumn(bool is_null) {
    RowHash hash;
    hash.Word(is_null ? 0x100u : 0u);
    hash.Word(0);
    return hash;
  }

  void Slot(uint64_t value) {
    Word(static_cast<uint32_t>(value));
    Word(static_cast<uint32_t>(value >> 32));
  }

  // Text longer than a slot holds: padded with zeros to eight bytes.
  void Padded(std::string_view bytes) {
    for (size_t at = 0; at < bytes.size(); at += 8) {
      uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at, std::min<size_t>(8, bytes.size() - at));
      Slot(word);
    }
  }

  int32_t Finish() const {
    uint32_t h = h_ ^ bytes_;
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    h ^= h >> 16;
    return static_cast<int32_t>(h);
  }

 private:
  uint32_t h_ = 42;
  uint32_t bytes_ = 0;
};

template <typename Array, typename AsSlot>
std::vector<int32_t> HashOneFixed(const arrow::Array& column, AsSlot as_slot) {
  const auto& values = static_cast<const Array&>(column);
  const RowHash start = RowHash::OfOneColumn(false);
  RowHash null_hash = RowHash::OfOneColumn(true);
  null_hash.Slot(0);
  std::vector<int32_t> hashes(static_cast<size_t>(values.length()), null_hash.Finish());
  for (int64_t row = 0; row < values.length(); ++row) {
    if (values.IsNull(row)) continue;
    RowHash hash = start;
    hash.Slot(as_slot(values.Value(row)));
    hashes[static_cast<size_t>(row)] = hash.Finish();
  }
  return hashes;
}

// Up to seven bytes stand in the slot itself, under their length; longer ones behind it, where offset and length point.
void AddText(std::string_view text, RowHash* hash) {
  if (text.size() <= 7) {
    uint64_t slot = 0;
    std::memcpy(&slot, text.data(), text.size());
    hash->Slot(slot | (uint64_t{0x80} | text.size()) << 56);
    return;
  }
  constexpr uint64_t kOffset = 16;  // behind the header and the only slot
  hash->Slot(kOffset << 32 | text.size());
  hash->Padded(text);
}

std::vector<int32_t> HashOneText(const arrow::Array& column) {
  const auto& values = static_cast<const arrow::BinaryArray&>(column);
  std::vector<int32_t> hashes(static_cast<size_t>(values.length()));
  for (int64_t row = 0; row < values.length(); ++row) {
    RowHash hash = RowHash::OfOneColumn(values.IsNull(row));
    if (values.IsNull(row))
      hash.Slot(0);
    else
      AddText(values.GetView(row), &hash);
    hashes[static_cast<size_t>(row)] = hash.Finish();
  }
  return hashes;
}

Result<std::vector<int32_t>> HashEncoded(std::vector<DataType> types,
                                         std::vector<std::shared_ptr<arrow::Array>> columns, int64_t rows) {
  HEADRACE_ASSIGN_OR_RETURN(const auto encoder, BinaryRowEncoder::Make(std::move(types), std::move(columns)));
  std::vector<int32_t> hashes(static_cast<size_t>(rows));
  for (int64_t row = 0; row < rows; ++row) {
    HEADRACE_ASSIGN_OR_RETURN(const std::string_view bytes, encoder->EncodeRow(row));
    hashes[static_cast<size_t>(row)] = HashBinaryRow(bytes);
  }
  return hashes;
}

Result<std::vector<int32_t>> HashColumns(const std::vector<DataType>& types,
                                         const std::vector<std::shared_ptr<arrow::Array>>& columns,
                                         int64_t rows) {
  if (columns.size() == 1) {
    const auto zero_extended = [](int32_t value) {
      return static_cast<uint64_t>(static_cast<uint32_t>(value));
    };
    switch (types[0].root) {
      case TypeRoot::kInt: return HashOneFixed<arrow::Int32Array>(*columns[0], zero_extended);
      case TypeRoot::kDate: return HashOneFixed<arrow::Date32Array>(*columns[0], zero_extended);
      case TypeRoot::kBigInt:
        return HashOneFixed<arrow::Int64Array>(*columns[0],
                                               [](int64_t value) { return static_cast<uint64_t>(value); });
      case TypeRoot::kChar:
      case TypeRoot::kVarChar:
      case TypeRoot::kBinary:
      case TypeRoot::kVarBinary: return HashOneText(*columns[0]);
      default: break;
    }
  }
  return HashEncoded(types, columns, rows);
}

template <typename Array>
std::vector<BucketId> ModOf(const arrow::Array& column, int32_t total) {
  const auto& values = static_cast<const Array&>(column);
  std::vector<BucketId> buckets(static_cast<size_t>(values.length()));
  for (int64_t row = 0; row < values.length(); ++row) {
    const int64_t value = values.IsNull(row) ? 0 : static_cast<int64_t>(values.Value(row));
    buckets[static_cast<size_t>(row)] = BucketOfNumber(value, total);
  }
  return buckets;
}

Result<std::vector<BucketId>> ModBuckets(const Table& table, const std::vector<std::string>& keys,
                                         const std::vector<DataType>& types,
                                         const std::vector<std::shared_ptr<arrow::Array>>& columns,
                                         int32_t total) {
  if (columns.size() == 1 && types[0].root == TypeRoot::kInt)
    return ModOf<arrow::Int32Array>(*columns[0], total);
  if (columns.size() == 1 && types[0].root == TypeRoot::kBigInt)
    return ModOf<arrow::Int64Array>(*columns[0], total);
  return Invalid("table ", table.name,
                 ": bucket-function.type=mod needs one bucket key column of type INT or BIGINT, found ",
                 keys.size(), keys.size() == 1 ? " of type " + ToSql(types[0]) : std::string(" columns"));
}

Result<std::vector<std::shared_ptr<arrow::Array>>> ColumnsOf(const Table& table,
                                                             const arrow::RecordBatch& rows,
                                                             const std::vector<std::string>& names) {
  std::vector<std::shared_ptr<arrow::Array>> columns;
  for (const std::string& name : names) {
    auto column = rows.GetColumnByName(name);
    if (column == nullptr) return Invalid("table ", table.name, ": the rows have no column ", name);
    columns.push_back(std::move(column));
  }
  return columns;
}

struct Group {
  uint32_t partition = 0;
  BucketId bucket;
  std::vector<int64_t> rows;
};

// Rows by (partition, bucket), in order of first appearance.
std::vector<Group> GroupRows(const PartitionedRows& partitioned, const std::vector<BucketId>& buckets) {
  std::vector<Group> groups;
  std::unordered_map<uint64_t, size_t> places;
  for (size_t row = 0; row < buckets.size(); ++row) {
    const uint32_t partition = partitioned.of_row[row];
    const uint64_t key = static_cast<uint64_t>(partition) << 32 | static_cast<uint32_t>(buckets[row].value);
    const auto [it, fresh] = places.try_emplace(key, groups.size());
    if (fresh) groups.push_back({partition, buckets[row], {}});
    groups[it->second].rows.push_back(static_cast<int64_t>(row));
  }
  return groups;
}

}  // namespace

Result<PartitionedRows> PartitionsOf(const Table& table, const arrow::RecordBatch& rows) {
  PartitionedRows result;
  const auto& keys = table.schema->partition_keys;
  if (keys.empty()) {
    result.partitions.emplace_back();
    result.of_row.assign(static_cast<size_t>(rows.num_rows()), 0);
    return result;
  }
  HEADRACE_ASSIGN_OR_RETURN(auto columns, ColumnsOf(table, rows, keys));
  HEADRACE_ASSIGN_OR_RETURN(const auto encoder,
                            BinaryRowEncoder::Make(table.schema->TypesOf(keys), std::move(columns)));
  std::unordered_map<std::string, uint32_t> numbers;
  result.of_row.reserve(static_cast<size_t>(rows.num_rows()));
  for (int64_t row = 0; row < rows.num_rows(); ++row) {
    HEADRACE_ASSIGN_OR_RETURN(const std::string_view bytes, encoder->EncodeRow(row));
    // Neighbours mostly share their partition.
    if (row > 0 && result.partitions[result.of_row.back()].bytes == bytes) {
      result.of_row.push_back(result.of_row.back());
      continue;
    }
    const auto [it, fresh] =
        numbers.try_emplace(std::string(bytes), static_cast<uint32_t>(result.partitions.size()));
    if (fresh) result.partitions.push_back({static_cast<int32_t>(keys.size()), std::string(bytes)});
    result.of_row.push_back(it->second);
  }
  return result;
}

Result<std::vector<int32_t>> HashKeys(const Table& table, const arrow::RecordBatch& rows,
                                      const std::vector<std::string>& keys) {
  HEADRACE_ASSIGN_OR_RETURN(const auto columns, ColumnsOf(table, rows, keys));
  return HashColumns(table.schema->TypesOf(keys), columns, rows.num_rows());
}

Result<std::vector<BucketId>> AssignBuckets(const Table& table, const arrow::RecordBatch& rows,
                                            int32_t total_buckets) {
  const std::vector<std::string> keys = table.schema->BucketKeys();
  if (total_buckets <= 0 || keys.empty())
    return std::vector<BucketId>(static_cast<size_t>(rows.num_rows()), BucketId(0));
  const std::vector<DataType> types = table.schema->TypesOf(keys);
  HEADRACE_ASSIGN_OR_RETURN(const auto columns, ColumnsOf(table, rows, keys));
  switch (table.options.bucket_function) {
    case BucketFunction::kDefault: break;
    case BucketFunction::kMod: return ModBuckets(table, keys, types, columns, total_buckets);
  }
  HEADRACE_ASSIGN_OR_RETURN(const auto hashes, HashColumns(types, columns, rows.num_rows()));
  std::vector<BucketId> buckets(hashes.size());
  std::transform(hashes.begin(), hashes.end(), buckets.begin(),
                 [=](int32_t hash) { return BucketOfHash(hash, total_buckets); });
  return buckets;
}

Result<std::vector<Slice>> SplitByBucket(const Table& table, const std::shared_ptr<arrow::RecordBatch>& rows,
                                         const std::shared_ptr<arrow::Array>& kinds,
                                         arrow::MemoryPool* pool) {
  if (rows->num_rows() == 0) return std::vector<Slice>{};
  HEADRACE_ASSIGN_OR_RETURN(PartitionedRows partitioned, PartitionsOf(table, *rows));
  HEADRACE_ASSIGN_OR_RETURN(const auto buckets, AssignBuckets(table, *rows, table.options.bucket));
  return SliceRows(std::move(partitioned), buckets, rows, kinds, pool);
}

Result<std::vector<Slice>> SliceRows(PartitionedRows partitioned, const std::vector<BucketId>& buckets,
                                     const std::shared_ptr<arrow::RecordBatch>& rows,
                                     const std::shared_ptr<arrow::Array>& kinds, arrow::MemoryPool* pool) {
  std::vector<Slice> slices;
  if (rows->num_rows() == 0) return slices;
  const std::vector<Group> groups = GroupRows(partitioned, buckets);
  if (groups.size() == 1) {
    slices.push_back({std::move(partitioned.partitions[0]), groups[0].bucket, rows, kinds});
    return slices;
  }
  arrow::compute::ExecContext context(pool);
  const auto options = arrow::compute::TakeOptions::NoBoundsCheck();
  for (const Group& group : groups) {
    const auto picks = std::make_shared<arrow::Int64Array>(static_cast<int64_t>(group.rows.size()),
                                                           arrow::Buffer::Wrap(group.rows));
    HEADRACE_ASSIGN_OR_RETURN(
        const auto taken,
        arrow::compute::Take(arrow::Datum(rows), arrow::Datum(std::shared_ptr<arrow::Array>(picks)), options,
                             &context));
    Slice slice{partitioned.partitions[group.partition], group.bucket, taken.record_batch(), nullptr};
    if (kinds != nullptr) {
      HEADRACE_ASSIGN_OR_RETURN(slice.kinds, arrow::compute::Take(*kinds, *picks, options, &context));
    }
    slices.push_back(std::move(slice));
  }
  return slices;
}

}  // namespace headrace
