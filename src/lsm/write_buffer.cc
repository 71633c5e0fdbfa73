// Holding rows, and sorting them for a flush.
#include "lsm/write_buffer.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/util/byte_size.h>

#include "lsm/gather.h"
#include "lsm/key_bytes.h"
#include "lsm/radix_sort.h"

namespace headrace {
namespace {

// What Sort and Gather need for a row beside its batch.
constexpr int64_t kBytesPerRow = 32;

}  // namespace

WriteBuffer::WriteBuffer(const TableSchema& schema, KeyOrder key_order, KeyOrder sequence_order,
                         MergePolicy policy, arrow::MemoryPool* pool)
    : shape_(schema),
      policy_(std::move(policy)),
      key_order_(std::move(key_order)),
      sequence_order_(std::move(sequence_order)),
      pool_(pool) {
  for (const std::string& name : policy_.sequence_columns)
    sequence_columns_.push_back(schema.FieldIndex(name));
}

Result<WriteBuffer> WriteBuffer::Make(const TableSchema& schema, MergePolicy policy,
                                      arrow::MemoryPool* pool) {
  HEADRACE_ASSIGN_OR_RETURN(KeyOrder key_order, KeyOrder::OfKey(schema.TypesOf(schema.TrimmedPrimaryKeys())));
  HEADRACE_ASSIGN_OR_RETURN(KeyOrder sequence_order, SequenceOrderOf(schema, policy));
  return WriteBuffer(schema, std::move(key_order), std::move(sequence_order), std::move(policy), pool);
}

Status WriteBuffer::Append(std::shared_ptr<arrow::RecordBatch> rows, std::shared_ptr<arrow::Array> kinds,
                           int64_t first_sequence) {
  if (rows->num_rows() == 0) return Status::OK();
  if (rows_ + rows->num_rows() > std::numeric_limits<uint32_t>::max()) {
    return OverBudget("a write buffer holds ", rows_, " rows and cannot take ", rows->num_rows(),
                      " more; flush it first");
  }
  HeldBatch held;
  HEADRACE_ASSIGN_OR_RETURN(held.keys, key_order_.Encode(ColumnsAt(*rows, shape_.key_columns())));
  if (!sequence_columns_.empty()) {
    HEADRACE_ASSIGN_OR_RETURN(held.order, sequence_order_.Encode(ColumnsAt(*rows, sequence_columns_)));
  }
  HEADRACE_ASSIGN_OR_RETURN(const int64_t batch_bytes, arrow::util::ReferencedBufferSize(*rows));
  bytes_ += batch_bytes + rows->num_rows() * kBytesPerRow;
  rows_ += rows->num_rows();
  held.kind_bytes = static_cast<const arrow::Int8Array&>(*kinds).raw_values();
  held.rows = std::move(rows);
  held.kinds = std::move(kinds);
  held.first_sequence = first_sequence;
  held_.push_back(std::move(held));
  return Status::OK();
}

void WriteBuffer::Clear() {
  held_.clear();
  rows_ = 0;
  bytes_ = 0;
}

std::vector<RowRef> WriteBuffer::Arrivals() const {
  std::vector<RowRef> refs;
  refs.reserve(static_cast<size_t>(rows_));
  for (uint32_t batch = 0; batch < held_.size(); ++batch) {
    const auto rows = static_cast<uint32_t>(held_[batch].rows->num_rows());
    for (uint32_t row = 0; row < rows; ++row) refs.push_back({batch, row});
  }
  return refs;
}

bool WriteBuffer::SortPacked(const std::vector<RowRef>& arrivals, Segments* segments) const {
  int64_t smallest = std::numeric_limits<int64_t>::max();
  int64_t largest = std::numeric_limits<int64_t>::min();
  for (const HeldBatch& held : held_) {
    for (const int64_t key : held.keys.integers()) {
      smallest = std::min(smallest, key);
      largest = std::max(largest, key);
    }
  }
  const int row_bits = std::bit_width(static_cast<uint64_t>(rows_));
  const int key_bits = std::bit_width(static_cast<uint64_t>(largest) - static_cast<uint64_t>(smallest));
  if (row_bits + key_bits > 64) return false;

  std::vector<uint64_t> words;
  words.reserve(arrivals.size());
  uint64_t arrival = 0;
  for (const HeldBatch& held : held_) {
    for (const int64_t key : held.keys.integers()) {
      words.push_back((static_cast<uint64_t>(key) - static_cast<uint64_t>(smallest)) << row_bits | arrival++);
    }
  }
  RadixSort(&words, row_bits, row_bits + key_bits);
  const uint64_t mask = (uint64_t{1} << row_bits) - 1;
  segments->rows.reserve(words.size());
  for (size_t i = 0; i < words.size(); ++i) {
    if (i == 0 || words[i - 1] >> row_bits != words[i] >> row_bits)
      segments->starts.push_back(static_cast<uint32_t>(i));
    segments->rows.push_back(arrivals[words[i] & mask]);
  }
  return true;
}

// By the keys' heads, and where heads of byte keys are equal by the whole keys.
void WriteBuffer::SortByHeads(const std::vector<RowRef>& arrivals, Segments* segments) const {
  size_t shared = std::numeric_limits<size_t>::max();
  if (!key_order_.is_integer()) {
    const std::string_view first = held_[0].keys.bytes(0);
    for (const RowRef ref : arrivals)
      shared = SharedPrefix(first, held_[ref.batch].keys.bytes(ref.row), shared);
  }
  std::vector<HeadAndRow> entries;
  entries.reserve(arrivals.size());
  for (const RowRef ref : arrivals) {
    const KeyColumn& keys = held_[ref.batch].keys;
    const uint64_t head = keys.is_integer()
                              ? static_cast<uint64_t>(keys.integer(ref.row)) ^ (uint64_t{1} << 63)
                              : HeadOf(keys.bytes(ref.row), shared);
    entries.push_back({head, static_cast<uint32_t>(entries.size())});
  }
  RadixSort(&entries);
  if (!key_order_.is_integer()) SortEqualHeads(arrivals, &entries);
  // Equal heads of integers are equal keys; of byte keys they may be.
  const auto same_key = [&](const HeadAndRow& a, const HeadAndRow& b) {
    if (a.head != b.head || key_order_.is_integer()) return a.head == b.head;
    const RowRef x = arrivals[a.row];
    const RowRef y = arrivals[b.row];
    return held_[x.batch].keys.Compare(x.row, held_[y.batch].keys, y.row) == 0;
  };
  segments->rows.reserve(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i == 0 || !same_key(entries[i - 1], entries[i])) segments->starts.push_back(static_cast<uint32_t>(i));
    segments->rows.push_back(arrivals[entries[i].row]);
  }
}

