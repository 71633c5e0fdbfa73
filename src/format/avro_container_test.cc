#include "format/avro_container.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/avro_bytes.h"
#include "format/avro_schema.h"

namespace headrace {
namespace {

using testing::HasSubstr;

constexpr AvroCodec kCodecs[] = {AvroCodec::kNull, AvroCodec::kDeflate, AvroCodec::kSnappy, AvroCodec::kZstd};

std::string FileOf(AvroCodec codec, int records) {
  AvroFileWriter writer(R"("string")", codec, 1);
  for (int i = 0; i < records; ++i) {
    AppendAvroBytes("record number " + std::to_string(i), writer.buffer());
    EXPECT_TRUE(writer.EndRecord().ok());
  }
  return writer.Finish().ValueOrDie();
}

Result<int64_t> CountRecords(std::string_view bytes) {
  HEADRACE_ASSIGN_OR_RETURN(AvroFileReader reader, AvroFileReader::Open(bytes, "f"));
  AvroBlock block;
  int64_t records = 0;
  while (true) {
    HEADRACE_ASSIGN_OR_RETURN(bool more, reader.Next(&block));
    if (!more) return records;
    records += block.records;
  }
}

TEST(AvroContainer, EveryCodecReadsBackInSeveralBlocks) {
  for (const AvroCodec codec : kCodecs) {
    const std::string file = FileOf(codec, 20000);
    AvroFileReader reader = AvroFileReader::Open(file, "f").ValueOrDie();
    EXPECT_EQ(reader.codec(), codec);
    EXPECT_EQ(reader.schema_json(), "\"string\"");
    int64_t next = 0;
    int blocks = 0;
    AvroBlock block;
    while (reader.Next(&block).ValueOrDie()) {
      ++blocks;
      EXPECT_LT(block.bytes.size(), 65000U);
      AvroCursor cursor(block.bytes);
      for (int64_t i = 0; i < block.records; ++i) {
        std::string_view text;
        ASSERT_TRUE(cursor.TakeBytes(&text));
        EXPECT_EQ(text, "record number " + std::to_string(next++));
      }
      EXPECT_EQ(cursor.remaining(), 0U);
    }
    EXPECT_EQ(next, 20000);
    EXPECT_GT(blocks, 4);
    EXPECT_EQ(FileOf(codec, 20000), file) << "equal records give equal files";
  }
}

TEST(AvroContainer, AFileOfNothingIsAHeader) {
  for (const AvroCodec codec : kCodecs) EXPECT_EQ(*CountRecords(FileOf(codec, 0)), 0);
}

TEST(AvroContainer, EveryCutIsCorruption) {
  for (const AvroCodec codec : kCodecs) {
    const std::string file = FileOf(codec, 3);
    const size_t header = FileOf(codec, 0).size();
    for (size_t cut = 0; cut < file.size(); ++cut) {
      if (cut == header) continue;  // a header alone is a valid file
      EXPECT_TRUE(IsKind(CountRecords(file.substr(0, cut)).status(), ErrorKind::kCorruption)) << cut;
    }
  }
}

TEST(AvroContainer, FlippedBitsNeverCrashAndAreSeenInCheckedParts) {
  for (const AvroCodec codec : kCodecs) {
    const std::string file = FileOf(codec, 50);
    for (size_t bit = 0; bit < file.size() * 8; ++bit) {
      std::string damaged = file;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
      (void)CountRecords(damaged);
    }
    std::string damaged = file;
    damaged.back() = static_cast<char>(damaged.back() ^ 1);
    EXPECT_THAT(CountRecords(damaged).status().message(), HasSubstr("sync marker"));
  }
  std::string snappy = FileOf(AvroCodec::kSnappy, 50);
  snappy[snappy.size() - 17] = static_cast<char>(snappy[snappy.size() - 17] ^ 1);
  EXPECT_THAT(CountRecords(snappy).status().message(), HasSubstr("checksum"));
}

TEST(AvroCodec, AnExpandingBlockStopsAtTheLimit) {
  const std::string bomb(kMaxAvroBlockBytes + 1, 'x');
  std::string plain;
  // Made by hand, because our own writer refuses such a block.
  for (const AvroCodec codec : {AvroCodec::kDeflate, AvroCodec::kZstd}) {
    const std::string half = CompressAvroBlock(codec, 1, std::string(kMaxAvroBlockBytes, 'x')).ValueOrDie();
    EXPECT_TRUE(DecompressAvroBlock(codec, half, &plain).ok());
  }
  EXPECT_FALSE(CompressAvroBlock(AvroCodec::kZstd, 1, bomb).ok());
  std::string frames =
      CompressAvroBlock(AvroCodec::kZstd, 1, std::string(kMaxAvroBlockBytes, 'x')).ValueOrDie();
  frames += CompressAvroBlock(AvroCodec::kZstd, 1, "y").ValueOrDie();
  EXPECT_THAT(DecompressAvroBlock(AvroCodec::kZstd, frames, &plain).message(), HasSubstr("expands beyond"));
  // A snappy block that claims 30 MB in ten bytes.
  std::string claim;
  for (uint32_t size = 30U << 20; size > 0; size >>= 7)
    claim.push_back(static_cast<char>((size & 0x7F) | (size >= 0x80 ? 0x80 : 0)));
  EXPECT_THAT(DecompressAvroBlock(AvroCodec::kSnappy, claim + std::string(10, 'a'), &plain).message(),
              HasSubstr("claims"));
}

TEST(AvroCodec, BlocksThatJustFillTheBufferComeBack) {
  std::string plain;
  for (const AvroCodec codec : kCodecs) {
    for (const size_t size :
         {size_t{0}, size_t{1}, size_t{65535}, size_t{65536}, size_t{65537}, size_t{131072}}) {
      const std::string text(size, 'x');
      ASSERT_TRUE(DecompressAvroBlock(codec, CompressAvroBlock(codec, 1, text).ValueOrDie(), &plain).ok())
          << size;
      EXPECT_EQ(plain, text);
    }
  }
}

TEST(AvroCursor, LongsGoThereAndBackAndOverlongOnesAreRefused) {
  for (const int64_t value :
       {int64_t{0}, int64_t{-1}, int64_t{63}, int64_t{64}, int64_t{-65}, INT64_MAX, INT64_MIN}) {
    std::string bytes;
    AppendAvroLong(value, &bytes);
    AvroCursor cursor(bytes);
    int64_t back = 0;
    EXPECT_TRUE(cursor.TakeLong(&back));
    EXPECT_EQ(back, value);
  }
  int64_t back = 0;
  EXPECT_FALSE(AvroCursor(std::string(11, '\x80')).TakeLong(&back));
  EXPECT_FALSE(AvroCursor(std::string(9, '\xFF') + "\x02").TakeLong(&back));
  EXPECT_FALSE(AvroCursor(std::string("\x80")).TakeLong(&back));
}

TEST(SkipAvroValue, SkipsEveryType) {
  const AvroSchema schema = ParseAvroSchema(R"({"type":"record","name":"r","fields":[
    {"name":"n","type":"null"},{"name":"b","type":"boolean"},{"name":"f","type":"float"},{"name":"d","type":"double"},
    {"name":"x","type":{"type":"fixed","name":"four","size":4}},{"name":"e","type":{"type":"enum","name":"en","symbols":["A"]}},
    {"name":"a","type":{"type":"array","items":["null","long"]}},{"name":"m","type":{"type":"map","values":"string"}},
    {"name":"u","type":["null","four",{"type":"array","items":"null"}]},{"name":"t","type":{"type":"long","logicalType":"timestamp-millis"}}
  ]})",
                                            "schema")
                                .ValueOrDie();
  std::string bytes = std::string("\x01", 1) + std::string(12, 'f') + "four" + std::string("\x00", 1);
  AppendAvroLong(-2, &bytes);  // an array block with its size in bytes
  AppendAvroLong(3, &bytes);
  bytes += std::string("\x00\x02\x08", 3);
  AppendAvroLong(0, &bytes);
  AppendAvroLong(1, &bytes);
  AppendAvroBytes("key", &bytes);
  AppendAvroBytes("value", &bytes);
  AppendAvroLong(0, &bytes);
  AppendAvroLong(2, &bytes);
  AppendAvroLong(1LL << 60, &bytes);  // an array of nulls takes no bytes, however long
  AppendAvroLong(0, &bytes);
  AppendAvroLong(123456789, &bytes);
  for (size_t cut = 0; cut < bytes.size(); ++cut) {
    AvroCursor part{std::string_view(bytes).substr(0, cut)};
    EXPECT_FALSE(SkipAvroValue(schema, 0, &part)) << cut;
  }
  AvroCursor cursor(bytes);
  EXPECT_TRUE(SkipAvroValue(schema, 0, &cursor));
  EXPECT_EQ(cursor.remaining(), 0U);
}

