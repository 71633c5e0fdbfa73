#include "format/deletion_vector.h"

#include <random>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "format/golden_files.h"
#include "format/roaring_bytes.h"

namespace headrace {
namespace {

using testing::HasSubstr;

std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return bytes;
}

std::vector<int64_t> PositionsOf(const DeletionVector& vector) {
  std::vector<int64_t> positions;
  for (int64_t at = vector.NextDeleted(0); at >= 0; at = vector.NextDeleted(at + 1)) positions.push_back(at);
  return positions;
}

DeletionVector VectorOf(const std::set<int64_t>& positions) {
  DeletionVector vector;
  for (const int64_t position : positions) vector.Delete(position);
  return vector;
}

// A vector around `bitmap` with the right length and checksum.
std::string Framed(bool bitmap64, std::string_view bitmap) {
  std::string content = FromHex(bitmap64 ? "D1D33964" : "5E43F2D0");
  content += bitmap;
  std::string bytes;
  const auto put = [&](uint32_t number) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(number >> shift));
  };
  put(static_cast<uint32_t>(content.size()));
  bytes += content;
  put(static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const unsigned char*>(content.data()), static_cast<uInt>(content.size()))));
  return bytes;
}

TEST(DeletionVector, OneDeletedRowHasTheBytesThatJavaWrites) {
  DeletionVector vector;
  EXPECT_TRUE(vector.Delete(7));
  EXPECT_FALSE(vector.Delete(7));
  const std::string narrow = FromHex("000000165E43F2D03A3000000100000000000000100000000700AC71F614");
  const std::string wide =
      FromHex("00000022D1D339640100000000000000000000003A3000000100000000000000100000000700B8E72272");
  EXPECT_EQ(vector.Encode(false).ValueOrDie(), narrow);
  EXPECT_EQ(vector.Encode(true).ValueOrDie(), wide);
  for (const std::string& bytes : {narrow, wide}) {
    const DeletionVector read = DeletionVector::Decode(bytes, "index-1").ValueOrDie();
    EXPECT_THAT(PositionsOf(read), testing::ElementsAre(7));
  }
}

TEST(DeletionVector, JavasIndexFilesReencodeToTheSameBytes) {
  int vectors = 0;
  int wide = 0;
  for (const auto& path : GoldenFiles("index", "index-")) {
    if (path.string().find("/dv-") == std::string::npos) continue;
    const std::string bytes = ReadGolden(path);
    ASSERT_EQ(bytes.at(0), 1);
    for (size_t at = 1; at < bytes.size(); ++vectors) {
      const std::string_view rest = std::string_view(bytes).substr(at);
      ASSERT_GE(rest.size(), kDeletionVectorHeadBytes);
      const DeletionVectorLength length = ReadDeletionVectorLength(rest, path.string()).ValueOrDie();
      const std::string_view block = rest.substr(0, static_cast<size_t>(length.bytes));
      const bool bitmap64 = length.bytes == length.in_manifest;
      wide += bitmap64 ? 1 : 0;
      const auto vector = DeletionVector::Decode(block, path.string());
      ASSERT_TRUE(vector.ok()) << vector.status().ToString();
      EXPECT_GT(vector->cardinality(), 0);
      EXPECT_EQ(vector->Encode(bitmap64).ValueOrDie(), block) << path;
      // Told from the positions alone: nothing of how they were stored is kept.
      DeletionVector anew;
      for (const int64_t position : PositionsOf(*vector)) anew.Delete(position);
      EXPECT_EQ(anew.Encode(bitmap64).ValueOrDie(), block) << path;
      at += block.size();
    }
  }
  EXPECT_GT(vectors, 10);
  EXPECT_GT(wide, 2);
  EXPECT_GT(vectors, wide);
}

// Sparse positions, runs, dense ranges with holes and everything at once, so that all three kinds of container come.
std::set<int64_t> RandomPositions(std::mt19937_64* random, int64_t base) {
  std::set<int64_t> positions;
  const auto number = [random](int64_t most) {
    return static_cast<int64_t>((*random)() % static_cast<uint64_t>(most));
  };
  const int64_t pieces = 1 + number(4);
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const int64_t begin = base + number(400000);
    const int64_t length = 1 + number(number(2) == 0 ? 20 : 30000);
    const int64_t every = 1 + number(4);
    for (int64_t i = 0; i < length; ++i)
      if (i == 0 || every == 1 || number(every) != 0) positions.insert(begin + i);
  }
  return positions;
}

