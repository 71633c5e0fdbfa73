// Rewriting files with later sequence numbers.
#include <memory>
#include <utility>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>

#include "lsm/bucket_tree.h"
#include "lsm/key_value_batch.h"
#include "lsm/merge.h"

namespace headrace {
namespace {

Result<std::shared_ptr<arrow::Array>> Raised(const arrow::Array& numbers, int64_t raise,
                                             arrow::MemoryPool* pool) {
  const int64_t* from = static_cast<const arrow::Int64Array&>(numbers).raw_values();
  HEADRACE_ASSIGN_OR_RETURN(
      std::shared_ptr<arrow::Buffer> buffer,
      arrow::AllocateBuffer(numbers.length() * static_cast<int64_t>(sizeof(int64_t)), pool));
  auto* to = reinterpret_cast<int64_t*>(buffer->mutable_data());
  for (int64_t row = 0; row < numbers.length(); ++row) to[row] = from[row] + raise;
  return std::make_shared<arrow::Int64Array>(numbers.length(), std::move(buffer));
}

Result<std::vector<DataFileMeta>> RaiseFiles(const BucketFiles& files, FileNames* names, FileRole role,
                                             const std::vector<DataFileMeta>& metas, int64_t raise) {
  if (metas.empty()) return std::vector<DataFileMeta>{};
  ReadColumns columns{.keys = false, .sequence = true, .kind = true, .values = files.schema->ColumnNames()};
  HEADRACE_ASSIGN_OR_RETURN(const std::unique_ptr<RowStream> rows,
                            OpenConcatenation(files, metas, columns, 32768));
  HEADRACE_ASSIGN_OR_RETURN(const std::unique_ptr<DataFileWriter> writer,
                            OpenKeyValueWriter(files.WriteSpec(names, role, Level(0), FileSource::kAppend)));
  const KeyValueShape shape(*files.schema);
  while (true) {
    HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::RecordBatch> batch, rows->Next());
    if (batch == nullptr) break;
    std::vector<std::shared_ptr<arrow::Array>> columns_read = batch->columns();
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Array> numbers,
                              Raised(*columns_read[0], raise, files.pool));
    HEADRACE_RETURN_NOT_OK(writer->Write(*shape.Assemble(std::move(numbers), columns_read[1],
                                                         {columns_read.begin() + 2, columns_read.end()})));
  }
  return writer->Close();
}

}  // namespace

Result<FileIncrement> RaiseSequences(const BucketTreeSpec& spec, const FileIncrement& append, int64_t raise) {
  if (!spec.files.schema->has_primary_key()) return append;  // rows of an append table carry no number
  FileNames names(spec.uuid, *spec.files.options);
  FileIncrement raised = append;
  raised.added.clear();
  raised.changelog.clear();
  // One file at a time: files of one flush follow each other in key order, files of several flushes do not.
  const auto raise_all = [&](FileRole role, const std::vector<DataFileMeta>& metas,
                             std::vector<DataFileMeta>* into) -> Status {
    for (const DataFileMeta& meta : metas) {
      HEADRACE_ASSIGN_OR_RETURN(std::vector<DataFileMeta> files,
                                RaiseFiles(spec.files, &names, role, {meta}, raise));
      into->insert(into->end(), files.begin(), files.end());
    }
    return Status::OK();
  };
  Status status = raise_all(FileRole::kData, append.added, &raised.added);
  if (status.ok()) status = raise_all(FileRole::kChangelog, append.changelog, &raised.changelog);
  if (status.ok()) return raised;
  (void)spec.files.Delete(raised.added);
  (void)spec.files.Delete(raised.changelog);
  return status;
}

}  // namespace headrace
