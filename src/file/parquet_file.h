// One Parquet file while it is being written.
//
// Rows go into an open row group in memory; a full one goes to the store. Close() makes the file durable and hands out its
// footer. Abort(), destruction without Close(), and any error delete the file. Errors name the path; no exception leaves.
// One thread at a time. Each column's encoding follows the first rows: see encoding_choice.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <arrow/type_fwd.h>

#include "base/error.h"
#include "format/data_type.h"
#include "io/store.h"

namespace parquet {
class FileMetaData;
}

namespace headrace {

struct ParquetSettings {
  std::string compression = "zstd";  // the text of file.compression
  int32_t zstd_level = 1;
  std::optional<bool> dictionary;  // of all columns; nothing: of each by the first rows
  bool pack_integers = true;       // integers DELTA_BINARY_PACKED, unless another encoding is clearly smaller
  // Every column breaks at the same rows.
  int64_t page_rows = 20'000;
  arrow::MemoryPool* pool = nullptr;
  int64_t row_group_bytes = 64LL << 20;  // within bounds of its own: a row group is held until it is complete
};

// kUnsupported when no built codec has that name.
Status CheckParquetCompression(const std::string& compression);

class ParquetFile {
 public:
  // `first` is looked at and not written.
  static Result<std::unique_ptr<ParquetFile>> Create(Store* store, const std::string& path,
                                                     const std::vector<DataField>& fields,
                                                     const ParquetSettings& settings,
                                                     const arrow::RecordBatch& first);
  virtual ~ParquetFile() = default;

  // Columns of ToArrowSchema(fields).
  virtual Status Write(const arrow::RecordBatch& batch) = 0;
  // What the file would have if it were closed now, nearly: written, compressed, and pages still to be compressed.
  virtual int64_t EstimatedBytes() const = 0;
  virtual Result<std::shared_ptr<parquet::FileMetaData>> Close() = 0;
  virtual void Abort() = 0;

  virtual const std::string& path() const = 0;
  virtual int64_t size_bytes() const = 0;  // after Close()
};

// The pool that writers use when the caller names none: mimalloc where Arrow has it.
arrow::MemoryPool* WriterPool(arrow::MemoryPool* wanted);

}  // namespace headrace
