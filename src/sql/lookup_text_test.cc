// FOR SYSTEM_TIME AS OF, taken out of queries.
#include "sql/lookup_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(LookupTexts, TheClauseGoesAndEveryPlaceStaysWhatItIs) {
  const std::string query =
      "SELECT 1 FROM o JOIN shop.\"c d\" FOR SYSTEM_TIME\nAS OF o.proc_time AS c ON o.a = c.a, e for "
      "system_time as "
      "of PROCTIME() WHERE x";
  const auto taken = TakeLookups(query);
  ASSERT_TRUE(taken.ok()) << taken.status().message();
  EXPECT_EQ(taken->query.size(), query.size());
  EXPECT_EQ(taken->query.find("AS c"), query.find("AS c"));
  EXPECT_EQ(taken->query.find('\n'), query.find('\n'));
  EXPECT_THAT(taken->query, ::testing::Not(HasSubstr("SYSTEM_TIME")));
  EXPECT_THAT(taken->query, ::testing::EndsWith(" WHERE x"));
  EXPECT_THAT(taken->tables, ElementsAre(query.find("shop."), query.find("e for")));
}

TEST(LookupTexts, WhatIsInQuotesAndCommentsIsNoClause) {
  const std::string query = "SELECT 'FOR SYSTEM_TIME AS OF x' FROM t -- FOR SYSTEM_TIME AS OF x\n";
  const auto taken = TakeLookups(query);
  ASSERT_TRUE(taken.ok()) << taken.status().message();
  EXPECT_EQ(taken->query, query);
  EXPECT_THAT(taken->tables, IsEmpty());
}

TEST(LookupTexts, AnotherTimeIsRefused) {
  for (const char* time :
       {"TIMESTAMP '2026-01-01'", "now()", "o.at - INTERVAL 1 HOUR", "PROCTIME", "(o.at)", "7", ""})
    EXPECT_FALSE(TakeLookups(std::string("FROM o JOIN c FOR SYSTEM_TIME AS OF ") + time).ok()) << time;
  EXPECT_THAT(TakeLookups("FROM c FOR SYSTEM_TIME AS OF now() AS c").status().message(),
              HasSubstr("write FOR SYSTEM_TIME AS OF PROCTIME()"));
  EXPECT_THAT(TakeLookups("FROM (SELECT 1) FOR SYSTEM_TIME AS OF x").status().message(),
              HasSubstr("the name of a table before FOR"));
  EXPECT_THAT(TakeLookups("FROM c FOR SYSTEM_TIME OF x").status().message(), HasSubstr("expected AS"));
}

}  // namespace
}  // namespace headrace
