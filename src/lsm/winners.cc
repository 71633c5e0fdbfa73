#include "lsm/winners.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <numeric>

#include "lsm/decide.h"
#include "lsm/order.h"
#include "lsm/versions.h"

namespace headrace {
namespace {

// Keys count as close together when a slot each takes at most this many slots a row.
constexpr uint64_t kSlotsPerRow = 8;

constexpr RowRef kFree{std::numeric_limits<uint32_t>::max(), 0};
bool IsFree(RowRef slot) { return slot.batch == kFree.batch; }
bool Same(RowRef a, RowRef b) { return a.batch == b.batch && a.row == b.row; }

struct KeyRange {
  int64_t smallest = std::numeric_limits<int64_t>::max();
  int64_t largest = std::numeric_limits<int64_t>::min();
};

KeyRange RangeOf(const Window& window) {
  KeyRange range;
  for (const WindowPart& part : window.parts) {
    range.smallest = std::min(range.smallest, part.rows->keys.integer(part.begin));
    range.largest = std::max(range.largest, part.rows->keys.integer(part.end - 1));
  }
  return range;
}

// Calls visit(ref) for the rows that take part, part by part in the order given.
template <typename Visit>
void ForEachVersion(const Window& window, const std::vector<uint32_t>& part_order, const MergePolicy& policy,
                    Visit&& visit) {
  for (const uint32_t p : part_order) {
    const WindowPart& part = window.parts[p];
    const int8_t* kinds = part.rows->kinds;
    for (auto row = static_cast<uint32_t>(part.begin); row < part.end; ++row) {
      if (!policy.ignore_delete || TakesPart(kinds[row], policy)) visit(RowRef{p, row});
    }
  }
}

bool IsNewerVersion(const Window& window, RowRef a, RowRef b) {
  return CompareVersions(*window.parts[b.batch].rows, b.row, *window.parts[a.batch].rows, a.row,
                         /*by_age=*/false) < 0;
}

uint64_t HashOf(const KeyColumn& keys, int64_t row) {
  if (!keys.is_integer()) return std::hash<std::string_view>{}(keys.bytes(row));
  const uint64_t mixed = static_cast<uint64_t>(keys.integer(row)) * 0x9E3779B97F4A7C15ull;
  return mixed ^ mixed >> 32;
}

}  // namespace

void WinnerPicker::Pick(const Window& window, std::vector<RowRef>* picked) {
  picked->clear();
  if (window.parts.size() == 1) return PickAlone(window.parts[0], picked);
  if (window.parts[0].rows->keys.is_integer()) {
    const KeyRange range = RangeOf(window);
    const uint64_t width = static_cast<uint64_t>(range.largest) - static_cast<uint64_t>(range.smallest);
    if (width < static_cast<uint64_t>(window.rows()) * kSlotsPerRow) {
      return PickBySlots(window, range.smallest, width + 1, picked);
    }
  }
  return key_ordered_ ? PickOrdered(window, picked) : PickByHash(window, picked);
}

void WinnerPicker::PickAlone(const WindowPart& part, std::vector<RowRef>* picked) const {
  for (int64_t row = part.begin; row < part.end; ++row) {
    const int8_t kind = part.rows->kinds[row];
    if (TakesPart(kind, policy_) && Survives(kind, policy_))
      picked->push_back({0, static_cast<uint32_t>(row)});
  }
}

void WinnerPicker::PickOrdered(const Window& window, std::vector<RowRef>* picked) {
  OrderRows(window, by_age_, &segments_);
  std::vector<const int8_t*> kinds;
  for (const WindowPart& part : window.parts) kinds.push_back(part.rows->kinds);
  DecideDeduplicate(segments_, kinds, policy_, picked);
}

void WinnerPicker::PickBySlots(const Window& window, int64_t smallest, uint64_t width,
                               std::vector<RowRef>* picked) {
  slots_.assign(width, kFree);
  PickMarked(window, picked, [&](RowRef ref) -> RowRef& {
    const int64_t key = window.parts[ref.batch].rows->keys.integer(ref.row);
    return slots_[static_cast<uint64_t>(key) - static_cast<uint64_t>(smallest)];
  });
}

void WinnerPicker::PickByHash(const Window& window, std::vector<RowRef>* picked) {
  const uint64_t mask = std::bit_ceil(static_cast<uint64_t>(window.rows()) * 2) - 1;
  slots_.assign(mask + 1, kFree);
  // Open addressing: the slot of the key, or the free one where it belongs.
  PickMarked(window, picked, [&, mask](RowRef ref) -> RowRef& {
    const KeyColumn& keys = window.parts[ref.batch].rows->keys;
    uint64_t at = HashOf(keys, ref.row) & mask;
    while (!IsFree(slots_[at]) &&
           keys.Compare(ref.row, window.parts[slots_[at].batch].rows->keys, slots_[at].row) != 0) {
      at = (at + 1) & mask;
    }
    return slots_[at];
  });
}

// Every version claims the slot of its key. Where age decides, the newest part comes first and the first claim stands.
template <typename SlotOf>
void WinnerPicker::PickMarked(const Window& window, std::vector<RowRef>* picked, SlotOf&& slot_of) {
  OrderParts(window);
  const auto hand_out = [&](RowRef ref) {
    if (Survives(window.parts[ref.batch].rows->kinds[ref.row], policy_)) picked->push_back(ref);
  };
  if (by_age_) {
    ForEachVersion(window, part_order_, policy_, [&](RowRef ref) {
      RowRef& slot = slot_of(ref);
      if (!IsFree(slot)) return;
      slot = ref;
      if (!key_ordered_) hand_out(ref);
    });
    if (!key_ordered_) return;
  } else {
    ForEachVersion(window, part_order_, policy_, [&](RowRef ref) {
      RowRef& slot = slot_of(ref);
      if (IsFree(slot) || IsNewerVersion(window, ref, slot)) slot = ref;
    });
  }
  if (!key_ordered_) {
    ForEachVersion(window, part_order_, policy_, [&](RowRef ref) {
      if (Same(slot_of(ref), ref)) hand_out(ref);
    });
    return;
  }
  // Only slots addressed by the key are in its order.
  for (const RowRef slot : slots_) {
    if (!IsFree(slot)) hand_out(slot);
  }
}

// Newest file first.
void WinnerPicker::OrderParts(const Window& window) {
  part_order_.resize(window.parts.size());
  std::iota(part_order_.begin(), part_order_.end(), 0u);
  std::sort(part_order_.begin(), part_order_.end(), [&](uint32_t a, uint32_t b) {
    return window.parts[a].rows->file->age > window.parts[b].rows->file->age;
  });
}

}  // namespace headrace
