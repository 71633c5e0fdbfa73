// Law: any history of any table reads as the map that was given the same rows. Random shapes, writers, faults; failures come shrunk.
//
// HEADRACE_SEED begins at another seed, HEADRACE_ROUNDS plays more of them. tests/laws/soak.cc goes on for hours.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/laws/harness/search.h"
#include "tests/scenarios/play.h"

namespace headrace::laws {
namespace {

using ::testing::HasSubstr;
using ::testing::Le;

uint64_t EnvironmentOr(const char* name, uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

void SearchFrom(uint64_t first, uint64_t rounds, const Search& search) {
  Progress progress;
  for (uint64_t seed = first; seed < first + rounds; ++seed) {
    const auto found = SearchSeed(seed, search, &progress);
    ASSERT_FALSE(found.has_value()) << found->Describe();
  }
  std::cout << rounds << " tables from seed " << first << ": " << progress.statements << " statements, "
            << progress.snapshots << " snapshots, " << progress.faults << " faults" << std::endl;
}

TEST(RandomHistories, KeepEveryLawWithoutFaults) {
  SearchFrom(EnvironmentOr("HEADRACE_SEED", 1), EnvironmentOr("HEADRACE_ROUNDS", 15),
             {.history = {.steps = 60, .faults = false}});
}

TEST(RandomHistories, KeepEveryLawUnderFaultsAndKills) {
  SearchFrom(EnvironmentOr("HEADRACE_SEED", 100'001), EnvironmentOr("HEADRACE_ROUNDS", 25),
             {.history = {.steps = 60}});
}

TEST(RandomHistories, KeepEveryLawWhereRowsWaitForTheirBuckets) {
  SearchFrom(EnvironmentOr("HEADRACE_SEED", 200'001), EnvironmentOr("HEADRACE_ROUNDS", 10),
             {.history = {.steps = 60, .buckets = Buckets::kPostponed}});
}

TEST(RandomHistories, KeepEveryLawWhereKeysMoveBetweenPartitions) {
  SearchFrom(EnvironmentOr("HEADRACE_SEED", 300'001), EnvironmentOr("HEADRACE_ROUNDS", 8),
             {.history = {.steps = 60, .buckets = Buckets::kCrossPartition}});
}

// A fault put in on purpose: an update that comes in one write with a delete of the same partition's rows is lost on its way.
void LoseUpdatesBesideDeletes(std::vector<scenario::Row>* rows) {
  const bool deletes = std::any_of(rows->begin(), rows->end(), [](const auto& row) { return row.kind == 3; });
  if (deletes) std::erase_if(*rows, [](const auto& row) { return row.kind == 2; });
}

TEST(RandomHistories, AFaultPutInOnPurposeIsFoundAndShrunkToAFewLines) {
  Search search;
  search.trial.tamper = LoseUpdatesBesideDeletes;
  search.folder = ::testing::TempDir();
  Progress progress;
  std::optional<Found> found;
  for (uint64_t seed = 1; seed < 50 && !found.has_value(); ++seed)
    found = SearchSeed(seed, search, &progress);
  ASSERT_TRUE(found.has_value());
  std::cout << found->Describe();
  // Create, write, commit; of the rows one update and one delete.
  EXPECT_THAT(found->shrunk.history.size(), Le(4u));
  size_t rows = 0;
  for (const auto& statement : found->shrunk.history) rows += statement.rows.size();
  EXPECT_THAT(rows, Le(3u));
  EXPECT_TRUE(found->reproduces);

  const auto parsed = scenario::ParseScenario(found->text, "shrunk");
  ASSERT_TRUE(parsed.ok());
  EXPECT_FALSE(scenario::Play(*parsed, {.tamper = LoseUpdatesBesideDeletes}).ok())
      << "with the fault it fails";
  const Status sound = scenario::Play(*parsed);
  EXPECT_TRUE(sound.ok()) << "without it, it holds: " << sound.message();
  EXPECT_THAT(found->path, HasSubstr("headrace-seed-"));
}

TEST(RandomHistories, AreTheSameForTheSameSeed) {
  const auto printed = [](uint64_t seed) {
    std::string text;
    for (const auto& statement : MakeHistory(seed, {})) text += Print(statement);
    return text;
  };
  EXPECT_EQ(printed(7), printed(7));
  EXPECT_NE(printed(7), printed(8));
}

}  // namespace
}  // namespace headrace::laws
