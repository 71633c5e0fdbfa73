#include "lsm/decide.h"

namespace headrace {

void DecideDeduplicate(const Segments& segments, std::span<const int8_t* const> kinds,
                       const MergePolicy& policy, std::vector<RowRef>* picked) {
  const auto kind_of = [&](RowRef ref) { return kinds[ref.batch][ref.row]; };
  for (size_t i = 0; i < segments.count(); ++i) {
    const std::span<const RowRef> versions = segments[i];
    for (auto version = versions.rbegin(); version != versions.rend(); ++version) {
      const int8_t kind = kind_of(*version);
      if (!TakesPart(kind, policy)) continue;
      if (Survives(kind, policy)) picked->push_back(*version);
      break;
    }
  }
}

}  // namespace headrace
