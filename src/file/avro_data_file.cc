#include "file/avro_data_file.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "file/evolve.h"
#include "file/physical_columns.h"
#include "format/avro_container.h"
#include "format/avro_rows.h"
#include "format/column_stats.h"

namespace headrace {
namespace {

// Where one column that is handed out comes from.
struct Source {
  DataField wanted;
  DataType written;
  int column = -1;  // among those decoded; -1: all null
};

class AvroReader final : public DataFileReader {
 public:
  AvroReader(std::string path, int64_t rows, const FileReadOptions& options)
      : path_(std::move(path)),
        rows_(rows),
        batch_rows_(std::max<int64_t>(1, options.batch_rows)),
        pool_(options.pool == nullptr ? arrow::default_memory_pool() : options.pool) {}

  Status Open(std::string bytes, const TableSchema& table, const TableSchema& written,
              const ReadColumns& columns) {
    bytes_ = std::move(bytes);
    HEADRACE_ASSIGN_OR_RETURN(reader_, AvroFileReader::Open(bytes_, path_));
    HEADRACE_ASSIGN_OR_RETURN(AvroSchema schema, ParseAvroSchema(reader_->schema_json(), path_));
    const std::vector<std::string> names = schema.at(0).names;
    HEADRACE_RETURN_NOT_OK(FindColumns(table, written, columns, names));
    HEADRACE_ASSIGN_OR_RETURN(decoder_, AvroRowDecoder::Make(std::move(schema), decoded_, path_, pool_));
    std::vector<DataField> fields;
    for (const Source& source : sources_) fields.push_back(source.wanted);
    schema_ = ToArrowSchema(fields);
    return Status::OK();
  }

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    int64_t taken = 0;
    for (; taken < batch_rows_; ++taken) {
      HEADRACE_ASSIGN_OR_RETURN(const bool more, NextRecord());
      if (!more) break;
    }
    rows_read_ += taken;
    // Said at once: records of nothing but nulls cost a damaged file no bytes, and might have no end.
    if (rows_read_ > rows_)
      return Corruption("reading ", path_, ": the file has more rows than the ", rows_,
                        " of its manifest entry");
    if (taken == 0 && rows_read_ != rows_)
      return Corruption("reading ", path_, ": the file has ", rows_read_, " rows, its manifest entry says ",
                        rows_);
    if (taken == 0) return nullptr;
    return Shape(taken);
  }

 private:
  // False at the end of the file.
  Result<bool> NextRecord() {
    while (left_in_block_ == 0) {
      AvroBlock block;
      HEADRACE_ASSIGN_OR_RETURN(const bool more, reader_->Next(&block));
      if (!more) return false;
      left_in_block_ = block.records;
      cursor_.emplace(block.bytes);
    }
    HEADRACE_ASSIGN_OR_RETURN(const bool taken, decoder_->TakeRow(&*cursor_));
    if (!taken)
      return Corruption("reading ", path_, ": the record after ", rows_read_, " rows and some is damaged");
    --left_in_block_;
    if (left_in_block_ == 0 && cursor_->remaining() != 0)
      return Corruption("reading ", path_, ": ", cursor_->remaining(),
                        " bytes behind the last record of a block");
    return true;
  }

