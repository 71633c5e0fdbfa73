#include "lsm/lookup_cache.h"

#include <utility>

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
  const auto found = shard.by_key.find(key);
  if (found == shard.by_key.end()) return nullptr;
  shard.entries.splice(shard.entries.begin(), shard.entries, found->second);
  return found->second->item;
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
    if (shard.by_key.contains(key)) return;
    shard.entries.push_front({key, source, std::move(item), bytes});
    shard.by_key.emplace(key, shard.entries.begin());
    used_bytes_ += bytes;
  }
  Shrink(own);
}

void LookupCache::Shrink(size_t first_shard) {
  std::list<Entry> given_up;  // freed after the locks
  for (size_t i = 0; i < kShards && used_bytes() > budget_bytes_; ++i) {
    Shard& shard = shards_[(first_shard + i) % kShards];
    MutexLock lock(shard.mutex);
    while (!shard.entries.empty() && used_bytes() > budget_bytes_) {
      Entry& oldest = shard.entries.back();
      used_bytes_ -= oldest.bytes;
      shard.by_key.erase(oldest.key);
      given_up.splice(given_up.begin(), shard.entries, std::prev(shard.entries.end()));
    }
  }
}

}  // namespace headrace
