// Damage made by hand: each gives the kinds of findings that are named here, and nothing else.
#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "damage_cases.h"
#include "io/local_store.h"
#include "maintain/check.h"
#include "maintain/check_changelog.h"
#include "maintain/finding_kinds.h"

namespace headrace {
namespace {

CheckReport Check(const ForgedTable& table, const DamageCase& test) {
  const CheckTarget target{std::make_shared<LocalStore>(), std::make_shared<SystemClock>(), table.path(),
                           "db.t"};
  CheckOptions options;
  options.data = test.data;
  options.all = test.all;
  options.changelog = test.changelog;
  Result<CheckReport> report = RunCheck(target, options);
  if (!report.ok()) report.status().Abort();
  return *std::move(report);
}

std::string Text(const CheckReport& report) {
  std::string text;
  for (const Finding& finding : report.findings)
    text +=
        finding.kind + " " + finding.file + ": " + finding.found + "; expected " + finding.expected + "\n";
  return text;
}

// Notes only where they are what is expected.
std::set<std::string> KindsOf(const CheckReport& report, bool notes) {
  std::set<std::string> kinds;
  for (const Finding& finding : report.findings) {
    if (notes || finding.severity != Severity::kNote) kinds.insert(finding.kind);
  }
  return kinds;
}

class Damage : public testing::TestWithParam<DamageCase> {};

TEST_P(Damage, IsFoundByItsName) {
  const DamageCase& test = GetParam();
  const ForgedTable table(test.table);
  const CheckReport before = Check(table, test);
  ASSERT_EQ(before.findings.size(), 0u) << Text(before);
  test.damage(table);
  const CheckReport after = Check(table, test);
  EXPECT_THAT(KindsOf(after, test.notes), testing::ElementsAreArray(test.kinds)) << Text(after);
  for (const Finding& finding : after.findings) {
    EXPECT_FALSE(finding.file.empty()) << finding.kind;
    EXPECT_FALSE(finding.found.empty()) << finding.kind;
    EXPECT_FALSE(finding.remedy.empty()) << finding.kind;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Damage, testing::ValuesIn(DamageCases()),
                         [](const testing::TestParamInfo<DamageCase>& info) { return info.param.name; });

// Deletes as expiry does, files first, while the first snapshot is being looked into.
TEST(Check, TakesWhatExpiryRemovesMeanwhileForNoDamage) {
  const ForgedTable table("changelog-input-random/events");
  const CheckTarget target{std::make_shared<LocalStore>(), std::make_shared<SystemClock>(), table.path(),
                           "db.t"};
  const std::string list = table.SnapshotOf(1).delta_manifest_list;
  bool expired = false;
  CheckOptions options;
  options.all = true;
  options.progress = [&](const CheckProgress& at) {
    if (at.snapshots != 1 || expired) return;
    expired = true;
    table.Remove("manifest/" + list);
    table.Remove("snapshot/snapshot-1");
  };
  const Result<CheckReport> report = RunCheck(target, options);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(expired);
  EXPECT_THAT(KindsOf(*report, true), testing::ElementsAre("expired-meanwhile")) << Text(*report);
}

TEST(Check, TellsOfDamageThatASnapshotWhichExpiresMeanwhileSharesWithLaterOnes) {
  const ForgedTable table("append");
  ASSERT_GT(table.LatestId(), 1);
  table.Remove(table.FileOf(table.Delta(1).at(0)));
  const CheckTarget target{std::make_shared<LocalStore>(), std::make_shared<SystemClock>(), table.path(),
                           "db.t"};
  bool expired = false;
  CheckOptions options;
  options.all = true;
  options.progress = [&](const CheckProgress&) {
    if (!std::exchange(expired, true)) table.Remove("snapshot/snapshot-1");
  };
  const Result<CheckReport> report = RunCheck(target, options);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(expired);
  EXPECT_THAT(KindsOf(*report, true), testing::ElementsAre("data-file-missing")) << Text(*report);
}

TEST(Check, FindsNothingBesideAWriterThatCommitsAllTheTime) {
  const ForgedTable table("keyed");
  std::atomic<bool> stop = false;
  std::thread writer([&] { table.WriteUntil(&stop); });
  const CheckTarget target{std::make_shared<LocalStore>(), std::make_shared<SystemClock>(), table.path(),
                           "db.t"};
  CheckOptions options;
  options.all = options.data = true;
  int64_t snapshots = 0;
  for (int round = 0; round < 6; ++round) {
    const Result<CheckReport> report = RunCheck(target, options);
    EXPECT_TRUE(report.ok()) << report.status();
    if (!report.ok()) break;
    EXPECT_TRUE(report->findings.empty()) << Text(*report);
    snapshots = report->looked_at.snapshots;
  }
  stop = true;
  writer.join();
  EXPECT_GT(snapshots, 2);
}

TEST(Check, SaysWhyAChangelogIsNotReplayed) {
  for (const char* name : {"append", "customer-8821-none/customers"}) {
    const ForgedTable table(name);
    const CheckTarget target{std::make_shared<LocalStore>(), std::make_shared<SystemClock>(), table.path(),
                             "db.t"};
    const Result<CheckReport> report = RunCheck(target, {.changelog = true});
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_THAT(KindsOf(*report, true), testing::ElementsAre("changelog-not-replayed")) << Text(*report);
  }
}

TEST(Check, ReplaysAChangelogInSeveralPassesWhereMemoryIsShort) {
  for (const char* name : {"changelog-lookup-random/events", "changelog-input-random/events"}) {
    const ForgedTable table(name);
    CheckRun run(std::make_shared<LocalStore>(), std::make_shared<SystemClock>(), table.path(), "db.t", {},
                 arrow::default_memory_pool());
    Root root;
    root.path = table.path();
    CheckSchemas(&run, &root);
    CheckChain(&run, &root);
    CheckChangelog(&run, root, /*memory_bytes=*/16 << 10);
    CheckReport report;
    run.findings.MoveTo(&report);
    EXPECT_TRUE(report.findings.empty()) << Text(report);
  }
}

TEST(DamageCases, MakeEveryKindOfFindingThereIs) {
  std::set<std::string> made = {"expired-meanwhile", "data-not-read", "changelog-not-replayed"};  // no damage
  for (const DamageCase& test : DamageCases()) made.insert(test.kinds.begin(), test.kinds.end());
  for (const FindingKindInfo& kind : AllFindingKinds())
    EXPECT_TRUE(made.contains(std::string(kind.name))) << kind.name;
}

TEST(DamageCases, AreMadeOnTablesOfHeadraceAndOfJavaWithAndWithoutAKey) {
  std::map<std::string, int> tables;
  for (const DamageCase& test : DamageCases()) ++tables[test.table];
  EXPECT_GT(tables["keyed"], 10);
  EXPECT_GT(tables["append"], 2);
  EXPECT_GT(tables.size(), 6u);
}

}  // namespace
}  // namespace headrace
