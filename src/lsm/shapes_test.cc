// Levels, sections and the choice of a compaction: pure functions of files drawn as text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "lsm/append_compaction.h"
#include "lsm/compaction_picker.h"
#include "lsm/levels.h"
#include "lsm/sections.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TreeFilePtr File(const std::string& name, int32_t level, const std::string& min, const std::string& max,
                 int64_t bytes = 1, int64_t max_sequence = 0) {
  TreeFile file;
  file.meta.name = name;
  file.meta.level = Level(level);
  file.meta.size_bytes = bytes;
  file.meta.max_sequence = max_sequence;
  file.min_key = min;
  file.max_key = max;
  return std::make_shared<const TreeFile>(std::move(file));
}

TEST(Levels, PutsNewerLevelZeroFilesFirstThenOneRunALevel) {
  const Levels levels =
      Levels::Make({File("c", 2, "a", "b"), File("b", 0, "a", "z", 1, 7), File("a", 0, "a", "z", 1, 9),
                    File("d", 2, "c", "d"), File("e", 5, "a", "z")},
                   4)
          .ValueOrDie();
  std::vector<std::string> drawn;
  for (const SortedRun& run : levels.runs()) {
    std::string text = std::to_string(run.level.value) + ":";
    for (const TreeFilePtr& file : run.files) text += file->meta.name;
    drawn.push_back(text);
  }
  EXPECT_THAT(drawn, ElementsAre("0:a", "0:b", "2:cd", "5:e"));
  EXPECT_EQ(levels.max_level(), Level(5)) << "the files reach deeper than num-levels";
  EXPECT_EQ(levels.highest_level(), Level(5));
  EXPECT_EQ(levels.level0_count(), 2u);
  EXPECT_EQ(levels.max_sequence(), 9);
}

TEST(Levels, BreaksTiesBySmallestNumberThenCreationThenName) {
  DataFileMeta a, b;
  a.name = "a";
  b.name = "b";
  a.max_sequence = b.max_sequence = 5;
  EXPECT_TRUE(IsNewer(a, b));
  b.creation_local_ms = 1;
  a.creation_local_ms = 2;
  EXPECT_TRUE(IsNewer(b, a));
  a.min_sequence = -1;
  EXPECT_TRUE(IsNewer(a, b));
  b.max_sequence = 6;
  EXPECT_TRUE(IsNewer(b, a));
}

TEST(Levels, NamesTheFilesThatOverlapOnOneLevel) {
  const auto levels = Levels::Make({File("left", 3, "a", "m"), File("right", 3, "m", "z")}, 6);
  ASSERT_TRUE(IsKind(levels.status(), ErrorKind::kCorruption));
  EXPECT_THAT(levels.status().message(), testing::AllOf(HasSubstr("left"), HasSubstr("right")));
  EXPECT_TRUE(IsKind(Levels::Make({File("x", 0, "b", "a")}, 6).status(), ErrorKind::kCorruption));
  EXPECT_TRUE(IsKind(Levels::Make({File("x", 0, "a", "b"), File("x", 1, "a", "b")}, 6).status(),
                     ErrorKind::kCorruption));
}

TEST(Levels, AnEditKeepsTheRestAndWantsTheRemovedFilesThere) {
  const Levels levels = Levels::Make({File("a", 0, "a", "z"), File("b", 5, "a", "z")}, 6).ValueOrDie();
  const Levels edited = levels.Edit({levels.files()[0]->meta}, {File("c", 4, "a", "z")}).ValueOrDie();
  EXPECT_EQ(edited.files().size(), 2u);
  EXPECT_EQ(edited.files()[0]->meta.name, "c");
  EXPECT_FALSE(levels.Edit({File("a", 1, "a", "z")->meta}, {}).ok()) << "same name, other level";
}

std::vector<std::string> Drawn(const std::vector<Section>& sections) {
  std::vector<std::string> drawn;
  for (const Section& section : sections) {
    std::string text;
    for (const RunFiles& run : section) {
      if (!text.empty()) text += " | ";
      for (const TreeFilePtr& file : run) text += file->meta.name;
    }
    drawn.push_back(text);
  }
  return drawn;
}

