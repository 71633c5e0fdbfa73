// Where each key of a whole table lies: key bytes to a partition's number and a bucket.
//
// All in memory: about forty bytes and the key for each, which memory_bytes tells so that a budget can be held; nothing is put on disk, past
// the budget a write fails. A key is never forgotten.
// One thread. Source: GlobalIndexAssigner, which keeps the same map in a local RocksDB.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

class KeyIndex {
 public:
  struct Place {
    uint32_t partition = 0;
    int32_t bucket = 0;
    bool operator==(const Place&) const = default;
  };

  std::optional<Place> Find(std::string_view key) const;
  void Put(std::string_view key, Place place);

  int64_t key_count() const { return count_; }
  int64_t memory_bytes() const;
  // At most, once `keys` more of `key_bytes` together are in it.
  int64_t BytesWith(int64_t keys, int64_t key_bytes) const;

 private:
  // Of the slot that holds the key, or of the free one where it belongs. Precondition: there are slots.
  size_t SlotOf(std::string_view key, uint64_t hash) const;
  char* RecordAt(uint64_t slot) const;
  uint64_t AddRecord(std::string_view key);
  void Grow();

  // Open addressing: a slot is 0, or 24 bits of the hash above a record's chunk and position.
  std::vector<uint64_t> slots_;
  // Records lie in chunks, so that growing moves none: place, length and bytes of a key.
  std::vector<std::vector<char>> chunks_;
  size_t chunk_used_ = 0;  // of the last chunk
  int64_t chunk_bytes_ = 0;
  int64_t count_ = 0;
};

}  // namespace headrace
