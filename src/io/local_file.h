// One file of the local disk as Arrow's streams: read by position, or written once from front to back.
//
// The output makes its file, and the folders above it, when it is opened; Close() flushes its bytes to the medium and notes its folder, when
// told where; a stream dropped or aborted before removes it. One thread at a time writes. The input may be read by ReadAt from any
// number of threads.
#pragma once

#include <memory>
#include <string>

#include <arrow/io/type_fwd.h>

#include "base/error.h"
#include "io/unsynced_folders.h"

namespace headrace {

Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenLocalInput(const std::string& path);

// kAlreadyExists when something of that name is there. `unsynced` gets the file's folder; null: nothing is flushed at all.
Result<std::shared_ptr<arrow::io::OutputStream>> CreateLocalOutput(const std::string& path,
                                                                   std::shared_ptr<UnsyncedFolders> unsynced);

}  // namespace headrace
