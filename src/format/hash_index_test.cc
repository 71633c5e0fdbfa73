#include "format/hash_index.h"

#include <climits>
#include <cstdint>
#include <filesystem>
#include <set>

#include <gtest/gtest.h>

#include "format/golden_files.h"

namespace headrace {
namespace {

TEST(HashIndex, IsBigEndianNumbersAndNothingElse) {
  const std::vector<int32_t> hashes = {1, -2, INT32_MIN};
  EXPECT_EQ(EncodeHashIndex(hashes), std::string("\0\0\0\1\xff\xff\xff\xfe\x80\0\0\0", 12));
  EXPECT_EQ(*DecodeHashIndex(EncodeHashIndex(hashes), "f"), hashes);
  EXPECT_TRUE(DecodeHashIndex("", "f")->empty());
}

TEST(HashIndex, OfAPartOfANumberIsDamage) {
  const auto decoded = DecodeHashIndex(std::string(7, '\0'), "index-1");
  EXPECT_TRUE(IsKind(decoded.status(), ErrorKind::kCorruption));
  EXPECT_NE(decoded.status().message().find("index-1: 7 bytes"), std::string::npos);
}

TEST(HashIndex, OfJavaIsReadAndWrittenByteForByte) {
  int files = 0;
  for (const std::filesystem::path& file : GoldenFiles("index", "index-")) {
    if (file.string().find("/bucket-dynamic/") == std::string::npos) continue;
    const std::string bytes = ReadGolden(file);
    const auto hashes = DecodeHashIndex(bytes, file.string());
    ASSERT_TRUE(hashes.ok()) << hashes.status().message();
    EXPECT_EQ(EncodeHashIndex(*hashes), bytes);
    EXPECT_EQ(std::set<int32_t>(hashes->begin(), hashes->end()).size(), hashes->size());
    ++files;
  }
  EXPECT_EQ(files, 16);
}

}  // namespace
}  // namespace headrace
