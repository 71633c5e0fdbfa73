#include "lsm/lookup_cache.h"

#include <utility>
#include <vector>

namespace headrace {
namespace {

// What an entry costs besides its item.
constexpr int64_t kEntryBytes = 192;

}  // namespace

LookupCache::SourcePtr LookupCache::SourceOf(const std::string& name) {
  MutexLock lock(sources_mutex_);
  std::weak_ptr<const Source>& known = sources_[name];
  if (SourcePtr living = known.lock()) return living;
  auto source = std::make_shared<const Source>(Source{name});
  known = source;
  if (sources_.size() >= sweep_at_) {
    std::erase_if(sources_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = 2 * sources_.size() + 256;
  }
  return source;
}

std::shared_ptr<const void> LookupCache::FindItem(const Key& key) {
  Shard& shard = shards_[ShardOf(key)];
  MutexLock lock(shard.mutex);
  const auto found = shard.entries.find(key);
  if (found == shard.entries.end()) return nullptr;
  if (!found->second.used) found->second.used = true;
  return found->second.item;
}

void LookupCache::Put(const SourcePtr& source, Kind kind, size_t block, std::shared_ptr<const void> item,
                      int64_t bytes) {
  bytes += kEntryBytes;
  if (bytes > budget_bytes_) return;
  const Key key{source.get(), static_cast<uint32_t>(block), kind};
  const size_t own = ShardOf(key);
  {
    Shard& shard = shards_[own];
    MutexLock lock(shard.mutex);
    if (shard.entries.contains(key)) return;
    shard.entries.emplace(key, Entry{std::move(item), source, bytes, /*used=*/false});
    shard.turns.push_back(key);
    used_bytes_ += bytes;
  }
  Shrink(own);
}

void LookupCache::Shrink(size_t first_shard) {
  std::vector<Entry> given_up;  // freed after the locks
  for (size_t i = 0; i < kShards && used_bytes() > budget_bytes_; ++i) {
    Shard& shard = shards_[(first_shard + i) % kShards];
    MutexLock lock(shard.mutex);
    while (!shard.turns.empty() && used_bytes() > budget_bytes_) {
      const Key key = shard.turns.front();
      shard.turns.pop_front();
      const auto oldest = shard.entries.find(key);
      if (oldest->second.used) {
        oldest->second.used = false;
        shard.turns.push_back(key);
        continue;
      }
      used_bytes_ -= oldest->second.bytes;
      given_up.push_back(std::move(oldest->second));
      shard.entries.erase(oldest);
    }
  }
}

}  // namespace headrace
