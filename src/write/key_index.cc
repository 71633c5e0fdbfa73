#include "write/key_index.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace headrace {
namespace {

constexpr size_t kLeastSlots = 64;
constexpr size_t kChunkBytes = 1 << 20;
constexpr int kPositionBits = 20;  // inside a chunk; a longer record has a chunk of its own
constexpr int kChunkBits = 20;
constexpr int kTagBits = 64 - kPositionBits - kChunkBits;
constexpr int64_t kSlotBytes = sizeof(uint64_t);

struct RecordHead {
  KeyIndex::Place place;
  uint32_t length = 0;
};
constexpr size_t kHeadBytes = sizeof(RecordHead);

uint64_t HashOf(std::string_view key) { return std::hash<std::string_view>{}(key); }
uint64_t TagOf(uint64_t hash) { return hash >> (64 - kTagBits); }

RecordHead HeadAt(const char* record) {
  RecordHead head;
  std::memcpy(&head, record, kHeadBytes);
  return head;
}

// A power of two with a third of it free.
int64_t SlotsFor(int64_t keys) {
  int64_t slots = kLeastSlots;
  while (slots * 2 < keys * 3) slots *= 2;
  return slots;
}

}  // namespace

// A chunk's number is kept one higher, so that no record is 0.
char* KeyIndex::RecordAt(uint64_t slot) const {
  const uint64_t chunk = (slot >> kPositionBits & ((uint64_t{1} << kChunkBits) - 1)) - 1;
  const uint64_t position = slot & ((uint64_t{1} << kPositionBits) - 1);
  return const_cast<char*>(chunks_[chunk].data()) + position;
}

size_t KeyIndex::SlotOf(std::string_view key, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  for (size_t at = hash & mask;; at = (at + 1) & mask) {
    const uint64_t slot = slots_[at];
    if (slot == 0) return at;
    if (slot >> (64 - kTagBits) != TagOf(hash)) continue;
    const char* record = RecordAt(slot);
    if (std::string_view(record + kHeadBytes, HeadAt(record).length) == key) return at;
  }
}

std::optional<KeyIndex::Place> KeyIndex::Find(std::string_view key) const {
  if (slots_.empty()) return std::nullopt;
  const uint64_t slot = slots_[SlotOf(key, HashOf(key))];
  if (slot == 0) return std::nullopt;
  return HeadAt(RecordAt(slot)).place;
}

uint64_t KeyIndex::AddRecord(std::string_view key) {
  const size_t bytes = kHeadBytes + key.size();
  if (chunks_.empty() || chunk_used_ + bytes > chunks_.back().size()) {
    chunks_.emplace_back(std::max(kChunkBytes, bytes));
    chunk_bytes_ += static_cast<int64_t>(chunks_.back().size());
    chunk_used_ = 0;
  }
  const RecordHead head{{}, static_cast<uint32_t>(key.size())};
  char* record = chunks_.back().data() + chunk_used_;
  std::memcpy(record, &head, kHeadBytes);
  std::memcpy(record + kHeadBytes, key.data(), key.size());
  const uint64_t address = static_cast<uint64_t>(chunks_.size()) << kPositionBits | chunk_used_;
  chunk_used_ += bytes;
  return address;
}

void KeyIndex::Grow() {
  if (static_cast<int64_t>(slots_.size()) >= SlotsFor(count_ + 1)) return;
  std::vector<uint64_t> old(static_cast<size_t>(SlotsFor(count_ + 1)));
  old.swap(slots_);
  for (const uint64_t slot : old) {
    if (slot == 0) continue;
    const char* record = RecordAt(slot);
    const std::string_view key(record + kHeadBytes, HeadAt(record).length);
    slots_[SlotOf(key, HashOf(key))] = slot;
  }
}

void KeyIndex::Put(std::string_view key, Place place) {
  Grow();
  const uint64_t hash = HashOf(key);
  uint64_t& slot = slots_[SlotOf(key, hash)];
  if (slot == 0) {
    slot = AddRecord(key) | TagOf(hash) << (64 - kTagBits);
    ++count_;
  }
  char* record = RecordAt(slot);
  RecordHead head = HeadAt(record);
  head.place = place;
  std::memcpy(record, &head, kHeadBytes);
}

int64_t KeyIndex::memory_bytes() const {
  return static_cast<int64_t>(slots_.size()) * kSlotBytes + chunk_bytes_;
}

int64_t KeyIndex::BytesWith(int64_t keys, int64_t key_bytes) const {
  const int64_t records = key_bytes + keys * static_cast<int64_t>(kHeadBytes);
  const auto room = static_cast<int64_t>(chunks_.empty() ? 0 : chunks_.back().size() - chunk_used_);
  const int64_t chunks =
      records <= room ? 0
                      : (records / static_cast<int64_t>(kChunkBytes) + 1) * static_cast<int64_t>(kChunkBytes);
  return SlotsFor(count_ + keys) * kSlotBytes + chunk_bytes_ + chunks;
}

}  // namespace headrace