TEST(Sections, StartWhereNoFileReachesAcross) {
  EXPECT_THAT(Drawn(PartitionIntoSections({File("a", 0, "01", "02"), File("b", 0, "03", "04"),
                                           File("c", 0, "05", "18"), File("d", 0, "05", "19"),
                                           File("e", 0, "20", "60"), File("f", 0, "21", "70")})),
              ElementsAre("a", "b", "c | d", "e | f"));
}

TEST(Sections, KeepEqualKeysTogetherAndUseAsFewRunsAsPossible) {
  EXPECT_THAT(Drawn(PartitionIntoSections({File("a", 0, "1", "5"), File("b", 0, "5", "6")})),
              ElementsAre("a | b"));
  EXPECT_THAT(Drawn(PartitionIntoSections({File("a", 0, "1", "9"), File("b", 0, "1", "2"),
                                           File("c", 0, "3", "4"), File("d", 0, "4", "5")})),
              ElementsAre("bc | a | d"));
  EXPECT_TRUE(PartitionIntoSections({}).empty());
}

// "0:10 0:20 1:97 2:100": runs by level and size, newest first.
Levels TreeOf(const std::string& text, int32_t num_levels) {
  std::vector<TreeFilePtr> files;
  std::istringstream words(text);
  int32_t level = 0;
  int64_t bytes = 0;
  char colon = 0;
  int64_t sequence = 1000;
  while (words >> level >> colon >> bytes) {
    files.push_back(File("f" + std::to_string(sequence), level, "a", "z", bytes, sequence));
    --sequence;
  }
  return Levels::Make(std::move(files), num_levels).ValueOrDie();
}

std::string DrawnPlan(const std::optional<CompactionPlan>& plan) {
  if (!plan.has_value()) return "none";
  std::string text;
  for (const TreeFilePtr& file : plan->files) text += std::to_string(file->meta.size_bytes) + " ";
  return text + "-> L" + std::to_string(plan->output.value) + (plan->drop_deletes ? " drop" : "");
}

struct PickCase {
  const char* runs;
  int32_t num_levels;
  int32_t trigger;
  const char* picked;
};

TEST(PickCompaction, DecidesAsUniversalCompactionDoes) {
  const std::vector<PickCase> cases = {
      // Too few runs: nothing.
      {"", 6, 5, "none"},
      {"0:1 0:1 0:1 0:1", 6, 5, "none"},
      // Size amplification: everything before the last run is more than twice as large.
      {"0:1 0:1 0:1 0:1 0:1", 6, 5, "1 1 1 1 1 -> L5 drop"},
      // A larger run of level 1 is swallowed by what is compacted anyway; 1.3.1 stops before it and ends on L1.
      {"0:10 0:20 1:97 2:100", 3, 3, "10 20 97 100 -> L2 drop"},
      {"0:50 0:50 0:50 0:51 5:100", 6, 5, "50 50 50 51 100 -> L5 drop"},
      // Exactly twice is not amplified; equal sizes are then similar.
      {"0:50 0:50 0:50 0:50 5:100", 6, 5, "50 50 50 50 100 -> L5 drop"},
      // Similar sizes from the front; output just above the next run.
      {"0:10 0:10 0:10 0:10 5:1000", 6, 5, "10 10 10 10 -> L4"},
      {"0:10 0:10 0:10 3:100 5:1000", 6, 5, "10 10 10 -> L2"},
      // One per cent of slack.
      {"0:100 0:101 0:300 0:2000 5:100000", 6, 5, "100 101 300 2000 -> L4"},
      // Larger runs of level 0 and 1 do not end it, those deeper down do.
      {"0:10 0:10 0:1000 0:1 5:100000", 6, 5, "10 10 1000 1 -> L4"},
      {"0:1 0:1 1:99 2:100", 3, 4, "1 1 99 100 -> L2 drop"},
      {"0:1 0:1 1:99 2:103", 3, 4, "1 1 99 -> L1"},
      // Too many runs but nothing similar: the surplus and one more.
      {"0:1 0:10 0:100 0:1000 4:10000 5:100000", 6, 5, "1 10 100 1000 -> L3"},
      {"0:1 0:10 2:100 3:1000 4:10000 5:100000", 6, 5, "1 10 -> L1"},
      // The run on the output level is part of the plan.
      {"0:1 0:10 1:100 2:1000 4:100000 5:1000000", 6, 5, "1 10 100 -> L1"},
      // More levels than options say.
      {"0:1 0:1 7:1", 3, 3, "1 1 1 -> L7 drop"},
  };
  for (const PickCase& c : cases) {
    const Levels levels = TreeOf(c.runs, c.num_levels);
    EXPECT_EQ(DrawnPlan(PickCompaction(levels, {.run_trigger = c.trigger})), c.picked) << c.runs;
  }
}

