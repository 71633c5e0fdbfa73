// Options about deletion vectors and where index files lie.
#include "format/option_reader.h"

namespace headrace {
namespace {

Result<double> ParseRatio(std::string_view text) {
  const std::string number(TrimAscii(text));
  char* end = nullptr;
  const double ratio = std::strtod(number.c_str(), &end);
  if (number.empty() || *end != '\0' || !(ratio >= 0 && ratio <= 1))
    return Invalid("'", text, "'; a number from 0 to 1");
  return ratio;
}

}  // namespace

Status ReadDeletionOptions(const OptionReader& options, TableOptions* out) {
  HEADRACE_RETURN_NOT_OK(options.Bool("deletion-vectors.enabled", &out->deletion_vectors));
  HEADRACE_RETURN_NOT_OK(options.Bool("deletion-vectors.bitmap64", &out->deletion_bitmap64));
  HEADRACE_RETURN_NOT_OK(options.Bool("deletion-vectors.merge-on-read", &out->deletion_merge_on_read));
  HEADRACE_RETURN_NOT_OK(options.Size("deletion-vector.index-file.target-size", &out->deletion_file_bytes));
  HEADRACE_RETURN_NOT_OK(options.Bool("index-file-in-data-file-dir", &out->index_beside_data));
  return options.Read("compaction.delete-ratio-threshold", &out->delete_ratio_threshold, ParseRatio);
}

}  // namespace headrace
