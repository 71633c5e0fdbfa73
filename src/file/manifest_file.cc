#include "file/manifest_file.h"

#include <exception>
#include <iterator>
#include <string>
#include <utility>

#include <arrow/adapters/orc/adapter.h>
#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/compute/cast.h>
#include <arrow/io/memory.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <parquet/arrow/reader.h>

namespace headrace {
namespace {

using Batches = std::vector<std::shared_ptr<arrow::RecordBatch>>;

Result<std::shared_ptr<arrow::Table>> ReadParquet(const std::shared_ptr<arrow::io::RandomAccessFile>& file) {
  parquet::ArrowReaderProperties properties(/*use_threads=*/false);
  properties.set_pre_buffer(false);
  parquet::arrow::FileReaderBuilder builder;
  HEADRACE_RETURN_NOT_OK(builder.Open(file));
  std::unique_ptr<parquet::arrow::FileReader> reader;
  HEADRACE_RETURN_NOT_OK(builder.properties(properties)->Build(&reader));
  return reader->ReadTable();
}

Result<std::shared_ptr<arrow::Table>> ReadOrc(const std::shared_ptr<arrow::io::RandomAccessFile>& file) {
  HEADRACE_ASSIGN_OR_RETURN(auto reader,
                            arrow::adapters::orc::ORCFileReader::Open(file, arrow::default_memory_pool()));
  return reader->Read();
}

// ORC's reader loads the zone of its files, UTC included, from the system's database.
bool IsAboutTimeZones(const std::string& message) {
  return message.find("ime zone") != std::string::npos || message.find("zoneinfo") != std::string::npos ||
         message.find("imezone") != std::string::npos;
}

Status Named(std::string_view origin, ManifestContainer container, const std::string& message) {
  if (container == ManifestContainer::kOrc && IsAboutTimeZones(message)) {
    return Unsupported("reading ", origin,
                       ": an ORC manifest needs the time zone database of the system (package tzdata, or ",
                       "the variable TZDIR): ", message);
  }
  return Corruption("reading ", origin, " as ", container == ManifestContainer::kOrc ? "ORC" : "Parquet",
                    ": ", message);
}

// ORC has nanoseconds only; a manifest's one timestamp has milliseconds.
Result<std::shared_ptr<arrow::ArrayData>> InMillis(const std::shared_ptr<arrow::ArrayData>& data) {
  if (data->type->id() == arrow::Type::TIMESTAMP) {
    arrow::compute::CastOptions options =
        arrow::compute::CastOptions::Safe(arrow::timestamp(arrow::TimeUnit::MILLI));
    options.allow_time_truncate = true;
    HEADRACE_ASSIGN_OR_RETURN(const arrow::Datum cast, arrow::compute::Cast(arrow::Datum(data), options));
    return cast.array();
  }
  if (data->type->id() != arrow::Type::STRUCT) return data;
  auto copy = std::make_shared<arrow::ArrayData>(*data);
  arrow::FieldVector fields = data->type->fields();
  for (size_t i = 0; i < fields.size(); ++i) {
    HEADRACE_ASSIGN_OR_RETURN(copy->child_data[i], InMillis(data->child_data[i]));
    fields[i] = fields[i]->WithType(copy->child_data[i]->type);
  }
  copy->type = arrow::struct_(std::move(fields));
  return copy;
}

Result<std::shared_ptr<arrow::RecordBatch>> InMillis(const arrow::RecordBatch& batch) {
  arrow::ArrayVector columns;
  arrow::FieldVector fields;
  for (int i = 0; i < batch.num_columns(); ++i) {
    HEADRACE_ASSIGN_OR_RETURN(const auto data, InMillis(batch.column_data(i)));
    columns.push_back(arrow::MakeArray(data));
    fields.push_back(batch.schema()->field(i)->WithType(data->type));
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), batch.num_rows(), std::move(columns));
}

Result<Batches> ToBatches(const std::shared_ptr<arrow::Table>& table) {
  HEADRACE_RETURN_NOT_OK(table->Validate());
  Batches batches;
  arrow::TableBatchReader reader(table);
  while (true) {
    HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::RecordBatch> batch, reader.Next());
    if (batch == nullptr) return batches;
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::RecordBatch> shaped, InMillis(*batch));
    batches.push_back(std::move(shaped));
  }
}

template <typename Entry, typename Decode, typename FromBatch>
Result<std::vector<Entry>> ReadAny(std::string_view bytes, std::string_view origin, Decode decode,
                                   FromBatch from_batch) {
  HEADRACE_ASSIGN_OR_RETURN(const ManifestContainer container, DetectManifestContainer(bytes, origin));
  if (container == ManifestContainer::kAvro) return decode(bytes, origin);
  HEADRACE_ASSIGN_OR_RETURN(const Batches batches, ManifestBatches(bytes, container, origin));
  std::vector<Entry> entries;
  for (const std::shared_ptr<arrow::RecordBatch>& batch : batches) {
    HEADRACE_ASSIGN_OR_RETURN(std::vector<Entry> more, from_batch(*batch, origin));
    entries.insert(entries.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  return entries;
}

}  // namespace

Result<Batches> ManifestBatches(std::string_view bytes, ManifestContainer container,
                                std::string_view origin) {
  // A copy, because columns may point into the file's bytes and outlive the caller's.
  const auto file = std::make_shared<arrow::io::BufferReader>(arrow::Buffer::FromString(std::string(bytes)));
  try {
    auto table = container == ManifestContainer::kOrc ? ReadOrc(file) : ReadParquet(file);
    if (!table.ok()) return Named(origin, container, table.status().message());
    auto batches = ToBatches(*table);
    if (!batches.ok()) return Named(origin, container, batches.status().message());
    return batches;
  } catch (const std::exception& error) {
    return Named(origin, container, error.what());
  }
}

Result<std::vector<ManifestFileMeta>> ReadManifestList(std::string_view bytes, std::string_view origin) {
  return ReadAny<ManifestFileMeta>(bytes, origin, DecodeManifestList, ManifestListFromBatch);
}

Result<std::vector<ManifestEntry>> ReadManifest(std::string_view bytes, std::string_view origin) {
  return ReadAny<ManifestEntry>(bytes, origin, DecodeManifest, ManifestFromBatch);
}

Result<std::vector<IndexManifestEntry>> ReadIndexManifest(std::string_view bytes, std::string_view origin) {
  return ReadAny<IndexManifestEntry>(bytes, origin, DecodeIndexManifest, IndexManifestFromBatch);
}

}  // namespace headrace