struct LevelZeroCase {
  const char* runs;
  int32_t num_levels;
  const char* picked;
};

TEST(PickLevelZero, TakesEveryFileOfLevelZeroAndMovesItUp) {
  const std::vector<LevelZeroCase> cases = {
      {"", 3, "none"},
      {"1:5 2:10", 3, "none"},
      {"0:1", 6, "1 -> L5 drop"},
      {"0:1 5:1000", 6, "1 -> L4"},
      {"0:1 4:900 5:1000", 6, "1 -> L3"},
      {"0:1 0:2 1:900 2:1000", 3, "1 2 900 -> L1"},
      {"0:1 1:99 2:100", 3, "1 99 100 -> L2 drop"},
      {"0:1 1:99 2:102", 3, "1 99 -> L1"},
      {"0:10 0:9 3:15 4:30 5:10000", 6, "10 9 15 30 -> L4"},
  };
  for (const LevelZeroCase& c : cases)
    EXPECT_EQ(DrawnPlan(PickLevelZero(TreeOf(c.runs, c.num_levels), {})), c.picked) << c.runs;
}

TEST(PickLevelZero, DropsDeletesAboveDeeperRowsWhereVectorsHideThem) {
  EXPECT_EQ(DrawnPlan(PickLevelZero(TreeOf("0:1 5:1000", 6), {.always_drop_deletes = true})), "1 -> L4 drop");
}

TEST(PickCompaction, AFullOneComesEarlyWhenItsTimeHasCome) {
  const CompactionPolicy policy = {.full_interval_ms = 1000};
  const Levels two = TreeOf("0:1 5:1000", 6);
  EXPECT_EQ(DrawnPlan(PickCompaction(two, policy, {.now_ms = 5000})), "1 1000 -> L5 drop") << "never yet";
  EXPECT_EQ(DrawnPlan(PickCompaction(two, policy, {5000, 4000})), "none");
  EXPECT_EQ(DrawnPlan(PickCompaction(two, policy, {5001, 4000})), "1 1000 -> L5 drop");
  EXPECT_EQ(DrawnPlan(PickCompaction(TreeOf("0:1", 6), policy, {5000, {}})), "none") << "one run";
}

TEST(PickCompaction, AFullOneComesEarlyForSmallBucketsAndForMuchThatIsNew) {
  const Levels tree = TreeOf("0:40 3:60 5:1000", 6);
  EXPECT_EQ(DrawnPlan(PickCompaction(tree, {.small_bucket_bytes = 1101})), "40 60 1000 -> L5 drop");
  EXPECT_EQ(DrawnPlan(PickCompaction(tree, {.small_bucket_bytes = 1100})), "none");
  EXPECT_EQ(DrawnPlan(PickCompaction(tree, {.most_incremental_bytes = 99})), "40 60 1000 -> L5 drop");
  EXPECT_EQ(DrawnPlan(PickCompaction(tree, {.most_incremental_bytes = 100})), "none");
}

TEST(CompactionPolicy, HasALargerRatioInOffPeakHours) {
  TableOptions options;
  options.offpeak_ratio_percent = 50;
  const auto ratio_at = [&](int start, int end, int hour) {
    options.offpeak_start_hour = start;
    options.offpeak_end_hour = end;
    return CompactionPolicyOf(options, hour).size_ratio_percent;
  };
  EXPECT_EQ(ratio_at(1, 5, 0), 1);
  EXPECT_EQ(ratio_at(1, 5, 1), 51);
  EXPECT_EQ(ratio_at(1, 5, 5), 1);
  EXPECT_EQ(ratio_at(22, 5, 23), 51);
  EXPECT_EQ(ratio_at(22, 5, 4), 51);
  EXPECT_EQ(ratio_at(22, 5, 5), 1);
  EXPECT_EQ(ratio_at(-1, 5, 4), 1);
  EXPECT_EQ(ratio_at(4, 4, 4), 1);
}

