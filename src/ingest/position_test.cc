// A position as text: what each version holds, and what is refused.
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ingest/jobs.h"
#include "ingest/position.h"

namespace headrace::ingest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Position OfFiles() {
  Position position;
  position.format = "debezium-json";
  position.identifier = 3;
  position.inputs.push_back({"/data/a.jsonl", 120, 12, "00000000000000ff", false, true});
  return position;
}

Position OfEverything() {
  Position position = OfFiles();
  position.partitions = {{"orders", 0, 31}, {"orders", 1, 0}};
  position.cluster = "MkU3OEVBNTcwNTJENDM2Qg";
  position.log = LogPosition{"7301", "headrace_orders", 0xFFFFFFFFFFFFFFFFull, true};
  position.sources = {{"shop.orders", 2, 17}};
  position.sql_hash = "abc";
  return position;
}

TEST(Position, OfFilesAloneIsOfVersion1SoThatOlderProgramsGoOn) {
  const std::string text = SerializePosition(OfFiles());
  EXPECT_THAT(text, HasSubstr(R"("version":1)"));
  EXPECT_EQ(*ParsePosition(text, "here"), OfFiles());
}

TEST(Position, OfAnyOtherSourceIsOfVersion2AndComesBackWhole) {
  const std::string text = SerializePosition(OfEverything());
  EXPECT_THAT(text, HasSubstr(R"("version":2)"));
  const Result<Position> read = ParsePosition(text, "here");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, OfEverything());

  for (const auto& set :
       std::vector<std::function<void(Position*)>>{[](Position* p) {
                                                     p->partitions = {{"t", 0, 1}};
                                                   },
                                                   [](Position* p) { p->log = LogPosition{}; },
                                                   [](Position* p) {
                                                     p->sources = {{"t", 0, 1}};
                                                   },
                                                   [](Position* p) { p->sql_hash = "x"; }}) {
    Position one = OfFiles();
    set(&one);
    EXPECT_THAT(SerializePosition(one), HasSubstr(R"("version":2)"));
    EXPECT_EQ(*ParsePosition(SerializePosition(one), "here"), one);
    EXPECT_FALSE(one.SamePlaceOutsideFiles(OfFiles()));
  }
}

TEST(Position, OfANewerVersionOrOfDamagedFieldsIsRefused) {
  std::string text = SerializePosition(OfEverything());
  text.replace(text.find(R"("version":2)"), 11, R"("version":3)");
  EXPECT_EQ(KindOf(ParsePosition(text, "here").status()), ErrorKind::kUnsupported);

  const auto damaged = [](std::string_view from, std::string_view to) {
    std::string damaged_text = SerializePosition(OfEverything());
    damaged_text.replace(damaged_text.find(from), from.size(), to);
    return KindOf(ParsePosition(damaged_text, "here").status());
  };
  EXPECT_EQ(damaged(R"("nextOffset":31)", R"("nextOffset":-1)"), ErrorKind::kCorruption);
  EXPECT_EQ(damaged(R"("nextOffset":31)", R"("nextOffset":"31")"), ErrorKind::kCorruption);
  EXPECT_EQ(damaged(R"("lsn":"18446744073709551615")", R"("lsn":"1x")"), ErrorKind::kCorruption);
  EXPECT_EQ(damaged(R"("lsn":"18446744073709551615")", R"("lsn":"18446744073709551616")"),
            ErrorKind::kCorruption);
}

TEST(Position, SaysOfEverySourceWhereItStands) {
  EXPECT_THAT(PlacesOf(OfEverything()),
              ElementsAre("/data/a.jsonl to line 12", "orders/0 to offset 31", "orders/1 to offset 0",
                          "slot headrace_orders to FFFFFFFF/FFFFFFFF", "shop.orders before snapshot 17"));
}

}  // namespace
}  // namespace headrace::ingest