TEST(SkipAvroValue, EndsOnHostileSchemas) {
  // Records of records of … nothing: 2^40 empty values.
  std::string fields = R"({"type":"record","name":"r0","fields":[]})";
  for (int i = 1; i <= 40; ++i) {
    const std::string n = std::to_string(i);
    fields = R"({"type":"record","name":"r)" + n + R"(","fields":[{"name":"a","type":)" + fields +
             R"(},{"name":"b","type":"r)" + std::to_string(i - 1) + R"("}]})";
  }
  const AvroSchema nothing = ParseAvroSchema(fields, "schema").ValueOrDie();
  AvroCursor empty{std::string_view()};
  EXPECT_TRUE(SkipAvroValue(nothing, 0, &empty));
  const AvroSchema itself =
      ParseAvroSchema(
          R"({"type":"record","name":"r","fields":[{"name":"a","type":"r"},{"name":"b","type":"r"}]})", "s")
          .ValueOrDie();
  EXPECT_FALSE(SkipAvroValue(itself, 0, &empty));
}

TEST(ParseAvroSchema, RefusesWhatIsNotASchema) {
  for (const char* text :
       {"", "{}", "[]", "1", R"("stringg")", R"({"type":"array"})", R"({"type":"record","name":"r"})",
        R"({"type":"record","name":"r","fields":[{"name":"a","type":"int"},{"name":"a","type":"int"}]})",
        R"({"type":"fixed","name":"f","size":-1})",
        R"([{"type":"fixed","name":"f","size":1},{"type":"fixed","name":"f","size":1}])"}) {
    EXPECT_TRUE(IsKind(ParseAvroSchema(text, "s").status(), ErrorKind::kCorruption)) << text;
  }
  std::string deep = "\"int\"";
  for (int i = 0; i < 100; ++i) deep = R"({"type":"array","items":)" + deep + "}";
  EXPECT_FALSE(ParseAvroSchema(deep, "s").ok());
}

}  // namespace
}  // namespace headrace
