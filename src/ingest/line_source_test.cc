#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ingest/line_source.h"

namespace headrace::ingest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LineSourceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("headrace-lines-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& bytes) {
    const std::string path = folder_ / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  static std::vector<std::string> ReadAll(LineSource* source) {
    std::vector<std::string> lines;
    while (true) {
      const Result<LineSource::Event> event = source->Next();
      EXPECT_TRUE(event.ok()) << event.status();
      if (!event.ok() || *event == LineSource::Event::kEnd) return lines;
      if (*event == LineSource::Event::kLine) lines.emplace_back(source->line());
    }
  }
  static InputPosition PositionOf(const LineSource& source) {
    InputPosition position;
    position.path = source.path();
    position.bytes = source.bytes();
    position.lines = source.lines();
    position.hash = source.hash();
    position.open_end = source.open_end();
    return position;
  }

  std::filesystem::path folder_;
};

TEST_F(LineSourceTest, GivesEveryLineAndTheLastOneWithoutItsEnd) {
  auto source = *LineSource::Open(Write("a", "one\n\ntwo\r\nthree"), {});
  EXPECT_THAT(ReadAll(source.get()), ElementsAre("one", "", "two\r", "three"));
  EXPECT_EQ(source->lines(), 4);
  EXPECT_EQ(source->bytes(), 15);
  EXPECT_TRUE(source->open_end());
}

TEST_F(LineSourceTest, AnEmptyFileHasNoLines) {
  auto source = *LineSource::Open(Write("a", ""), {});
  EXPECT_THAT(ReadAll(source.get()), ElementsAre());
}

TEST_F(LineSourceTest, ContinuesAfterAPosition) {
  const std::string path = Write("a", "one\ntwo\nthree\n");
  auto source = *LineSource::Open(path, {});
  ASSERT_TRUE(source->Next().ok());
  ASSERT_TRUE(source->Next().ok());
  const InputPosition position = PositionOf(*source);
  auto again = *LineSource::Open(path, {});
  ASSERT_TRUE(again->SkipTo(position, nullptr).ok());
  EXPECT_THAT(ReadAll(again.get()), ElementsAre("three"));
  EXPECT_EQ(again->lines(), 3);
  EXPECT_THAT(ReadAll(source.get()), ElementsAre("three"));
  EXPECT_EQ(again->hash(), source->hash());
}

TEST_F(LineSourceTest, RefusesOtherBytesThanThoseIngested) {
  auto source = *LineSource::Open(Write("a", "one\ntwo\n"), {});
  ReadAll(source.get());
  const InputPosition position = PositionOf(*source);
  auto changed = *LineSource::Open(Write("a", "one\ntwO\nthree\n"), {});
  EXPECT_THAT(changed->SkipTo(position, nullptr).ToString(), HasSubstr("not the same input"));
  auto shorter = *LineSource::Open(Write("a", "one\n"), {});
  EXPECT_THAT(shorter->SkipTo(position, nullptr).ToString(), HasSubstr("it has only 4"));
}

TEST_F(LineSourceTest, ALastLineWithoutEndMayGrowByItsEndOnly) {
  auto source = *LineSource::Open(Write("a", "one\ntwo"), {});
  ReadAll(source.get());
  const InputPosition position = PositionOf(*source);
  auto grown = *LineSource::Open(Write("a", "one\ntwo\nthree\n"), {});
  ASSERT_TRUE(grown->SkipTo(position, nullptr).ok());
  EXPECT_THAT(ReadAll(grown.get()), ElementsAre("three"));
  auto half = *LineSource::Open(Write("a", "one\ntwo-and-more\n"), {});
  EXPECT_THAT(half->SkipTo(position, nullptr).ToString(), HasSubstr("has grown since"));
}

TEST_F(LineSourceTest, BoundsTheLengthOfALine) {
  auto source = *LineSource::Open(Write("a", "ok\n" + std::string(3 << 20, 'x')),
                                  {.max_line_bytes = 1 << 20, .csv = false, .csv_delimiter = ','});
  ASSERT_TRUE(source->Next().ok());
  EXPECT_THAT(source->Next().status().ToString(), HasSubstr("line 2 is longer than 1048576 bytes"));
}

