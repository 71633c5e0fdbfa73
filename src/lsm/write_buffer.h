// The rows a bucket's writer holds in memory until a flush.
//
// Append takes numbered rows; Sort brings them into the order of a data file: key, then the sequence fields in their direction
// (nulls lowest), then the sequence number. Nothing is merged before the flush, so that a changelog can have every row. Memory
// is accounted by the batches held. One thread. Source: SortBufferWriteBuffer.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "format/table_schema.h"
#include "lsm/decide.h"
#include "lsm/key_order.h"
#include "lsm/key_value_batch.h"
#include "lsm/merge_policy.h"
#include "lsm/radix_sort.h"
#include "lsm/segments.h"

namespace headrace {

class WriteBuffer {
 public:
  static Result<WriteBuffer> Make(const TableSchema& schema, MergePolicy policy, arrow::MemoryPool* pool);

  // `rows` has all columns of the schema; `kinds` is int8 without nulls, one a row. The rows get `first_sequence`, +1, …; calls
  // come with ascending numbers.
  Status Append(std::shared_ptr<arrow::RecordBatch> rows, std::shared_ptr<arrow::Array> kinds,
                int64_t first_sequence);

  const MergePolicy& policy() const { return policy_; }
  int64_t rows() const { return rows_; }
  int64_t bytes() const { return bytes_; }
  void Clear();

  // All rows in order, one segment a key. RowRefs are positions in the appended batches.
  Result<Segments> Sort() const;
  // The result of each segment where the newest row wins: at most one row.
  std::vector<RowRef> Newest(const Segments& segments) const;
  // The batches that RowRefs point into.
  struct HeldRows {
    std::shared_ptr<arrow::RecordBatch> rows;
    const int8_t* kinds = nullptr;
    int64_t first_sequence = 0;
  };
  std::vector<HeldRows> Held() const;
  // These rows in the shape of a key-value file.
  Result<std::shared_ptr<arrow::RecordBatch>> Gather(std::span<const RowRef> rows) const;
  // The same without the copies of the keys: sequence, kind, all columns.
  Result<std::shared_ptr<arrow::RecordBatch>> GatherValues(std::span<const RowRef> rows) const;

 private:
  struct HeldBatch {
    std::shared_ptr<arrow::RecordBatch> rows;
    std::shared_ptr<arrow::Array> kinds;
    const int8_t* kind_bytes = nullptr;
    int64_t first_sequence = 0;
    KeyColumn keys;
    KeyColumn order;  // of the sequence fields; unused without them
  };

  WriteBuffer(const TableSchema& schema, KeyOrder key_order, KeyOrder sequence_order, MergePolicy policy,
              arrow::MemoryPool* pool);

  std::vector<RowRef> Arrivals() const;
  // Key and arrival in one word each; false when the bits do not fit.
  bool SortPacked(const std::vector<RowRef>& arrivals, Segments* segments) const;
  void SortByHeads(const std::vector<RowRef>& arrivals, Segments* segments) const;
  void SortEqualHeads(const std::vector<RowRef>& arrivals, std::vector<HeadAndRow>* entries) const;
  void OrderVersions(Segments* segments) const;

  KeyValueShape shape_;
  MergePolicy policy_;
  KeyOrder key_order_;
  KeyOrder sequence_order_;
  std::vector<int> sequence_columns_;
  arrow::MemoryPool* pool_;
  std::vector<HeldBatch> held_;
  int64_t rows_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace headrace
