#include "commit/conflict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "commit/commit_part.h"
#include "commit/test_changes.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using testing::EntryOf;
using testing::FileSpec;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeTestTable;
using ::testing::SizeIs;

class Conflicts : public ::testing::Test {
 protected:
  Status Check(const std::vector<ManifestEntry>& live, const std::vector<ManifestEntry>& delta,
               CommitKind kind = CommitKind::kCompact) {
    HEADRACE_RETURN_NOT_OK(CheckDelta(table_, delta, kind));
    return CheckConflicts(table_, live, delta, kind);
  }

  static ManifestEntry Add(const FileSpec& file) { return EntryOf(file); }
  static ManifestEntry Delete(const FileSpec& file) { return EntryOf(file, 0, EntryKind::kDelete); }

  Table table_ = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "2"}}).table;
};

TEST_F(Conflicts, ACompactionOfLiveFilesFits) {
  EXPECT_TRUE(Check({Add({.name = "a"}), Add({.name = "b"})},
                    {Delete({.name = "a"}), Delete({.name = "b"}), Add({.name = "c", .level = 5})})
                  .ok());
}

TEST_F(Conflicts, AFileToDeleteThatIsGoneIsAConflict) {
  const Status lost = Check({Add({.name = "b"})}, {Delete({.name = "a"}), Add({.name = "c", .level = 5})});
  EXPECT_TRUE(IsKind(lost, ErrorKind::kCommitConflict));
  EXPECT_THAT(lost.message(), HasSubstr("file a"));
  EXPECT_THAT(lost.message(), HasSubstr("bucket 0, level 0"));
}

TEST_F(Conflicts, AFileToDeleteThatMovedToAnotherLevelIsGone) {
  EXPECT_TRUE(
      IsKind(Check({Add({.name = "a", .level = 4})}, {Delete({.name = "a"}), Add({.name = "a", .level = 5})}),
             ErrorKind::kCommitConflict));
}

TEST_F(Conflicts, ALevelUpgradeDeletesAndAddsOneName) {
  EXPECT_TRUE(Check({Add({.name = "a"})}, {Delete({.name = "a"}), Add({.name = "a", .level = 5})}).ok());
}

TEST_F(Conflicts, AKeyThatCannotBeReadIsNoConflict) {
  ManifestEntry input = Delete({.name = "a", .last_sequence = 99});
  input.file.delete_row_count = 1;
  ManifestEntry other = Add({.name = "x"});
  other.file.max_key.bytes = "x";
  const Status status =
      Check({Add({.name = "a", .last_sequence = 99}), other}, {input, Add({.name = "c", .level = 5})});
  EXPECT_TRUE(IsKind(status, ErrorKind::kCorruption)) << status;
}

TEST_F(Conflicts, ACompactionThatDroppedDeletesHidingRowsOfANewFileIsAConflict) {
  const auto file = [](const FileSpec& spec, EntryKind kind, std::optional<int64_t> deletes) {
    ManifestEntry entry = EntryOf(spec, 0, kind);
    entry.file.delete_row_count = deletes;
    return entry;
  };
  const FileSpec input{.name = "a", .first_sequence = 10, .last_sequence = 19};
  const FileSpec output{.name = "b", .level = 5, .first_sequence = 10, .last_sequence = 18};
  const std::vector<ManifestEntry> dropping = {file(input, EntryKind::kDelete, 1),
                                               file(output, EntryKind::kAdd, 0)};
  const auto live = [&](const FileSpec& other) {
    return std::vector{file(input, EntryKind::kAdd, 1), file(other, EntryKind::kAdd, 0)};
  };
  const FileSpec older{.name = "c", .first_sequence = 5, .last_sequence = 9};
  const Status lost = Check(live(older), dropping);
  EXPECT_TRUE(IsKind(lost, ErrorKind::kCommitConflict));
  EXPECT_THAT(lost.message(), HasSubstr("they hide rows of file c"));
  EXPECT_TRUE(IsKind(Check(live({.name = "c", .first_sequence = 15, .last_sequence = 30}), dropping),
                     ErrorKind::kCommitConflict));
  // Newer rows, other keys, deletes that are kept, or none: nothing comes to light.
  EXPECT_TRUE(Check(live({.name = "c", .first_sequence = 20, .last_sequence = 30}), dropping).ok());
  EXPECT_TRUE(Check(live({.name = "c", .low = 10, .high = 20, .first_sequence = 5}), dropping).ok());
  EXPECT_TRUE(
      Check(live(older), {file(input, EntryKind::kDelete, 1), file(output, EntryKind::kAdd, 1)}).ok());
  EXPECT_TRUE(
      Check(live(older), {file(input, EntryKind::kDelete, 0), file(output, EntryKind::kAdd, 0)}).ok());
}

