// Reading and writing data files in Avro, the form of rows that wait in a postponed bucket.
//
// A reader gives the same batches as one of Parquet (data_file_reader.h), column by column from the file's own schema. It holds the whole
// file, which a writer closes once it has reached the target size or what it may hold in memory. Rows keep the order they come in: the
// first and the last key of a file are no bounds, and there are no statistics. One thread. Source: AvroFileFormat, PostponeBucketWriter.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "file/data_file_reader.h"
#include "file/data_file_writer.h"

namespace headrace {

inline constexpr std::string_view kAvroExtension = ".avro";

// `written` is the schema that the file was written with.
Result<std::unique_ptr<DataFileReader>> OpenAvroDataFile(Store* store, const std::string& path,
                                                         const DataFileMeta& file, const TableSchema& written,
                                                         const FileReadOptions& options);

// Nothing where every column of a key-value file has an Avro form; else kUnsupported names the first that has none.
Status CheckAvroForm(const TableSchema& schema);

// Batches have the columns of KeyValueFields(schema), in any order of keys.
Result<std::unique_ptr<DataFileWriter>> OpenAvroKeyValueWriter(const FileWriteSpec& spec);

}  // namespace headrace