TEST(DeletionVector, RandomVectorsAgreeWithASetAndComeBackFromTheirBytes) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 24; ++round) {
    const bool far = round % 3 == 2;
    std::set<int64_t> positions = RandomPositions(&random, 0);
    if (far) positions.merge(RandomPositions(&random, (int64_t{1} << 32) * (1 + round % 4) - 5000));
    const DeletionVector vector = VectorOf(positions);
    ASSERT_EQ(vector.cardinality(), static_cast<int64_t>(positions.size()));
    EXPECT_EQ(vector.Encode(false).ok(), !far);
    for (const bool bitmap64 : {false, true}) {
      if (far && !bitmap64) continue;
      const std::string bytes = vector.Encode(bitmap64).ValueOrDie();
      const auto read = DeletionVector::Decode(bytes, "index-1");
      ASSERT_TRUE(read.ok()) << read.status().ToString();
      EXPECT_EQ(PositionsOf(*read), std::vector<int64_t>(positions.begin(), positions.end()));
      EXPECT_EQ(read->Encode(bitmap64).ValueOrDie(), bytes);
    }
    for (int probe = 0; probe < 40; ++probe) {
      const int64_t at = static_cast<int64_t>(random() % (far ? uint64_t{18} << 30 : 440000));
      EXPECT_EQ(vector.IsDeleted(at), positions.contains(at));
      const auto next = positions.lower_bound(at);
      EXPECT_EQ(vector.NextDeleted(at), next == positions.end() ? -1 : *next);
      const int64_t width = static_cast<int64_t>(random() % 3000);
      const auto end = positions.lower_bound(at + width);
      EXPECT_EQ(vector.CountDeleted(at, at + width), std::distance(next, end));
      std::vector<uint8_t> bits(static_cast<size_t>(width + 7) / 8 + 1, 0xFF);
      vector.ClearDeleted(at, at + width, bits.data());
      for (int64_t i = 0; i < width; ++i)
        ASSERT_EQ((bits[static_cast<size_t>(i / 8)] >> (i % 8) & 1) == 0, positions.contains(at + i));
      EXPECT_EQ(bits.back(), 0xFF);
    }
  }
}

TEST(DeletionVector, APositionOfALiveRowCountsTheDeletedOnesBefore) {
  const DeletionVector vector = VectorOf({0, 1, 5, 6, 7, 100});
  std::vector<int64_t> live;
  for (int64_t i = 0; i < 6; ++i) live.push_back(vector.PositionOfLive(i));
  EXPECT_THAT(live, testing::ElementsAre(2, 3, 4, 8, 9, 10));
  EXPECT_EQ(vector.PositionOfLive(94), 99);
  EXPECT_EQ(vector.PositionOfLive(95), 101);
  EXPECT_EQ(DeletionVector().PositionOfLive(3), 3);
}

TEST(DeletionVector, CopiesDoNotShareTheirRows) {
  DeletionVector one = VectorOf({1, 2});
  DeletionVector two = one;
  two.Delete(3);
  two.MergeFrom(VectorOf({9, int64_t{1} << 40}));
  one = std::move(one);
  EXPECT_THAT(PositionsOf(one), testing::ElementsAre(1, 2));
  EXPECT_THAT(PositionsOf(two), testing::ElementsAre(1, 2, 3, 9, int64_t{1} << 40));
  EXPECT_TRUE(DeletionVector().empty());
}

TEST(DeletionVector, AnEmptyOneIsWrittenAndRead) {
  for (const bool bitmap64 : {false, true}) {
    const std::string bytes = DeletionVector().Encode(bitmap64).ValueOrDie();
    EXPECT_TRUE(DeletionVector::Decode(bytes, "index-1").ValueOrDie().empty());
  }
}

TEST(DeletionVector, APositionTooFarForTheFormIsRefused) {
  DeletionVector vector;
  vector.Delete(std::numeric_limits<int32_t>::max());
  EXPECT_TRUE(vector.Encode(false).ok());
  vector.Delete(int64_t{1} << 31);
  EXPECT_THAT(vector.Encode(false).status().message(), HasSubstr("deletion-vectors.bitmap64"));
  EXPECT_TRUE(IsKind(vector.Encode(false).status(), ErrorKind::kInvalid));
  EXPECT_TRUE(vector.Encode(true).ok());
  vector.Delete(int64_t{1} << 62);
  EXPECT_TRUE(IsKind(vector.Encode(true).status(), ErrorKind::kInvalid));
}

