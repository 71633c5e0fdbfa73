// Any bytes as hint files and as the names in a folder of numbered files: lines 1 and 2 are LATEST and EARLIEST, every further line the
// name of a file. Whatever they say, the newest and the oldest file that are there are found.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "catalog/numbered_files.h"
#include "io/memory_store.h"

namespace {

std::string_view TakeLine(std::string_view* text) {
  const size_t end = std::min(text->find('\n'), text->size());
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return line;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  MemoryStore store;
  const NumberedFolder folder{&store, "/t/snapshot", "snapshot-"};
  (void)store.Replace("/t/snapshot/LATEST", TakeLine(&text));
  (void)store.Replace("/t/snapshot/EARLIEST", TakeLine(&text));
  std::set<int64_t> there;
  while (!text.empty() && there.size() < 50) {
    const std::string name(TakeLine(&text));
    if (name.find('/') != std::string::npos || !store.Replace(folder.directory + "/" + name, "x").ok())
      continue;
    if (const auto number = NumberInName(name, folder.prefix)) {
      if (*number < 0 || folder.PathOf(*number) != folder.directory + "/" + name) std::abort();
      there.insert(*number);
    }
  }
  const std::vector<int64_t> listed = ListNumbers(folder).ValueOrDie();
  if (!std::equal(listed.begin(), listed.end(), there.begin(), there.end())) std::abort();
  const auto latest = FindLatestNumber(folder).ValueOrDie();
  const auto earliest = FindEarliestNumber(folder).ValueOrDie();
  if (latest.has_value() == there.empty() || earliest.has_value() == there.empty()) std::abort();
  if (there.empty()) return 0;
  // A hint stands for a file that is there and has no neighbour beyond it; with gaps that may be one of several.
  if (!there.contains(*latest) || (*latest != *there.rbegin() && there.contains(*latest + 1))) std::abort();
  if (!there.contains(*earliest) || (*earliest != *there.begin() && there.contains(*earliest - 1)))
    std::abort();
  return 0;
}
