#include "ingest/input_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace headrace::ingest {

Status CheckInputFile(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    return errno == ENOENT ? NotFound("opening the input ", path, ": there is no such file")
                           : IoError("opening the input ", path, ": ", std::strerror(errno));
  }
  if (S_ISREG(info.st_mode)) return Status::OK();
  if (S_ISDIR(info.st_mode)) {
    return Invalid("opening the input ", path, ": it is a folder; give its files, as in '", path,
                   "/*.jsonl'");
  }
  return Invalid(
      "opening the input ", path,
      ": it is a pipe or a device, whose bytes can be read only once; give it as standard input, which is "
      "written -, with a --job of its own");
}

}  // namespace headrace::ingest