TEST_F(LineSourceTest, ReadsZstdAndNamesOtherPackings) {
  auto source = *LineSource::Open(std::string(HEADRACE_FIXTURES) + "/cdc/pgbench.debezium.jsonl.zst", {});
  EXPECT_EQ(ReadAll(source.get()).size(), 20040u);
  auto gzip = *LineSource::Open(Write("a.gz", "\x1F\x8B\x08 and so on"), {});
  EXPECT_THAT(gzip->Next().status().ToString(), HasSubstr("packed by gzip"));
}

TEST_F(LineSourceTest, ALineCanBeGivenBackAndIsNotInThePositionThen) {
  const std::string path = Write("a", "one\ntwo\nthree");
  auto source = *LineSource::Open(path, {});
  auto only_one = *LineSource::Open(path, {});
  ASSERT_TRUE(only_one->Next().ok());
  ASSERT_TRUE(source->Next().ok());
  ASSERT_TRUE(source->Next().ok());
  source->Unread();
  EXPECT_EQ(source->hash(), only_one->hash());
  EXPECT_EQ(source->bytes(), 4);
  EXPECT_EQ(source->lines(), 1);
  EXPECT_THAT(ReadAll(source.get()), ElementsAre("two", "three"));
}

TEST_F(LineSourceTest, PeekConsumesNothing) {
  auto source = *LineSource::Open(Write("a", "one\ntwo"), {});
  EXPECT_THAT(*source->Peek(), ElementsAre("one", "two"));
  EXPECT_THAT(ReadAll(source.get()), ElementsAre("one", "two"));
}

TEST_F(LineSourceTest, ACsvRecordRunsOnOverLineEndsInQuotes) {
  auto source = *LineSource::Open(Write("a", "a,b\n1,\"x\ny\"\"z\n\"\n2,it's \"so\"\n3,\n"),
                                  {.max_line_bytes = 1 << 20, .csv = true, .csv_delimiter = ','});
  EXPECT_THAT(ReadAll(source.get()), ElementsAre("a,b", "1,\"x\ny\"\"z\n\"", "2,it's \"so\"", "3,"));
}

TEST_F(LineSourceTest, ARecordOfTestDecodingRunsOnOverLineEndsInValues) {
  LineSourceOptions options;
  options.test_decoding = true;
  const std::string path = Write(
      "t",
      "0/1 7 BEGIN 7\n0/1 7 table public.t: INSERT: id[integer]:1 a[text]:'x\n0/2 8 BEGIN 8\n''y'\nCOMMIT 7\n"
      "message: transactional: 0 prefix: p, sz: 5 content:a\nb'c\nit's no record\n"
      "table public.\"o'\": DELETE: id[integer]:2\ntable public.t: INSERT: a[text]:'open\nend");
  auto source = *LineSource::Open(path, options);
  EXPECT_THAT(ReadAll(source.get()),
              ElementsAre("0/1 7 BEGIN 7",
                          "0/1 7 table public.t: INSERT: id[integer]:1 a[text]:'x\n0/2 8 BEGIN 8\n''y'",
                          "COMMIT 7", "message: transactional: 0 prefix: p, sz: 5 content:a\nb'c",
                          "it's no record", "table public.\"o'\": DELETE: id[integer]:2",
                          "table public.t: INSERT: a[text]:'open\nend"));
  EXPECT_EQ(source->lines(), 7);

  // Continued in the middle, and given back.
  auto first = *LineSource::Open(path, options);
  ASSERT_TRUE(first->Next().ok());
  const InputPosition position = PositionOf(*first);
  auto second = *LineSource::Open(path, options);
  ASSERT_TRUE(second->SkipTo(position, nullptr).ok());
  ASSERT_TRUE(second->Next().ok());
  const std::string record(second->line());
  second->Unread();
  ASSERT_TRUE(second->Next().ok());
  EXPECT_EQ(second->line(), record);
  EXPECT_THAT(record, HasSubstr("''y'"));
}

TEST_F(LineSourceTest, GlobsAreSortedAndMustMatch) {
  Write("b.jsonl", "");
  Write("a.jsonl", "");
  const auto paths = *ExpandInputs({folder_ / "*.jsonl", "-"});
  EXPECT_THAT(paths, ElementsAre((folder_ / "a.jsonl").string(), (folder_ / "b.jsonl").string(), "-"));
  EXPECT_FALSE(ExpandInputs({folder_ / "*.csv"}).ok());
  EXPECT_FALSE(ExpandInputs({folder_ / "nothing.jsonl"}).ok());
}

}  // namespace
}  // namespace headrace::ingest
