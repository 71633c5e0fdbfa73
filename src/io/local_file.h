// One file of the local disk as Arrow's streams: read by position, or written once from front to back.
//
// The output makes its file, and the folders above it, when it is opened; Close() flushes it to the medium when `sync` is set; a stream dropped
// or aborted before removes it. One thread at a time writes. The input may be read by ReadAt from any number of threads.
#pragma once

#include <memory>
#include <string>

#include <arrow/io/type_fwd.h>

#include "base/error.h"

namespace headrace {

Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenLocalInput(const std::string& path);

// kAlreadyExists when something of that name is there.
Result<std::shared_ptr<arrow::io::OutputStream>> CreateLocalOutput(const std::string& path, bool sync);

}  // namespace headrace
