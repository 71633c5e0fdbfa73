// What lookups keep in memory: opened files, filters of their keys, decoded keys and decoded rows; what has not been used for long is given up.
//
// One budget of bytes for everything that shares the cache; an item larger than it is not kept. Items are immutable and stay valid for whoever
// holds them after they are given up. A *source* is one file seen with certain columns; its name tells both. Sources live as
// long as somebody holds them or the cache has something of theirs.
// Thread-safe. Two threads that miss at once both make the item; the first one put in stays.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/lock.h"

namespace headrace {

class LookupCache {
 public:
  struct Source {
    std::string name;
  };
  using SourcePtr = std::shared_ptr<const Source>;

  enum class Kind : uint8_t { kFile, kKeys, kRows, kFilter };

  explicit LookupCache(int64_t budget_bytes) : budget_bytes_(budget_bytes) {}
  LookupCache(const LookupCache&) = delete;
  LookupCache& operator=(const LookupCache&) = delete;

  // The same source for the same name, as long as it lives.
  SourcePtr SourceOf(const std::string& name);

  // Null when it is not there. A kind always holds one type of item: what is asked for is what was put in.
  template <typename Item>
  std::shared_ptr<const Item> Find(const SourcePtr& source, Kind kind, size_t block) {
    return std::static_pointer_cast<const Item>(FindItem({source.get(), static_cast<uint32_t>(block), kind}));
  }
  void Put(const SourcePtr& source, Kind kind, size_t block, std::shared_ptr<const void> item, int64_t bytes);

  int64_t used_bytes() const { return used_bytes_.load(std::memory_order_relaxed); }
  int64_t budget_bytes() const { return budget_bytes_; }

 private:
  struct Key {
    const Source* source;
    uint32_t block;
    Kind kind;

    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      uint64_t hash = reinterpret_cast<uintptr_t>(key.source) ^ (uint64_t{key.block} << 34) ^
                      (static_cast<uint64_t>(key.kind) << 62);
      hash *= 0x9E3779B97F4A7C15ull;
      return hash ^ (hash >> 29);
    }
  };
  struct Entry {
    std::shared_ptr<const void> item;
    SourcePtr source;
    int64_t bytes;
    bool used;  // since it was put in, or was looked at last for being given up
  };
  // A lock for a part of the items, so that readers seldom wait for each other.
  struct Shard {
    Mutex mutex;
    std::unordered_map<Key, Entry, KeyHash> entries GUARDED_BY(mutex);
    // Oldest first. A used one whose turn has come goes to the end once more: finding an item must not touch its neighbours, which are
    // seldom in the processor's cache.
    std::deque<Key> turns GUARDED_BY(mutex);
  };
  static constexpr size_t kShards = 16;

  size_t ShardOf(const Key& key) const { return (KeyHash()(key) >> 20) % kShards; }
  std::shared_ptr<const void> FindItem(const Key& key);
  void Shrink(size_t first_shard);

  const int64_t budget_bytes_;
  std::atomic<int64_t> used_bytes_{0};
  std::array<Shard, kShards> shards_;
  Mutex sources_mutex_;
  std::unordered_map<std::string, std::weak_ptr<const Source>> sources_ GUARDED_BY(sources_mutex_);
  size_t sweep_at_ GUARDED_BY(sources_mutex_) = 256;
};

}  // namespace headrace
