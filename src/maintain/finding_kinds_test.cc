#include "maintain/finding_kinds.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "maintain/findings.h"

namespace headrace {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(FindingsPage, IsTheFileInDocs) {
  const std::string path = std::string(HEADRACE_FIXTURES) + "/../../docs/check.md";
  if (std::getenv("HEADRACE_WRITE_DOCS") != nullptr) std::ofstream(path, std::ios::binary) << FindingsPage();
  EXPECT_EQ(ReadFile(path), FindingsPage()) << "run the test once with HEADRACE_WRITE_DOCS=1";
}

TEST(FindingKinds, HaveNamesOfTheirOwnThatScriptsCanRelyOn) {
  std::set<std::string_view> names;
  for (const FindingKindInfo& kind : AllFindingKinds()) {
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
    EXPECT_THAT(std::string(kind.name), testing::MatchesRegex("[a-z]+(-[a-z]+)*"));
    EXPECT_TRUE(kind.meaning.ends_with('.')) << kind.name;
    EXPECT_TRUE(kind.remedy.ends_with('.')) << kind.name;
  }
}

TEST(FindingKinds, StandInTheOrderOfTheEnumeration) {
  EXPECT_EQ(InfoOf(FindingKind::kSchemaUnreadable).name, "schema-unreadable");
  EXPECT_EQ(InfoOf(FindingKind::kManifestListMissing).name, "manifest-list-missing");
  EXPECT_EQ(InfoOf(FindingKind::kDataFileMissing).name, "data-file-missing");
  EXPECT_EQ(InfoOf(FindingKind::kLevelOverlap).name, "level-overlap");
  EXPECT_EQ(InfoOf(FindingKind::kIndexFileMissing).name, "index-file-missing");
  EXPECT_EQ(InfoOf(FindingKind::kKeyOrderWrong).name, "key-order-wrong");
  EXPECT_EQ(InfoOf(FindingKind::kExpiredMeanwhile).name, "expired-meanwhile");
}

TEST(Findings, AreBoundedByNumberAndStillCounted) {
  Findings findings("/t", 2);
  for (int i = 0; i < 5; ++i)
    findings.Add(FindingKind::kDataFileMissing, "/t/f" + std::to_string(i), "nothing", "a file");
  findings.Add(FindingKind::kLatestHintWrong, "/t/snapshot/LATEST", "3", "4");
  CheckReport report;
  findings.MoveTo(&report);
  EXPECT_EQ(report.findings.size(), 3u);
  EXPECT_EQ(report.damages, 5);
  EXPECT_EQ(report.warnings, 1);
  EXPECT_FALSE(report.clean());
  EXPECT_EQ(report.findings[0].file, "f0");
}

TEST(Findings, TellOneThingOnceAndNothingThatActsOnATerminal) {
  Findings findings("/t", 10);
  for (int i = 0; i < 2; ++i)
    findings.Add(FindingKind::kDataFileMissing, "/t/\x1b[2J\xc2é", std::string(5000, 'x'), "/t/a");
  CheckReport report;
  findings.MoveTo(&report);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].file, "?[2J?é");
  EXPECT_LT(report.findings[0].found.size(), 700u);
}

TEST(Findings, CanBeTakenBackWhenASnapshotExpiredMeanwhile) {
  Findings findings("/t", 2);
  findings.Add(FindingKind::kDataFileMissing, "/t/a", "nothing", "a file");
  const int expired = findings.BeginState();
  for (const char* file : {"/t/b", "/t/c", "/t/d"})
    findings.Add(FindingKind::kDataFileMissing, file, "nothing", "a file");
  EXPECT_TRUE(findings.EndState());
  findings.BeginState();
  EXPECT_FALSE(findings.EndState());
  findings.Forget(expired);
  findings.Add(FindingKind::kDataFileMissing, "/t/e", "nothing", "a file");
  CheckReport report;
  findings.MoveTo(&report);
  EXPECT_EQ(report.damages, 2);
}

}  // namespace
}  // namespace headrace
