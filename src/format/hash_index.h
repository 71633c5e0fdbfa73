// The HASH index file of one bucket: the hash of every key that was ever written to it, so that a later writer finds the bucket again.
//
// Big-endian int32 numbers one after the other, without a header and in no order; each stands once. The hash is that of the trimmed
// primary key's BinaryRow. A hash stays when its key is deleted. Pure. Source: HashIndexFile, IntFileUtils.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace headrace {

// IndexManifestEntry::index_type of such a file.
inline constexpr std::string_view kHashIndexType = "HASH";

std::string EncodeHashIndex(std::span<const int32_t> hashes);
// kCorruption naming `origin` when the bytes are no whole numbers.
Result<std::vector<int32_t>> DecodeHashIndex(std::string_view bytes, std::string_view origin);

}  // namespace headrace