void WriteBuffer::SortEqualHeads(const std::vector<RowRef>& arrivals,
                                 std::vector<HeadAndRow>* entries) const {
  const auto before = [&](const HeadAndRow& a, const HeadAndRow& b) {
    const RowRef x = arrivals[a.row];
    const RowRef y = arrivals[b.row];
    const int order = held_[x.batch].keys.Compare(x.row, held_[y.batch].keys, y.row);
    return order != 0 ? order < 0 : a.row < b.row;
  };
  for (auto begin = entries->begin(); begin != entries->end();) {
    const auto end =
        std::find_if(begin, entries->end(), [&](const HeadAndRow& e) { return e.head != begin->head; });
    if (end - begin > 1) std::sort(begin, end, before);
    begin = end;
  }
}

Result<Segments> WriteBuffer::Sort() const {
  Segments segments;
  if (rows_ == 0) return segments;
  const std::vector<RowRef> arrivals = Arrivals();
  if (!key_order_.is_integer() || !SortPacked(arrivals, &segments)) SortByHeads(arrivals, &segments);
  if (!sequence_columns_.empty()) OrderVersions(&segments);
  return segments;
}

// Inside each segment by the sequence fields; rows that are equal there stay in the order of their numbers.
void WriteBuffer::OrderVersions(Segments* segments) const {
  for (size_t i = 0; i < segments->count(); ++i) {
    const std::span<const RowRef> versions = (*segments)[i];
    if (versions.size() < 2) continue;
    RowRef* begin = segments->rows.data() + segments->starts[i];
    std::stable_sort(begin, begin + versions.size(), [&](RowRef a, RowRef b) {
      return held_[a.batch].order.Compare(a.row, held_[b.batch].order, b.row) < 0;
    });
  }
}

std::vector<RowRef> WriteBuffer::Newest(const Segments& segments) const {
  std::vector<const int8_t*> kinds;
  for (const HeldBatch& held : held_) kinds.push_back(held.kind_bytes);
  std::vector<RowRef> newest;
  newest.reserve(segments.count());
  DecideDeduplicate(segments, kinds, policy_, &newest);
  return newest;
}

std::vector<WriteBuffer::HeldRows> WriteBuffer::Held() const {
  std::vector<HeldRows> rows;
  for (const HeldBatch& held : held_) rows.push_back({held.rows, held.kind_bytes, held.first_sequence});
  return rows;
}

Result<std::shared_ptr<arrow::RecordBatch>> WriteBuffer::Gather(std::span<const RowRef> rows) const {
  HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::RecordBatch> values, GatherValues(rows));
  return shape_.Assemble(*values);
}

Result<std::shared_ptr<arrow::RecordBatch>> WriteBuffer::GatherValues(std::span<const RowRef> rows) const {
  HEADRACE_ASSIGN_OR_RETURN(
      std::shared_ptr<arrow::Buffer> sequences,
      arrow::AllocateBuffer(static_cast<int64_t>(rows.size() * sizeof(int64_t)), pool_));
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> kinds,
                            arrow::AllocateBuffer(static_cast<int64_t>(rows.size()), pool_));
  auto* sequence = reinterpret_cast<int64_t*>(sequences->mutable_data());
  auto* kind = reinterpret_cast<int8_t*>(kinds->mutable_data());
  for (const RowRef ref : rows) {
    *sequence++ = held_[ref.batch].first_sequence + ref.row;
    *kind++ = held_[ref.batch].kind_bytes[ref.row];
  }
  const auto count = static_cast<int64_t>(rows.size());
  std::vector<std::shared_ptr<arrow::Array>> columns = {
      std::make_shared<arrow::Int64Array>(count, std::move(sequences)),
      std::make_shared<arrow::Int8Array>(count, std::move(kinds))};
  std::vector<std::shared_ptr<arrow::Array>> sources(held_.size());
  for (int c = 0; c < held_[0].rows->num_columns(); ++c) {
    for (size_t b = 0; b < held_.size(); ++b) sources[b] = held_[b].rows->column(c);
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Array> column, GatherColumn(sources, rows, pool_));
    columns.push_back(std::move(column));
  }
  return arrow::RecordBatch::Make(shape_.values_schema(), count, std::move(columns));
}

}  // namespace headrace