TEST_F(Conflicts, AFileThatIsLiveCannotBeAddedAgain) {
  EXPECT_TRUE(IsKind(Check({Add({.name = "a"})}, {Add({.name = "a"})}), ErrorKind::kCommitConflict));
}

TEST_F(Conflicts, FilesOfOneDeepLevelMayNotOverlap) {
  const std::vector<ManifestEntry> live = {Add({.name = "l", .level = 5, .low = 0, .high = 9})};
  EXPECT_TRUE(Check(live, {Add({.name = "r", .level = 5, .low = 10, .high = 19})}).ok());
  EXPECT_TRUE(Check(live, {Add({.name = "r", .level = 4, .low = 5, .high = 19})}).ok());
  // Keys are strictly ascending: a shared bound overlaps.
  const Status overlap = Check(live, {Add({.name = "r", .level = 5, .low = 9, .high = 19})});
  EXPECT_TRUE(IsKind(overlap, ErrorKind::kCommitConflict));
  EXPECT_THAT(overlap.message(), HasSubstr("file r"));
  // Not when the other one goes at the same time, nor in another bucket.
  EXPECT_TRUE(
      Check(live, {Delete({.name = "l", .level = 5}), Add({.name = "r", .level = 5, .low = 9, .high = 19})})
          .ok());
  EXPECT_TRUE(Check(live, {EntryOf({.name = "r", .level = 5, .low = 0, .high = 9}, 1)}).ok());
}

TEST_F(Conflicts, KeysCompareAsNumbersAndNotAsBytes) {
  EXPECT_TRUE(Check({Add({.name = "n", .level = 1, .low = -5, .high = -1})},
                    {Add({.name = "p", .level = 1, .low = 0, .high = 255}),
                     Add({.name = "q", .level = 1, .low = 256, .high = 300})})
                  .ok());
}

TEST_F(Conflicts, LevelZeroNeverConflicts) {
  EXPECT_TRUE(Check({Add({.name = "a"})}, {Add({.name = "b"})}).ok());
}

TEST_F(Conflicts, ThePartitionsNumberOfBucketsStaysUnlessItIsOverwritten) {
  const std::vector<ManifestEntry> live = {Add({.name = "a"})};
  const std::vector<ManifestEntry> delta = {EntryOf({.name = "b"}, 3, EntryKind::kAdd, 4)};
  const Status refused = Check(live, delta);
  EXPECT_TRUE(IsKind(refused, ErrorKind::kCommitConflict));
  EXPECT_THAT(refused.message(), HasSubstr("2 buckets and would get some for 4"));
  // An overwrite that leaves files of the old number behind does not change it.
  EXPECT_TRUE(IsKind(Check(live, delta, CommitKind::kOverwrite), ErrorKind::kCommitConflict));
  EXPECT_TRUE(Check(live, {Delete({.name = "a"}), delta[0]}, CommitKind::kOverwrite).ok());
  EXPECT_TRUE(Check(live, {EntryOf({.name = "b"}, 0, EntryKind::kAdd, -1)}).ok());
}

TEST_F(Conflicts, AChangeThatContradictsItselfIsInvalid) {
  EXPECT_TRUE(IsKind(Check({}, {Add({.name = "a"}), Add({.name = "a"})}), ErrorKind::kInvalid));
  EXPECT_TRUE(
      IsKind(Check({Add({.name = "a"})}, {Add({.name = "a"}), Delete({.name = "a"})}), ErrorKind::kInvalid));
  EXPECT_TRUE(IsKind(Check({}, {EntryOf({.name = "a"}, 2)}), ErrorKind::kInvalid));
}