TEST(PickFullCompaction, RewritesFilesOfTheTopLevelOneByOneWhereAsked) {
  const Levels top = TreeOf("5:10", 6);
  EXPECT_EQ(DrawnPlan(PickFullCompaction(top, nullptr, true)), "10 -> L5 drop");
  const DeletionVectors vectors = {{"f1000", nullptr}};
  EXPECT_TRUE(PickFullCompaction(top, &vectors)->one_by_one);
  const DeletionVectors others = {{"f1", nullptr}};
  EXPECT_EQ(DrawnPlan(PickFullCompaction(top, &others)), "none");
}

TEST(PickCompaction, DoesNotMoveOneFileOntoItsOwnLevel) {
  EXPECT_EQ(
      DrawnPlan(PickCompaction(TreeOf("5:10", 6), {.run_trigger = 1, .max_size_amplification_percent = -1})),
      "none");
}

TEST(PickFullCompaction, TakesAllRunsUnlessAllAreOnTheTopLevel) {
  EXPECT_EQ(DrawnPlan(PickFullCompaction(TreeOf("", 6))), "none");
  EXPECT_EQ(DrawnPlan(PickFullCompaction(TreeOf("5:10", 6))), "none");
  EXPECT_EQ(DrawnPlan(PickFullCompaction(TreeOf("3:10", 6))), "10 -> L5 drop");
  EXPECT_EQ(DrawnPlan(PickFullCompaction(TreeOf("0:10", 6))), "10 -> L5 drop");
  EXPECT_EQ(DrawnPlan(PickFullCompaction(TreeOf("0:1 4:10 5:7", 6))), "1 10 7 -> L5 drop");
}

std::vector<DataFileMeta> RowFiles(const std::vector<int64_t>& sizes) {
  std::vector<DataFileMeta> files;
  for (const int64_t size : sizes) {
    DataFileMeta& file = files.emplace_back();
    file.name = std::to_string(files.size());
    file.size_bytes = size;
    file.min_sequence = static_cast<int64_t>(files.size());
  }
  return files;
}

std::string DrawnAppend(const std::vector<int64_t>& sizes, int32_t bucket, bool full) {
  TableOptions options;
  options.bucket = bucket;
  options.target_file_bytes = bucket < 0 ? 100 << 20 : 100;
  options.append_compaction_min_files = 3;
  const auto picked = PickAppendCompaction(RowFiles(sizes), options, full);
  if (!picked.has_value()) return "none";
  std::string text;
  for (const DataFileMeta& file : *picked) text += file.name;
  return text;
}

TEST(PickAppendCompaction, JoinsNeighboursOfABucketOnceThereAreEnough) {
  EXPECT_EQ(DrawnAppend({1, 1}, 1, false), "none");
  EXPECT_EQ(DrawnAppend({1, 1, 1, 1}, 1, false), "123");
  EXPECT_EQ(DrawnAppend({90, 1, 1}, 1, false), "none") << "a large file does not count";
  EXPECT_EQ(DrawnAppend({90, 1, 1, 1}, 1, false), "234");
  EXPECT_EQ(DrawnAppend({1, 1, 90, 1, 1}, 1, false), "none")
      << "files are joined with their neighbours alone";
}

TEST(PickAppendCompaction, AFullOneTakesAllWhenMostAreSmall) {
  EXPECT_EQ(DrawnAppend({1, 1}, 1, true), "none");
  EXPECT_EQ(DrawnAppend({90, 90, 1, 1, 1}, 1, true), "345");
  EXPECT_EQ(DrawnAppend({1, 90, 1, 90}, 1, true), "none") << "not more small files than large ones";
  EXPECT_EQ(DrawnAppend({1, 90, 1}, 1, true), "123");
}

TEST(PickAppendCompaction, PacksSmallFilesOfATableWithoutBuckets) {
  constexpr int64_t kMb = 1 << 20;
  EXPECT_EQ(DrawnAppend({kMb, kMb}, -1, false), "none");
  EXPECT_EQ(DrawnAppend({kMb, 90 * kMb, kMb}, -1, true), "13");
  EXPECT_EQ(DrawnAppend({kMb, 90 * kMb, kMb, kMb}, -1, false), "134");
  EXPECT_EQ(DrawnAppend({kMb}, -1, true), "none");
}

}  // namespace
}  // namespace headrace
