// The rows of a merge on their way to files of one role: begun with the first row, so that no rows make no file.
//
// Rows have sequence, kind and all columns of the table. Destruction without Close() leaves no file. One thread.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "file/data_file_writer.h"
#include "lsm/key_value_batch.h"

namespace headrace {

class MergedFiles {
 public:
  // `shape` outlives it.
  MergedFiles(FileWriteSpec spec, const KeyValueShape& shape) : spec_(std::move(spec)), shape_(shape) {}

  // Null rows are none.
  Status Write(const std::shared_ptr<arrow::RecordBatch>& rows) {
    if (rows == nullptr) return Status::OK();
    if (writer_ == nullptr) {
      HEADRACE_ASSIGN_OR_RETURN(writer_, OpenKeyValueWriter(spec_));
    }
    return writer_->Write(*shape_.Assemble(*rows));
  }
  Result<std::vector<DataFileMeta>> Close() {
    if (writer_ == nullptr) return std::vector<DataFileMeta>{};
    return writer_->Close();
  }

 private:
  FileWriteSpec spec_;
  const KeyValueShape& shape_;
  std::unique_ptr<DataFileWriter> writer_;
};

}  // namespace headrace
