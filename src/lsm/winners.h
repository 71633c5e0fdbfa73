// Winners: which row of a window is the newest of its key, found without sorting where that is possible.
//
// Deduplicate only. Integer keys that lie close together mark a slot each (an array addressed by the key); other keys go through a
// hash table when order is not asked for. The rest is order and decide as for every engine. All paths pick the same rows: by
// `CompareVersions`, filtered by `TakesPart` and `Survives`. One thread; the object only keeps its memory between windows.
#pragma once

#include <cstdint>
#include <vector>

#include "lsm/merge_policy.h"
#include "lsm/segments.h"
#include "lsm/window.h"

namespace headrace {

class WinnerPicker {
 public:
  WinnerPicker(MergePolicy policy, bool by_age, bool key_ordered)
      : policy_(std::move(policy)), by_age_(by_age), key_ordered_(key_ordered) {}

  // RowRefs as OrderRows makes them: in key order if asked, else part by part (in no order of parts), ascending in each.
  void Pick(const Window& window, std::vector<RowRef>* picked);

 private:
  void PickAlone(const WindowPart& part, std::vector<RowRef>* picked) const;
  void PickOrdered(const Window& window, std::vector<RowRef>* picked);
  void PickBySlots(const Window& window, int64_t smallest, uint64_t width, std::vector<RowRef>* picked);
  void PickByHash(const Window& window, std::vector<RowRef>* picked);
  template <typename SlotOf>
  void PickMarked(const Window& window, std::vector<RowRef>* picked, SlotOf&& slot_of);
  void OrderParts(const Window& window);

  MergePolicy policy_;
  bool by_age_;
  bool key_ordered_;
  std::vector<RowRef> slots_;
  std::vector<uint32_t> part_order_;
  Segments segments_;
};

}  // namespace headrace
