// Where rows stand once they are in order: the type between *order* and *decide*.
//
// A RowRef names a row of one of several batches. Segments list rows in key order, cut into one segment a key; inside a segment
// the oldest version comes first and the newest last. Values stay in their batches until *reduce* gathers the ones that survive.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace headrace {

struct RowRef {
  uint32_t batch = 0;
  uint32_t row = 0;
};

struct Segments {
  std::vector<RowRef> rows;
  std::vector<uint32_t> starts;  // segment i is rows[starts[i]] up to the next start, or the end

  size_t count() const { return starts.size(); }
  std::span<const RowRef> operator[](size_t i) const {
    const size_t end = i + 1 < starts.size() ? starts[i + 1] : rows.size();
    return {rows.data() + starts[i], end - starts[i]};
  }
  void clear() {
    rows.clear();
    starts.clear();
  }
};

}  // namespace headrace
