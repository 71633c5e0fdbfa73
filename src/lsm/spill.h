// Sorted rows of a write buffer put aside on local disk: a run is written once, block by block, and read back in order.
//
// A block is an Arrow IPC record batch, compressed whole, of about `block_bytes`; reading holds one block of a run. Blocks never part
// the rows of one key. Rows have the columns _SEQUENCE_NUMBER, _VALUE_KIND and all of the table's. What a run takes of the scratch is
// given back when it ends, whether it was read or not. One thread a run. Source: BinaryExternalSortBuffer.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "format/table_options.h"
#include "io/scratch.h"
#include "lsm/run_reader.h"

namespace headrace {

struct SpillSpec {
  Scratch* scratch = nullptr;  // outlives every run
  SpillCodec codec = SpillCodec::kZstd;
  int32_t zstd_level = 1;
  arrow::MemoryPool* pool = nullptr;
};

class SpilledRun {
 public:
  explicit SpilledRun(SpillSpec spec) : spec_(spec) {}
  ~SpilledRun();
  SpilledRun(const SpilledRun&) = delete;
  SpilledRun& operator=(const SpilledRun&) = delete;

  // The next rows in order, as one block. On failure the run is as it was.
  Status Append(const arrow::RecordBatch& rows);

  int64_t rows() const { return rows_; }
  int64_t disk_bytes() const { return disk_bytes_; }
  size_t blocks() const { return blocks_.size(); }
  // The rows of a block; `schema` is that of the rows appended.
  Result<std::shared_ptr<arrow::RecordBatch>> Read(size_t block,
                                                   const std::shared_ptr<arrow::Schema>& schema) const;

 private:
  struct Block {
    ScratchExtent extent;
    int64_t plain_bytes = 0;
    bool compressed = false;
  };

  SpillSpec spec_;
  std::vector<Block> blocks_;
  int64_t rows_ = 0;
  int64_t disk_bytes_ = 0;
};

// All blocks of a run, one after the other. The run outlives it.
std::unique_ptr<RunBatches> ReadSpilledRun(const SpilledRun* run, std::shared_ptr<arrow::Schema> schema);

}  // namespace headrace