TEST(DeletionVector, EveryFlippedBitAndEveryCutIsCorruptionThatNamesTheFile) {
  for (const bool bitmap64 : {false, true}) {
    const std::string bytes = VectorOf({1, 2, 3, 4, 90, 70000}).Encode(bitmap64).ValueOrDie();
    for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      std::string wrong = bytes;
      wrong[bit / 8] = static_cast<char>(wrong[bit / 8] ^ 1 << (bit % 8));
      const Status status = DeletionVector::Decode(wrong, "index-1").status();
      EXPECT_TRUE(IsKind(status, ErrorKind::kCorruption)) << bit << ": " << status.ToString();
      EXPECT_THAT(status.message(), HasSubstr("index-1"));
    }
    for (size_t size = 0; size < bytes.size(); ++size)
      EXPECT_TRUE(
          IsKind(DeletionVector::Decode(bytes.substr(0, size), "index-1").status(), ErrorKind::kCorruption));
    EXPECT_TRUE(IsKind(DeletionVector::Decode(bytes + "x", "index-1").status(), ErrorKind::kCorruption));
  }
}

TEST(DeletionVector, BitmapsThatBreakTheirOwnRulesAreCorruptionWhateverTheirChecksumSays) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "it ends after 0 bytes"},
      {"FFFFFFFF", "begins with"},
      {"3A300000 FFFFFFFF", "containers"},
      {"3A300000 02000000 0000 0000 0000 0000 18000000 1A000000 0100 0100", "does not come after"},
      {"3A300000 01000000 0000 0100 10000000 0500 0400", "do not ascend"},
      {"3A300000 01000000 0000 0100 10000000 0500", "are needed"},
      {"3A300000 01000000 0000 0010 10000000 0500", "are needed"},
      {"3B300000 01 0000 0200 0100 FEFF 0200", "go too far"},
      {"3B300000 01 0000 0300 0200 0500 0100 0400 0100", "do not ascend"},
      {"3B300000 01 0000 0300 0100 0500 0100", "its runs have 2"},
      {"3A300000 01000000 0080 0000 10000000 0700", "too large for the 32-bit form"},
      {"3A300000 01000000 0000 0000 10000000 0700 00", "its length says"},
  };
  for (const auto& [hex, message] : cases) {
    std::string digits = hex;
    std::erase(digits, ' ');
    const Status status = DeletionVector::Decode(Framed(false, FromHex(digits)), "index-1").status();
    EXPECT_TRUE(IsKind(status, ErrorKind::kCorruption)) << hex;
    EXPECT_THAT(status.message(), HasSubstr(message)) << hex;
  }
  const std::vector<std::pair<std::string, std::string>> wide = {
      {"01000000", "before its number of bitmaps"},
      {"FFFFFFFFFFFFFFFF 00000000 3A300000 00000000", "bitmaps in"},
      {"0100000000000000 FFFFFF7F 3A300000 00000000", "has the key"},
      {"0200000000000000 01000000 3A300000 00000000 01000000 3A300000 00000000", "has the key"},
      {"0100000000000000 00000000 3A300000 00000000 07", "follow its last bitmap"},
  };
  for (const auto& [hex, message] : wide) {
    std::string digits = hex;
    std::erase(digits, ' ');
    const Status status = DeletionVector::Decode(Framed(true, FromHex(digits)), "index-1").status();
    EXPECT_TRUE(IsKind(status, ErrorKind::kCorruption)) << hex;
    EXPECT_THAT(status.message(), HasSubstr(message)) << hex;
  }
}

TEST(DeletionVector, ADenseBitmapWithAWrongCountIsCorruption) {
  std::set<int64_t> odd;
  for (int64_t i = 0; i < 12000; i += 2) odd.insert(i);
  const std::string bytes = VectorOf(odd).Encode(false).ValueOrDie();
  ASSERT_GT(bytes.size(), 8192u);
  std::string bitmap = bytes.substr(8, bytes.size() - 12);
  bitmap.back() = 1;
  EXPECT_THAT(DeletionVector::Decode(Framed(false, bitmap), "index-1").status().message(),
              HasSubstr("its head says 6000"));
}

}  // namespace
}  // namespace headrace