  Status FindColumns(const TableSchema& table, const TableSchema& written, const ReadColumns& columns,
                     const std::vector<std::string>& names) {
    const auto in_file = [&](const std::string& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (columns.keys) {
      for (const DataField& key : KeyFields(table)) {
        const DataField* field = FindFieldById(written.fields, key.id - kKeyFieldIdBase);
        if (field == nullptr)
          return Corruption("reading ", path_, ": schema ", written.id, " has no key column for ", key.name);
        const std::string copy = std::string(kKeyPrefix) + field->name;
        HEADRACE_RETURN_NOT_OK(Add(key, field->type, in_file(copy) ? copy : field->name));
      }
    }
    const std::vector<DataField> own = SequenceAndKindFields();
    if (columns.sequence) HEADRACE_RETURN_NOT_OK(Add(own[0], own[0].type, own[0].name));
    if (columns.kind) HEADRACE_RETURN_NOT_OK(Add(own[1], own[1].type, own[1].name));
    for (const std::string& name : columns.values) {
      const int index = table.FieldIndex(name);
      if (index < 0) return NotFound("reading ", path_, ": the table has no column \"", name, "\"");
      const DataField& wanted = table.fields[static_cast<size_t>(index)];
      const DataField* field = FindFieldById(written.fields, wanted.id);
      if (field == nullptr)
        sources_.push_back({wanted, wanted.type, -1});
      else
        HEADRACE_RETURN_NOT_OK(Add(wanted, field->type, field->name));
    }
    return Status::OK();
  }

  Status Add(const DataField& wanted, const DataType& type, const std::string& name) {
    const Status widens = CheckWidening(wanted.name, type, wanted.type);
    if (!widens.ok()) return WithContext("reading " + path_, widens);
    const auto known = std::find_if(decoded_.begin(), decoded_.end(),
                                    [&](const DataField& field) { return field.name == name; });
    sources_.push_back({wanted, type, static_cast<int>(known - decoded_.begin())});
    if (known == decoded_.end()) decoded_.push_back({wanted.id, name, type, {}, {}});
    return Status::OK();
  }

  Result<std::shared_ptr<arrow::RecordBatch>> Shape(int64_t rows) {
    HEADRACE_ASSIGN_OR_RETURN(const arrow::ArrayVector decoded, decoder_->Finish());
    arrow::ArrayVector columns;
    for (const Source& source : sources_) {
      std::shared_ptr<arrow::Array> column;
      if (source.column < 0) {
        HEADRACE_ASSIGN_OR_RETURN(column,
                                  arrow::MakeArrayOfNull(ToArrowType(source.wanted.type), rows, pool_));
      } else {
        auto evolved = EvolveColumn(source.wanted.name, decoded[static_cast<size_t>(source.column)],
                                    source.written, source.wanted.type, pool_);
        if (!evolved.ok()) return WithContext("reading " + path_, evolved.status());
        column = std::move(evolved).ValueUnsafe();
      }
      columns.push_back(std::move(column));
    }
    return arrow::RecordBatch::Make(schema_, rows, std::move(columns));
  }

  const std::string path_;
  const int64_t rows_;
  const int64_t batch_rows_;
  arrow::MemoryPool* const pool_;
  std::string bytes_;
  std::optional<AvroFileReader> reader_;
  std::vector<DataField> decoded_;  // named as in the file
  std::vector<Source> sources_;
  std::unique_ptr<AvroRowDecoder> decoder_;
  std::shared_ptr<arrow::Schema> schema_;
  std::optional<AvroCursor> cursor_;  // in the block that is read
  int64_t left_in_block_ = 0;
  int64_t rows_read_ = 0;
};

class AvroWriter final : public DataFileWriter {
 public:
  AvroWriter(const FileWriteSpec& spec, std::string schema_json, AvroCodec codec)
      : spec_(spec),
        fields_(KeyValueFields(*spec.schema)),
        keys_(spec.schema->TrimmedPrimaryKeys()),
        schema_json_(std::move(schema_json)),
        codec_(codec),
        most_bytes_(std::max<int64_t>(1, std::min(spec.options->target_file_bytes, spec.memory_bytes))) {}
  ~AvroWriter() override { Abort(); }

  Status Write(const arrow::RecordBatch& batch) override {
    if (done_) return Invalid("writing into ", spec_.directory, ": the writer is closed or has failed");
    const Status status = WriteRows(batch);
    if (!status.ok()) Abort();
    return status;
  }

  Result<std::vector<DataFileMeta>> Close() override {
    if (done_) return Invalid("closing files in ", spec_.directory, ": the writer is closed or has failed");
    const Status status = CloseFile();
    if (!status.ok()) {
      Abort();
      return status;
    }
    done_ = true;
    return std::move(files_);
  }

  void Abort() override {
    if (done_) return;
    done_ = true;
    for (const DataFileMeta& file : files_) (void)spec_.store->Delete(PathOf(file.name));
    files_.clear();
  }

  int64_t row_count() const override { return row_count_; }

 private:
  std::string PathOf(const std::string& name) const { return spec_.directory + "/" + name; }

  Status WriteRows(const arrow::RecordBatch& batch) {
    const size_t kind_column = keys_.size() + 1;
    HEADRACE_ASSIGN_OR_RETURN(const auto rows, AvroRowEncoder::Make(fields_, batch.columns()));
    HEADRACE_ASSIGN_OR_RETURN(
        const auto keys, BinaryRowEncoder::Make(
                             spec_.schema->TypesOf(keys_),
                             arrow::ArrayVector(batch.columns().begin(),
                                                batch.columns().begin() + static_cast<long>(keys_.size()))));
    const auto& kinds = static_cast<const arrow::Int8Array&>(*batch.column(static_cast<int>(kind_column)));
    for (int64_t row = 0; row < batch.num_rows(); ++row) {
      if (!file_.has_value()) OpenFile();
      if (open_.row_count == 0) {
        HEADRACE_ASSIGN_OR_RETURN(open_.min_key, KeyAt(keys.get(), row));
      }
      std::string* buffer = file_->buffer();
      const size_t before = buffer->size();
      HEADRACE_RETURN_NOT_OK(rows->AppendRow(row, buffer));
      plain_bytes_ += static_cast<int64_t>(buffer->size() - before);
      HEADRACE_RETURN_NOT_OK(file_->EndRecord());
      ++open_.row_count;
      ++row_count_;
      *open_.delete_row_count += IsRetract(kinds.Value(row)) ? 1 : 0;
      const bool full = plain_bytes_ >= most_bytes_;
      if (full || row + 1 == batch.num_rows()) {
        HEADRACE_ASSIGN_OR_RETURN(open_.max_key, KeyAt(keys.get(), row));
      }
      if (full) HEADRACE_RETURN_NOT_OK(CloseFile());
    }
    return Status::OK();
  }

