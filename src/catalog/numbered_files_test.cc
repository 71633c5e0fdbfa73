#include "catalog/numbered_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/memory_store.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::Optional;

class NumberedFiles : public ::testing::Test {
 protected:
  void Put(const std::string& name, const std::string& text = "{}") {
    ASSERT_TRUE(store_.Replace("/t/snapshot/" + name, text).ok());
  }

  MemoryStore store_;
  NumberedFolder folder_{&store_, "/t/snapshot", "snapshot-"};
};

TEST_F(NumberedFiles, OnlyThePrefixAndPlainDigitsAreVersions) {
  EXPECT_THAT(NumberInName("snapshot-12", "snapshot-"), Optional(12));
  EXPECT_THAT(NumberInName("snapshot-9223372036854775807", "snapshot-"), Optional(INT64_MAX));
  for (const char* name :
       {"snapshot-", "snapshot-1a", "snapshot--1", "snapshot-01", "snapshot-99999999999999999999",
        ".snapshot-1.x.tmp", "LATEST", "snapshot-1.tmp", "schema-1", ""})
    EXPECT_EQ(NumberInName(name, "snapshot-"), std::nullopt) << name;
}

TEST_F(NumberedFiles, AnAbsentFolderHasNoVersions) {
  EXPECT_THAT(*ListNumbers(folder_), ElementsAre());
  EXPECT_EQ(*FindLatestNumber(folder_), std::nullopt);
  EXPECT_EQ(*FindEarliestNumber(folder_), std::nullopt);
}

TEST_F(NumberedFiles, ListsInNumericOrderAndPassesOverEverythingElse) {
  for (const char* name :
       {"snapshot-10", "snapshot-9", "snapshot-2", "LATEST", ".snapshot-11.u.tmp", "notes"})
    Put(name);
  EXPECT_THAT(*ListNumbers(folder_), ElementsAre(2, 9, 10));
  EXPECT_THAT(*FindLatestNumber(folder_), Optional(10));
  EXPECT_THAT(*FindEarliestNumber(folder_), Optional(2));
}

TEST_F(NumberedFiles, ALatestHintCountsOnlyWhenItsFileIsThereAndTheNextIsNot) {
  for (const char* name : {"snapshot-1", "snapshot-2", "snapshot-3"}) Put(name);
  for (const char* stale : {"1", "2", "7", "0", "-3", "x", ""}) {
    Put("LATEST", stale);
    EXPECT_THAT(*FindLatestNumber(folder_), Optional(3)) << "hint '" << stale << "'";
  }
  Put("LATEST", "3\n");
  EXPECT_THAT(*FindLatestNumber(folder_), Optional(3));
}

TEST_F(NumberedFiles, AnEarliestHintCountsOnlyWhenItsFileIsThereAndNoneBeforeIt) {
  for (const char* name : {"snapshot-4", "snapshot-5"}) Put(name);
  Put("EARLIEST", "3");
  EXPECT_THAT(*FindEarliestNumber(folder_), Optional(4));
  Put("EARLIEST", "4");
  EXPECT_THAT(*FindEarliestNumber(folder_), Optional(4));
  Put("EARLIEST", "5");  // too high: history that is there must not be passed over
  EXPECT_THAT(*FindEarliestNumber(folder_), Optional(4));
}

TEST_F(NumberedFiles, AWrittenHintIsPlainDecimalText) {
  Put("snapshot-12");
  ASSERT_TRUE(WriteLatestHint(folder_, 12).ok());
  EXPECT_EQ(*store_.ReadAll("/t/snapshot/LATEST"), "12");
}

}  // namespace
}  // namespace headrace
