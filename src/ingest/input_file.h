// Whether a path that is to be ingested is a file that can be read more than once.
//
// An ingest looks at the beginning of a file before it reads it, and reads it again where it goes on: a pipe or a device gives its bytes once. It
// is taken as standard input alone. Looks at the disk; any thread.
#pragma once

#include <string>

#include "base/error.h"

namespace headrace::ingest {

// kNotFound when nothing is there; kInvalid, with what to do, for a folder, a pipe or a device.
Status CheckInputFile(const std::string& path);

}  // namespace headrace::ingest
