// The language itself: what is read is printed alike, and mistakes are told with their line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scenarios/play.h"

namespace headrace::scenario {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kEveryStatement[] = R"(# Every statement of the language.
#
# Printed as it was read.

store local

memory 1 mb with scratch

create t
  columns p STRING, id INT, v STRING
  primary key p, id
  partitioned by p
  option bucket = 2

write
  +I a, 1, 'x, ''y'''
  -D a, 2, null
  +U a, 3, ''

write w1
  +I a, 4, 'null'

flush w1

compact full w1

prepare w1 as 7

commit w1 again

commit w2 as 8 once

commit overtaken by w1

together w1, w2

close w1

restart

compact table full

expire

overwrite where p = a
  nothing

fail at 3 tear-and-stop counting changes in /bucket-

try commit

heal

clock +60000 ms

alter
  option write-only = true
  unset bucket

rename t to u

use u

read at 2 ordered columns id, v
  1, x

get at 3 a, 1
  a, 1, x

expect error not-found containing no such snapshot
read at 99

changes from 2 to 3 columns id
  +I 1
  -D 2

stream-visible at 2
  nothing

snapshots
  1 APPEND

levels
  bucket-0: L0

check

drop u
)";

TEST(Language, PrintsWhatItReads) {
  const auto scenario = ParseScenario(kEveryStatement, "test");
  ASSERT_TRUE(scenario.ok()) << scenario.status();
  EXPECT_EQ(Print(*scenario), kEveryStatement);
}

std::string MistakeIn(const std::string& text) {
  const auto scenario = ParseScenario(text, "f.scenario");
  return scenario.ok() ? "none" : scenario.status().message();
}

TEST(Language, TellsTheLineOfAMistake) {
  EXPECT_THAT(MistakeIn("restart\n\nfrobnicate 3\n"),
              StartsWith("f.scenario:3: 'frobnicate' is not a statement"));
  EXPECT_THAT(MistakeIn("  +I 1\n"), StartsWith("f.scenario:1: an indented line"));
  EXPECT_THAT(MistakeIn("write\n  +I 1, 'a\n"), StartsWith("f.scenario:2: a quote is not closed"));
  EXPECT_THAT(MistakeIn("write\n  +I 1,, 2\n"), StartsWith("f.scenario:2: a value is missing"));
  EXPECT_THAT(MistakeIn("write w 1\n  +I 1\n"), StartsWith("f.scenario:1: '1' is not understood"));
  EXPECT_THAT(MistakeIn("create t\n  columns id INT\n  bucket = 1\n"), StartsWith("f.scenario:3: "));
  EXPECT_THAT(MistakeIn("create t\n"), HasSubstr("needs a line 'columns"));
  EXPECT_THAT(MistakeIn("read at two\n  1\n"), StartsWith("f.scenario:1: 'two' is not a number"));
  EXPECT_THAT(MistakeIn("read\n"), StartsWith("f.scenario:1: rows are missing"));
  EXPECT_THAT(MistakeIn("fail at 1 explode\n"), HasSubstr("is not a fault: fail, stop, tear-and-stop"));
  EXPECT_THAT(MistakeIn("expect error odd\nrestart\n"),
              HasSubstr("is not a kind of error: invalid, corruption"));
  EXPECT_THAT(MistakeIn("restart\nexpect error invalid\n"), StartsWith("f.scenario:2: no statement follows"));
  EXPECT_THAT(MistakeIn("heal\n  now\n"), StartsWith("f.scenario:2: 'heal' takes no indented lines"));
}

Status PlayText(const std::string& text) {
  const auto scenario = ParseScenario(text, "f.scenario");
  return scenario.ok() ? Play(*scenario) : scenario.status();
}

constexpr char kTable[] = "create t\n  columns id INT, v INT\n  primary key id\n  option bucket = 1\n";

TEST(Playing, TellsTheRowsThatDiffer) {
  const Status status =
      PlayText(std::string(kTable) + "write\n  +I 1, 10\n  +I 2, 20\ncommit\nread\n  1, 10\n  2, 21\n");
  EXPECT_THAT(status.message(), StartsWith("f.scenario:9: read"));
  EXPECT_THAT(status.message(), HasSubstr("missing: 2, 21\n  not expected: 2, 20"));
}

TEST(Playing, TellsAnErrorThatIsNotTheExpectedOne) {
  const std::string table(kTable);
  EXPECT_THAT(PlayText(table + "expect error corruption\nread at 5\n").message(),
              HasSubstr("another kind of error came, not-found"));
  EXPECT_THAT(PlayText(table + "expect error invalid\nrestart\n").message(), HasSubstr("no error came"));
  EXPECT_THAT(PlayText(table + "write\n  +I x, 1\n").message(), HasSubstr("'x' as INT"));
  EXPECT_TRUE(PlayText(table + "expect error invalid containing 'x' as INT\nwrite\n  +I x, 1\n").ok());
}

}  // namespace
}  // namespace headrace::scenario
