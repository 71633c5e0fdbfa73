#include "write/partition_index.h"

#include <algorithm>

namespace headrace {
namespace {

constexpr size_t kLeastPlaces = 64;
constexpr int16_t kFree = -1;
constexpr int64_t kBytesAPlace = sizeof(int32_t) + sizeof(int16_t);

// A power of two with a third of it free.
int64_t PlacesFor(int64_t hashes) {
  int64_t places = kLeastPlaces;
  while (places * 2 < hashes * 3) places *= 2;
  return places;
}

}  // namespace

int64_t PartitionIndex::BytesFor(int64_t hashes) const { return PlacesFor(hashes) * kBytesAPlace; }

size_t PartitionIndex::PlaceOf(int32_t hash) const {
  const size_t mask = hashes_.size() - 1;
  size_t place = static_cast<uint32_t>(hash) & mask;
  while (buckets_[place] != kFree && hashes_[place] != hash) place = (place + 1) & mask;
  return place;
}

std::optional<BucketId> PartitionIndex::Find(int32_t hash) const {
  if (hashes_.empty()) return std::nullopt;
  const int16_t bucket = buckets_[PlaceOf(hash)];
  return bucket == kFree ? std::nullopt : std::optional(BucketId(bucket));
}

void PartitionIndex::Grow() {
  if (static_cast<int64_t>(hashes_.size()) >= PlacesFor(count_ + 1)) return;
  std::vector<int32_t> hashes(static_cast<size_t>(PlacesFor(count_ + 1)));
  std::vector<int16_t> buckets(hashes.size(), kFree);
  hashes_.swap(hashes);
  buckets_.swap(buckets);
  for (size_t old = 0; old < hashes.size(); ++old) {
    if (buckets[old] == kFree) continue;
    const size_t place = PlaceOf(hashes[old]);
    hashes_[place] = hashes[old];
    buckets_[place] = buckets[old];
  }
}

Status PartitionIndex::Put(int32_t hash, BucketId bucket) {
  Grow();
  const size_t place = PlaceOf(hash);
  if (buckets_[place] == kFree) {
    hashes_[place] = hash;
    buckets_[place] = static_cast<int16_t>(bucket.value);
    ++count_;
    ++sizes_[bucket.value];
    return Status::OK();
  }
  if (buckets_[place] == bucket.value) return Status::OK();
  return Corruption("the hash ", hash, " is in the index of bucket ", buckets_[place],
                    " and in that of bucket ", bucket);
}

Status PartitionIndex::Load(BucketId bucket, std::span<const int32_t> hashes) {
  if (bucket.value < 0 || bucket.value >= kMostDynamicBuckets)
    return Corruption("a hash index of bucket ", bucket, "; dynamic buckets have the numbers 0 to ",
                      kMostDynamicBuckets - 1);
  sizes_.try_emplace(bucket.value, 0);
  for (const int32_t hash : hashes) HEADRACE_RETURN_NOT_OK(Put(hash, bucket));
  return Status::OK();
}

Result<BucketId> PartitionIndex::BucketForNew() {
  for (auto it = sizes_.lower_bound(first_with_room_); it != sizes_.end(); ++it) {
    first_with_room_ = it->first;
    if (it->second < target_rows_) return BucketId(it->first);
  }
  int32_t& free = lowest_free_;
  while (sizes_.contains(free)) ++free;
  if (free < most_buckets_.value_or(kMostDynamicBuckets)) {
    first_with_room_ = std::min(first_with_room_, free);
    return BucketId(free);
  }
  if (!most_buckets_.has_value())
    return Unsupported("all ", kMostDynamicBuckets, " buckets that a partition can have hold ", target_rows_,
                       " keys each; raise the table option dynamic-bucket.target-row-num");
  const auto smallest = std::min_element(sizes_.begin(), sizes_.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
  return BucketId(smallest->first);
}

Result<BucketId> PartitionIndex::Assign(int32_t hash) {
  if (const auto known = Find(hash); known.has_value()) return *known;
  HEADRACE_ASSIGN_OR_RETURN(const BucketId bucket, BucketForNew());
  HEADRACE_RETURN_NOT_OK(Put(hash, bucket));
  return bucket;
}

int64_t PartitionIndex::HashesIn(BucketId bucket) const {
  const auto it = sizes_.find(bucket.value);
  return it == sizes_.end() ? 0 : it->second;
}

std::map<BucketId, std::vector<int32_t>> PartitionIndex::HashesOf(std::span<const BucketId> buckets) const {
  std::map<BucketId, std::vector<int32_t>> found;
  for (const BucketId bucket : buckets) found[bucket].reserve(static_cast<size_t>(HashesIn(bucket)));
  for (size_t place = 0; place < hashes_.size(); ++place) {
    if (buckets_[place] == kFree) continue;
    const auto it = found.find(BucketId(buckets_[place]));
    if (it != found.end()) it->second.push_back(hashes_[place]);
  }
  return found;
}

}  // namespace headrace
