// Ids as types, so that a bucket is never taken for a level nor a snapshot for a schema.
//
// An Id is a plain number of one kind: comparable, hashable, printable, never convertible to another kind.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <ostream>

namespace headrace {

template <typename Tag, typename Number>
struct Id {
  Number value{};

  constexpr Id() = default;
  constexpr explicit Id(Number v) : value(v) {}
  constexpr auto operator<=>(const Id&) const = default;
  friend std::ostream& operator<<(std::ostream& out, Id id) { return out << +id.value; }
};

using SnapshotId = Id<struct SnapshotIdTag, int64_t>;  // 1, 2, 3 …; consecutive
using SchemaId = Id<struct SchemaIdTag, int64_t>;      // 0, 1, 2 …; schema/schema-N
using BucketId = Id<struct BucketIdTag, int32_t>;      // 0 …; -2 is the postpone bucket
using Level = Id<struct LevelTag, int32_t>;            // 0 is the newest, overlapping level

}  // namespace headrace

template <typename Tag, typename Number>
struct std::hash<headrace::Id<Tag, Number>> {
  size_t operator()(headrace::Id<Tag, Number> id) const noexcept { return std::hash<Number>{}(id.value); }
};
