// The rows of one sorted run, batch by batch, with what a merge compares: keys, sequence columns, numbers, kinds.
//
// A run is a list of files read one after the other. Keys must strictly ascend across the whole run, else kCorruption names file
// and row. Rows stay valid until the next call of Advance. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "lsm/bucket_files.h"
#include "lsm/key_order.h"
#include "lsm/merge_policy.h"
#include "lsm/sections.h"

namespace headrace {

// What a merge reads of a file, and where it finds it in the batches.
struct MergeColumns {
  ReadColumns read;
  KeyOrder key_order;
  KeyOrder sequence_order;     // no columns: versions are ordered by their numbers alone
  std::vector<int> keys;       // positions in a batch read
  std::vector<int> sequences;  // of the sequence fields
  int number = -1;             // of _SEQUENCE_NUMBER; -1: not read
  int kind = 0;                // of _VALUE_KIND
  std::vector<int> output;     // the columns handed out, in order
  std::shared_ptr<arrow::Schema> output_schema;

  // Reads `values` and whatever the merge needs besides. `numbers`: rows' sequence numbers are compared.
  static Result<MergeColumns> Make(const TableSchema& schema, const MergePolicy& policy,
                                   const std::vector<std::string>& values, bool numbers,
                                   bool hand_out_sequence_and_kind);
  std::shared_ptr<arrow::RecordBatch> Project(const arrow::RecordBatch& batch) const;
};

// A file of a merge and its place in the order of age.
struct MergeFile {
  TreeFilePtr file;    // null: rows of a write buffer
  uint32_t index = 0;  // among the files of the section
  uint32_t age = 0;    // 0 is the oldest: decides between versions that nothing else parts
};

struct LoadedRows {
  std::shared_ptr<arrow::RecordBatch> batch;
  KeyColumn keys;
  KeyColumn order;                   // of the sequence fields
  const int64_t* numbers = nullptr;  // null: not read
  const int8_t* kinds = nullptr;
  const MergeFile* file = nullptr;
  int64_t first_row = 0;  // of the batch, among the rows of its file that are not deleted
};

// The batches of a run that lies in no data file, with the columns of MergeColumns::read. Never an empty batch; null at the end.
class RunBatches {
 public:
  virtual ~RunBatches() = default;
  virtual Result<std::shared_ptr<arrow::RecordBatch>> Next() = 0;
};

class RunReader {
 public:
  RunReader(const BucketFiles* files, const MergeColumns* columns, std::vector<MergeFile> run,
            int64_t batch_rows);
  // `rows` of a write buffer. `keys_repeat`: rows of one key may follow each other, in one batch.
  RunReader(std::unique_ptr<RunBatches> batches, const MergeColumns* columns, MergeFile place, int64_t rows,
            bool keys_repeat);

  // Moves to `position` of the loaded rows, and to the next batch when that is their end. The first call loads.
  Status Advance(int64_t position);

  bool done() const { return done_; }
  const LoadedRows& rows() const { return rows_; }
  int64_t position() const { return position_; }
  int64_t size() const { return rows_.keys.size(); }
  int64_t remaining_rows() const;  // as the manifests count them

 private:
  Status LoadNext();
  Result<std::shared_ptr<arrow::RecordBatch>> NextBatch();
  Status Prepare(std::shared_ptr<arrow::RecordBatch> batch);
  Status CheckRange() const;
  Status CheckAscending() const;
  std::string NameOfRows() const;
  int64_t PositionOf(int64_t row) const;  // in the file, for messages

  const BucketFiles* files_ = nullptr;
  const MergeColumns* columns_;
  std::vector<MergeFile> run_;
  int64_t batch_rows_ = 0;
  size_t next_file_ = 0;
  std::unique_ptr<DataFileReader> reader_;
  std::unique_ptr<RunBatches> batches_;  // instead of files
  bool keys_repeat_ = false;
  LoadedRows rows_;
  std::optional<EncodedKey> last_key_;  // of the batch before
  int64_t position_ = 0;
  int64_t unread_rows_ = 0;
  bool done_ = false;
};

}  // namespace headrace
