// Standard output or a file as an Arrow stream.
//
// Pipes, terminals and devices are written to as they are. A regular file is written beside its name and takes the name when it is
// closed, so that a command that fails leaves what was there before. Errors name the output and the reason. One thread.
#pragma once

#include <memory>
#include <string>

#include <arrow/io/type_fwd.h>

#include "headrace/error.h"

namespace headrace::cli {

// Closing the stream leaves standard output open.
Result<std::shared_ptr<arrow::io::OutputStream>> OpenStandardOutput();

Result<std::shared_ptr<arrow::io::OutputStream>> OpenOutputFile(const std::string& path);

// Goes on behind the last whole line of a file, in place: what a killed run left of a line is cut off. Flushing makes it durable.
Result<std::shared_ptr<arrow::io::OutputStream>> OpenForMoreLines(const std::string& path);

}  // namespace headrace::cli