  Result<BinaryRow> KeyAt(BinaryRowEncoder* keys, int64_t row) const {
    HEADRACE_ASSIGN_OR_RETURN(const std::string_view bytes, keys->EncodeRow(row));
    return BinaryRow{static_cast<int32_t>(keys_.size()), std::string(bytes)};
  }

  void OpenFile() {
    file_.emplace(schema_json_, codec_, spec_.options->zstd_level);
    plain_bytes_ = 0;
    open_ = DataFileMeta{};
    const std::string name = spec_.names->NextData();
    open_.name = name.substr(0, name.rfind('.')) + std::string(kAvroExtension);
    open_.delete_row_count = 0;
    open_.min_sequence = open_.max_sequence = -1;
    open_.schema_id = spec_.schema->id;
    open_.level = spec_.level;
    open_.source = spec_.source;
  }

  Status CloseFile() {
    if (!file_.has_value()) return Status::OK();
    HEADRACE_ASSIGN_OR_RETURN(const std::string bytes, file_->Finish());
    file_.reset();
    open_.size_bytes = static_cast<int64_t>(bytes.size());
    HEADRACE_RETURN_NOT_OK(NoStats());
    HEADRACE_ASSIGN_OR_RETURN(const auto out, spec_.store->OpenForWrite(PathOf(open_.name)));
    files_.push_back(open_);  // listed at once, so that Abort() deletes it
    HEADRACE_RETURN_NOT_OK(out->Write(bytes.data(), open_.size_bytes));
    HEADRACE_RETURN_NOT_OK(out->Close());
    files_.back().creation_local_ms = spec_.clock->LocalNowMs();
    return Status::OK();
  }

  Status NoStats() {
    const std::vector<DataField> key_fields(fields_.begin(),
                                            fields_.begin() + static_cast<long>(keys_.size()));
    HEADRACE_ASSIGN_OR_RETURN(StoredStats keys, BuildStats(std::vector<ColumnStats>(key_fields.size()),
                                                           key_fields, /*dense=*/false));
    HEADRACE_ASSIGN_OR_RETURN(StoredStats values,
                              BuildStats(std::vector<ColumnStats>(spec_.schema->fields.size()),
                                         spec_.schema->fields, spec_.options->stats_dense_store));
    open_.key_stats = std::move(keys.stats);
    open_.value_stats = std::move(values.stats);
    open_.value_stats_columns = std::move(values.columns);
    return Status::OK();
  }

  const FileWriteSpec spec_;
  const std::vector<DataField> fields_;
  const std::vector<std::string> keys_;
  const std::string schema_json_;
  const AvroCodec codec_;
  const int64_t most_bytes_;
  std::optional<AvroFileWriter> file_;
  int64_t plain_bytes_ = 0;  // of the open file
  DataFileMeta open_;
  std::vector<DataFileMeta> files_;  // closed and durable
  int64_t row_count_ = 0;
  bool done_ = false;
};

}  // namespace

Result<std::unique_ptr<DataFileReader>> OpenAvroDataFile(Store* store, const std::string& path,
                                                         const DataFileMeta& file, const TableSchema& written,
                                                         const FileReadOptions& options) {
  HEADRACE_ASSIGN_OR_RETURN(std::string bytes, store->ReadAll(path));
  if (file.size_bytes != 0 && static_cast<int64_t>(bytes.size()) != file.size_bytes) {
    return Corruption("reading ", path, ": the file has ", bytes.size(), " bytes, its manifest entry says ",
                      file.size_bytes);
  }
  auto reader = std::make_unique<AvroReader>(path, file.row_count, options);
  HEADRACE_RETURN_NOT_OK(reader->Open(std::move(bytes), *options.table_schema, written, options.columns));
  return reader;
}

Status CheckAvroForm(const TableSchema& schema) { return AvroSchemaOf(KeyValueFields(schema)).status(); }

Result<std::unique_ptr<DataFileWriter>> OpenAvroKeyValueWriter(const FileWriteSpec& spec) {
  HEADRACE_ASSIGN_OR_RETURN(std::string schema, AvroSchemaOf(KeyValueFields(*spec.schema)));
  const auto codec = AvroCodecFromOption(spec.options->file_compression);
  // Avro knows no such codec (lz4, say); rows that wait need not be small.
  return std::make_unique<AvroWriter>(spec, std::move(schema), codec.ok() ? *codec : AvroCodec::kZstd);
}

}  // namespace headrace