TEST_F(Conflicts, SequencesAreSharedWithFilesOfTheSameBucketThatReachOurs) {
  const std::vector<ManifestEntry> ours = {EntryOf({.name = "x", .first_sequence = 10, .last_sequence = 19}),
                                           EntryOf({.name = "y", .first_sequence = 20, .last_sequence = 29})};
  EXPECT_THAT(SharedSequences({EntryOf({.name = "o", .first_sequence = 0, .last_sequence = 9})}, ours),
              IsEmpty());
  EXPECT_THAT(SharedSequences({EntryOf({.name = "o", .first_sequence = 5, .last_sequence = 10})}, ours),
              SizeIs(1));
  EXPECT_THAT(SharedSequences({EntryOf({.name = "o", .first_sequence = 90, .last_sequence = 99})}, ours),
              SizeIs(1));
  EXPECT_THAT(SharedSequences({EntryOf({.name = "o", .last_sequence = 10}, 1)}, ours), IsEmpty());
  EXPECT_THAT(SharedSequences({EntryOf({.name = "o", .last_sequence = 10}, 0, EntryKind::kDelete)}, ours),
              IsEmpty());
}

IndexManifestEntry Index(const std::string& type, const std::string& name, int bucket = 0,
                         EntryKind kind = EntryKind::kAdd) {
  IndexManifestEntry entry;
  entry.kind = kind;
  entry.bucket = BucketId(bucket);
  entry.index_type = type;
  entry.file_name = name;
  return entry;
}

std::vector<std::string> Names(const std::vector<IndexManifestEntry>& entries) {
  std::vector<std::string> names;
  for (const IndexManifestEntry& entry : entries) names.push_back(entry.file_name);
  return names;
}

TEST(IndexCombination, AHashFileReplacesThatOfItsBucketAndUnknownTypesAreCarried) {
  const Table table = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "2"}}).table;
  const std::vector<IndexManifestEntry> current = {Index("HASH", "h0"), Index("HASH", "h1", 1),
                                                   Index("DELETION_VECTORS", "d0"), Index("btree", "b0")};
  const auto combined = CombineIndex(
      table, current, {Index("HASH", "h2"), Index("DELETION_VECTORS", "d1", 1), Index("btree", "b1")});
  ASSERT_TRUE(combined.ok());
  EXPECT_THAT(Names(*combined), ElementsAre("h1", "d0", "b0", "h2", "d1", "b1"));
}

// Two writers that each thought the bucket had no vectors: the later one would bring rows back that the first has deleted.
TEST(IndexCombination, AVectorFileOfABucketReplacesOnlyTheOneItsWriterKnew) {
  const Table table = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "2"}}).table;
  const std::vector<IndexManifestEntry> current = {Index("DELETION_VECTORS", "d0"),
                                                   Index("DELETION_VECTORS", "d1", 1)};
  const auto combined =
      CombineIndex(table, current,
                   {Index("DELETION_VECTORS", "d0", 0, EntryKind::kDelete), Index("DELETION_VECTORS", "d2")});
  ASSERT_TRUE(combined.ok()) << combined.status();
  EXPECT_THAT(Names(*combined), ElementsAre("d1", "d2"));
  const Status beside = CombineIndex(table, current, {Index("DELETION_VECTORS", "d3")}).status();
  EXPECT_TRUE(IsKind(beside, ErrorKind::kCommitConflict)) << beside;
  EXPECT_THAT(beside.message(), ::testing::HasSubstr("d0"));
}

IndexManifestEntry Vectors(std::string name, const std::vector<std::string>& files) {
  IndexManifestEntry entry = Index("DELETION_VECTORS", std::move(name));
  entry.deletion_vectors.emplace();
  for (const std::string& file : files) entry.deletion_vectors->push_back({file, 1, 22, 1});
  entry.row_count = static_cast<int64_t>(files.size());
  return entry;
}

ManifestEntry FileEntry(EntryKind kind, std::string name, int32_t level = 0) {
  ManifestEntry entry;
  entry.kind = kind;
  entry.partition = Index("", "").partition;
  entry.bucket = Index("", "").bucket;
  entry.file.name = std::move(name);
  entry.file.level = Level(level);
  return entry;
}

TEST(DeletionVectorConflicts, AVectorIsForAFileThatIsLiveAfterTheChange) {
  const Table table = MakeTestTable("id INT, v INT", {"id"}, {{"bucket", "1"}}).table;
  const std::vector<ManifestEntry> live = {FileEntry(EntryKind::kAdd, "a"), FileEntry(EntryKind::kAdd, "b")};
  const auto check = [&](const std::vector<ManifestEntry>& delta, std::vector<IndexManifestEntry> index,
                         const std::vector<IndexManifestEntry>& added) {
    return CheckDeletionVectors(table, live, delta, index, added);
  };
  const IndexManifestEntry on_a = Vectors("d1", {"a"});
  EXPECT_TRUE(check({}, {on_a}, {on_a}).ok());
  const Status gone = check({}, {Vectors("d1", {"c"})}, {Vectors("d1", {"c"})});
  EXPECT_TRUE(IsKind(gone, ErrorKind::kCommitConflict)) << gone;
  EXPECT_THAT(gone.message(), ::testing::HasSubstr("file c"));
  EXPECT_TRUE(check({FileEntry(EntryKind::kAdd, "c")}, {Vectors("d1", {"c"})}, {Vectors("d1", {"c"})}).ok());
  // Rewritten without what the vector marks.
  const Status left = check({FileEntry(EntryKind::kDelete, "a")}, {on_a}, {});
  EXPECT_TRUE(IsKind(left, ErrorKind::kCommitConflict)) << left;
  EXPECT_TRUE(check({FileEntry(EntryKind::kDelete, "b")}, {on_a}, {}).ok());
  // An upgrade keeps the file and its vector.
  EXPECT_TRUE(
      check({FileEntry(EntryKind::kDelete, "a"), FileEntry(EntryKind::kAdd, "a", 5)}, {on_a}, {on_a}).ok());
  // What another commit left wrong is not this one's conflict.
  EXPECT_TRUE(check({FileEntry(EntryKind::kAdd, "x")}, {Vectors("d1", {"long gone"})}, {}).ok());
}

TEST(DeletionVectorConflicts, AnOverwriteTakesTheVectorsOfTheFilesItRemovesAlong) {
  std::vector<IndexManifestEntry> index = {Vectors("d1", {"a", "b"}), Vectors("d2", {"c"}), Vectors("d3", {}),
                                           Index("HASH", "h1")};
  DropVectorsOfRemoved({FileEntry(EntryKind::kDelete, "a"), FileEntry(EntryKind::kDelete, "c"),
                        FileEntry(EntryKind::kDelete, "b"), FileEntry(EntryKind::kAdd, "b", 1)},
                       &index);
  EXPECT_THAT(Names(index), ElementsAre("d1", "d3", "h1"));
  EXPECT_EQ(index[0], Vectors("d1", {"b"}));
}

TEST(IndexCombination, VectorsOfATableWithoutBucketsGoByName) {
  const Table table = MakeTestTable("id INT, v INT", {}, {{"bucket", "-1"}}).table;
  const std::vector<IndexManifestEntry> current = {Index("DELETION_VECTORS", "d0"),
                                                   Index("DELETION_VECTORS", "d1")};
  const auto combined =
      CombineIndex(table, current,
                   {Index("DELETION_VECTORS", "d0", 0, EntryKind::kDelete), Index("DELETION_VECTORS", "d2")});
  ASSERT_TRUE(combined.ok());
  EXPECT_THAT(Names(*combined), ElementsAre("d1", "d2"));
  EXPECT_TRUE(IsKind(
      CombineIndex(table, *combined, {Index("DELETION_VECTORS", "d0", 0, EntryKind::kDelete)}).status(),
      ErrorKind::kCommitConflict));
}

}  // namespace
}  // namespace headrace
