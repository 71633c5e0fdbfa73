// The contract of Store, held against every store: local, memory, and both behind a fault store that does nothing.
#include "io/store.h"

#include <filesystem>
#include <thread>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/uuid.h"
#include "io/anchored_store.h"
#include "io/fault_store.h"
#include "io/local_store.h"
#include "io/memory_store.h"
#include "io/store_path.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

#define ASSERT_OK(expr)                              \
  do {                                               \
    const Status status_ = (expr);                   \
    ASSERT_TRUE(status_.ok()) << status_.ToString(); \
  } while (false)

struct Kind {
  std::string name;
  std::function<std::shared_ptr<Store>()> make;
};

std::ostream& operator<<(std::ostream& out, const Kind& kind) { return out << kind.name; }

class StoreContract : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    store_ = GetParam().make();
    root_ = testing::TempDir();
    while (root_.size() > 1 && root_.back() == '/') root_.pop_back();
    root_ = JoinPath(root_, "headrace-store-" + NewUuid());
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::string At(const std::string& relative) const { return JoinPath(root_, relative); }

  Status Put(const std::string& relative, const std::string& bytes) {
    HEADRACE_ASSIGN_OR_RETURN(const auto stream, store_->OpenForWrite(At(relative)));
    HEADRACE_RETURN_NOT_OK(stream->Write(bytes));
    return stream->Close();
  }

  std::vector<std::string> NamesIn(const std::string& relative) {
    std::vector<std::string> names;
    const auto listed = store_->List(relative.empty() ? root_ : At(relative));
    EXPECT_TRUE(listed.ok()) << listed.status().ToString();
    for (const FileInfo& info : listed.ValueOr(std::vector<FileInfo>())) {
      EXPECT_EQ(info.path, JoinPath(relative.empty() ? root_ : At(relative), NameIn(info.path)));
      names.push_back(std::string(NameIn(info.path)) + (info.is_directory ? "/" : ""));
    }
    return names;
  }

  std::string Read(const std::string& relative) {
    const auto bytes = store_->ReadAll(At(relative));
    return bytes.ok() ? *bytes : "failed: " + bytes.status().ToString();
  }

  ErrorKind KindOfFailure(const Status& status) {
    EXPECT_FALSE(status.ok());
    return status.ok() ? ErrorKind::kCancelled : KindOf(status);
  }

  std::shared_ptr<Store> store_;
  std::string root_;
};

INSTANTIATE_TEST_SUITE_P(
    Stores, StoreContract,
    testing::Values(
        Kind{"Local", [] { return std::make_shared<LocalStore>(); }},
        Kind{"LocalWithoutSync",
             [] { return std::make_shared<LocalStore>(LocalStoreOptions{.sync = false}); }},
        Kind{"Memory", [] { return std::make_shared<MemoryStore>(); }},
        Kind{"FaultOverLocal", [] { return std::make_shared<FaultStore>(std::make_shared<LocalStore>()); }},
        Kind{"AnchoredLocal", [] { return Anchored(std::make_shared<LocalStore>(), "/", "the root"); }},
        Kind{"FaultOverMemory",
             [] { return std::make_shared<FaultStore>(std::make_shared<MemoryStore>()); }}),
    [](const auto& info) { return info.param.name; });

TEST_P(StoreContract, ReturnsWhatWasWritten) {
  const std::string bytes = std::string(300'000, 'x') + std::string("\0\n\xff", 3);
  ASSERT_OK(Put("a/b/file", bytes));
  EXPECT_EQ(Read("a/b/file"), bytes);
}

TEST_P(StoreContract, ListsNamesByTheirBeginning) {
  ASSERT_OK(Put("t/one", "1"));
  ASSERT_OK(Put("t/once", "2"));
  ASSERT_OK(Put("t/two", "3"));
  ASSERT_OK(Put("t/on/deep", "4"));
  EXPECT_THAT(*store_->ListNames(At("t"), "on"), UnorderedElementsAre("one", "once", "on"));
  EXPECT_THAT(*store_->ListNames(At("t"), ""), UnorderedElementsAre("one", "once", "two", "on"));
  EXPECT_THAT(*store_->ListNames(At("absent"), "x"), IsEmpty());
}

TEST_P(StoreContract, KeepsManySmallAndLargeWritesInOrder) {
  const auto stream = store_->OpenForWrite(At("mixed"));
  ASSERT_OK(stream.status());
  std::string expected;
  for (int i = 0; i < 400; ++i) {
    const std::string part((i * 7919) % 5000, static_cast<char>('a' + i % 26));
    expected += part;
    ASSERT_OK((*stream)->Write(part));
    ASSERT_EQ(*(*stream)->Tell(), static_cast<int64_t>(expected.size()));
  }
  ASSERT_OK((*stream)->Close());
  EXPECT_TRUE((*stream)->closed());
  EXPECT_EQ(Read("mixed"), expected);
}

TEST_P(StoreContract, WritesAnEmptyFile) {
  ASSERT_OK(Put("empty", ""));
  EXPECT_EQ(Read("empty"), "");
  EXPECT_EQ((**store_->Stat(At("empty"))).size_bytes, 0);
}

TEST_P(StoreContract, RefusesToCreateAFileTwice) {
  ASSERT_OK(Put("file", "first"));
  EXPECT_EQ(KindOfFailure(store_->OpenForWrite(At("file")).status()), ErrorKind::kAlreadyExists);
  EXPECT_EQ(Read("file"), "first");
}

TEST_P(StoreContract, RefusesToCreateAFileThatSomebodyIsWriting) {
  const auto stream = store_->OpenForWrite(At("file"));
  ASSERT_OK(stream.status());
  EXPECT_EQ(KindOfFailure(store_->OpenForWrite(At("file")).status()), ErrorKind::kAlreadyExists);
  EXPECT_EQ(*store_->PublishIfAbsent(At("file"), "x"), PublishResult::kExists);
  ASSERT_OK((*stream)->Write("mine"));
  ASSERT_OK((*stream)->Close());
  EXPECT_EQ(Read("file"), "mine");
}

TEST_P(StoreContract, LeavesNothingOfAStreamThatWasDroppedOrAborted) {
  {
    const auto stream = store_->OpenForWrite(At("folder/dropped"));
    ASSERT_OK(stream.status());
    ASSERT_OK((*stream)->Write("half"));
  }
  const auto aborted = store_->OpenForWrite(At("folder/aborted"));
  ASSERT_OK(aborted.status());
  ASSERT_OK((*aborted)->Write("half"));
  ASSERT_OK((*aborted)->Abort());
  EXPECT_THAT(NamesIn("folder"), IsEmpty());
  ASSERT_OK(Put("folder/dropped", "again"));
}

TEST_P(StoreContract, RefusesWritesAfterClose) {
  const auto stream = store_->OpenForWrite(At("file"));
  ASSERT_OK(stream.status());
  ASSERT_OK((*stream)->Close());
  ASSERT_OK((*stream)->Close());
  EXPECT_FALSE((*stream)->Write("late").ok());
  EXPECT_EQ(Read("file"), "");
}

TEST_P(StoreContract, ReadsAtAnyPosition) {
  ASSERT_OK(Put("file", "0123456789"));
  const auto file = store_->OpenForRead(At("file"));
  ASSERT_OK(file.status());
  EXPECT_EQ(*(*file)->GetSize(), 10);
  EXPECT_EQ((*(*file)->ReadAt(3, 4))->ToString(), "3456");
  EXPECT_EQ((*(*file)->ReadAt(8, 1'000'000'000'000))->ToString(), "89")
      << "a length beyond the end allocates nothing";
  ASSERT_OK((*file)->Seek(7));
  EXPECT_EQ((*(*file)->Read(2))->ToString(), "78");
  EXPECT_EQ(*(*file)->Tell(), 9);
  char out[16];
  EXPECT_EQ(*(*file)->ReadAt(5, 3, out), 3);
  EXPECT_EQ(std::string(out, 3), "567");
}

TEST_P(StoreContract, ReadsAnOpenedFileFromManyThreads) {
  std::string bytes;
  for (int i = 0; i < 10'000; ++i) bytes += static_cast<char>(i * 31);
  ASSERT_OK(Put("file", bytes));
  const auto file = store_->OpenForRead(At("file"));
  ASSERT_OK(file.status());
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = t; i < 9'900; i += 37) {
        const auto got = (*file)->ReadAt(i, 100);
        if (!got.ok() || (*got)->ToString() != bytes.substr(i, 100)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(StoreContract, ReadsOnFromAnOpenedFileThatIsDeleted) {
  ASSERT_OK(Put("file", "still here"));
  const auto file = store_->OpenForRead(At("file"));
  ASSERT_OK(file.status());
  ASSERT_OK(store_->Delete(At("file")));
  EXPECT_EQ((*(*file)->ReadAt(0, 100))->ToString(), "still here");
}

TEST_P(StoreContract, SaysThatAMissingFileIsNotFound) {
  EXPECT_EQ(KindOfFailure(store_->ReadAll(At("none")).status()), ErrorKind::kNotFound);
  EXPECT_EQ(KindOfFailure(store_->OpenForRead(At("none/deeper")).status()), ErrorKind::kNotFound);
  EXPECT_THAT(store_->ReadAll(At("none")).status().message(), HasSubstr(At("none")));
  EXPECT_FALSE(store_->Stat(At("none"))->has_value());
  ASSERT_OK(Put("file", "x"));
  EXPECT_EQ(KindOfFailure(store_->ReadAll(At("file/below")).status()), ErrorKind::kNotFound);
  EXPECT_FALSE(store_->Stat(At("file/below"))->has_value());
}

TEST_P(StoreContract, RefusesFoldersAsFilesAndFilesAsFolders) {
  ASSERT_OK(Put("folder/file", "x"));
  EXPECT_EQ(KindOfFailure(store_->ReadAll(At("folder")).status()), ErrorKind::kInvalid);
  EXPECT_EQ(KindOfFailure(store_->OpenForRead(At("folder")).status()), ErrorKind::kInvalid);
  EXPECT_EQ(KindOfFailure(store_->Replace(At("folder"), "x")), ErrorKind::kInvalid);
  EXPECT_EQ(KindOfFailure(store_->Delete(At("folder"))), ErrorKind::kInvalid);
  EXPECT_EQ(KindOfFailure(store_->List(At("folder/file")).status()), ErrorKind::kInvalid);
  EXPECT_EQ(KindOfFailure(store_->OpenForWrite(At("folder/file/below")).status()), ErrorKind::kInvalid);
  EXPECT_EQ(KindOfFailure(store_->PublishIfAbsent(At("folder/file/below"), "x").status()),
            ErrorKind::kInvalid);
  EXPECT_EQ(KindOfFailure(store_->OpenForWrite(At("folder")).status()), ErrorKind::kAlreadyExists);
  EXPECT_EQ(*store_->PublishIfAbsent(At("folder"), "x"), PublishResult::kExists);
  EXPECT_THAT(NamesIn("folder"), ElementsAre("file"));
}

TEST_P(StoreContract, RefusesPathsThatAreNotAbsoluteAndPlain) {
  for (const std::string path : {"", "relative", "a/b", "/a//b", "/a/", "/a/../b", "/./a", "/a/.."}) {
    EXPECT_EQ(KindOfFailure(store_->ReadAll(path).status()), ErrorKind::kInvalid) << path;
    EXPECT_EQ(KindOfFailure(store_->PublishIfAbsent(path, "x").status()), ErrorKind::kInvalid) << path;
    EXPECT_EQ(KindOfFailure(store_->DeleteRecursively(path)), ErrorKind::kInvalid) << path;
  }
  EXPECT_EQ(KindOfFailure(store_->DeleteRecursively("/")), ErrorKind::kInvalid);
}

TEST_P(StoreContract, ListsTheDirectChildren) {
  ASSERT_OK(Put("t/one", "1"));
  ASSERT_OK(Put("t/two", "22"));
  ASSERT_OK(Put("t/sub/three", "333"));
  ASSERT_OK(Put("t-other", "x"));
  ASSERT_OK(Put("t/.hidden.tmp", "x"));
  EXPECT_THAT(NamesIn("t"), UnorderedElementsAre("one", "two", "sub/", ".hidden.tmp"));
  EXPECT_THAT(NamesIn(""), UnorderedElementsAre("t/", "t-other"));
  EXPECT_THAT(NamesIn("absent"), IsEmpty());
}

TEST_P(StoreContract, TellsSizeTimeAndKind) {
  const int64_t before = SystemClock().NowMs() - 2'000;
  ASSERT_OK(Put("folder/file", "12345"));
  const auto file = *store_->Stat(At("folder/file"));
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->path, At("folder/file"));
  EXPECT_EQ(file->size_bytes, 5);
  EXPECT_FALSE(file->is_directory);
  EXPECT_GT(file->modified_ms, before);
  EXPECT_LT(file->modified_ms, before + 60'000);
  const auto folder = *store_->Stat(At("folder"));
  ASSERT_TRUE(folder.has_value());
  EXPECT_TRUE(folder->is_directory);
  EXPECT_EQ(folder->size_bytes, 0);
}

TEST_P(StoreContract, ReplacesAFileWhole) {
  ASSERT_OK(store_->Replace(At("hints/LATEST"), "1"));
  ASSERT_OK(store_->Replace(At("hints/LATEST"), "22"));
  EXPECT_EQ(Read("hints/LATEST"), "22");
  EXPECT_THAT(NamesIn("hints"), ElementsAre("LATEST"));
}

TEST_P(StoreContract, ShowsAReaderTheOldOrTheNewBytesOfAReplacedFileOnly) {
  const std::string old_bytes(70'000, 'o');
  const std::string new_bytes(50'000, 'n');
  ASSERT_OK(store_->Replace(At("hint"), old_bytes));
  std::atomic<bool> end = false;
  std::thread writer([&] {
    for (int i = 0; i < 100; ++i)
      EXPECT_TRUE(store_->Replace(At("hint"), i % 2 == 0 ? new_bytes : old_bytes).ok());
    end = true;
  });
  int torn = 0;
  while (!end) {
    const std::string seen = Read("hint");
    if (seen != old_bytes && seen != new_bytes) ++torn;
  }
  writer.join();
  EXPECT_EQ(torn, 0);
}

TEST_P(StoreContract, PublishesOnlyWhereNothingIs) {
  EXPECT_EQ(*store_->PublishIfAbsent(At("snapshot/snapshot-1"), "first"), PublishResult::kPublished);
  EXPECT_EQ(*store_->PublishIfAbsent(At("snapshot/snapshot-1"), "second"), PublishResult::kExists);
  EXPECT_EQ(Read("snapshot/snapshot-1"), "first");
  EXPECT_THAT(NamesIn("snapshot"), ElementsAre("snapshot-1")) << "no temporary file is left";
}

TEST_P(StoreContract, PublishesUnderTheLongestNames) {
  const std::string name(255, 'n');
  EXPECT_EQ(*store_->PublishIfAbsent(At(name), "x"), PublishResult::kPublished);
  EXPECT_THAT(NamesIn(""), ElementsAre(name));
}

TEST_P(StoreContract, HasOneWinnerWhenSixteenThreadsPublishAtOnce) {
  constexpr int kThreads = 16;
  constexpr int kRounds = 200;
  std::atomic<int> winners[kRounds] = {};
  std::atomic<int> winner_of[kRounds] = {};
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < kRounds; ++round) {
        const auto result =
            store_->PublishIfAbsent(At("snapshot/snapshot-" + std::to_string(round)), std::to_string(t));
        if (!result.ok()) {
          ++failures;
        } else if (*result == PublishResult::kPublished) {
          ++winners[round];
          winner_of[round] = t;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  for (int round = 0; round < kRounds; ++round) {
    ASSERT_EQ(winners[round], 1) << "round " << round;
    ASSERT_EQ(Read("snapshot/snapshot-" + std::to_string(round)), std::to_string(winner_of[round]))
        << "round " << round;
  }
  EXPECT_EQ(NamesIn("snapshot").size(), static_cast<size_t>(kRounds));
}

TEST_P(StoreContract, DeletesAndDoesNotMindWhatIsAbsent) {
  ASSERT_OK(Put("folder/file", "x"));
  ASSERT_OK(store_->Delete(At("folder/file")));
  ASSERT_OK(store_->Delete(At("folder/file")));
  ASSERT_OK(store_->Delete(At("nowhere/file")));
  ASSERT_OK(store_->DeleteRecursively(At("nowhere")));
  EXPECT_THAT(NamesIn("folder"), IsEmpty());
  EXPECT_EQ(*store_->PublishIfAbsent(At("folder/file"), "again"), PublishResult::kPublished);
}

TEST_P(StoreContract, DeletesAFolderWithAllBelowItAndNothingBeside) {
  ASSERT_OK(Put("db/t/a/b/file", "x"));
  ASSERT_OK(Put("db/t/file", "x"));
  ASSERT_OK(Put("db/t2/file", "x"));
  ASSERT_OK(store_->DeleteRecursively(At("db/t")));
  EXPECT_THAT(NamesIn("db"), ElementsAre("t2/"));
}

TEST_P(StoreContract, MovesAFolderWithAllBelowIt) {
  ASSERT_OK(Put("db/old/schema/schema-0", "s"));
  ASSERT_OK(Put("db/old/file", "x"));
  ASSERT_OK(Put("db/old2/file", "beside"));
  ASSERT_OK(store_->RenameDirectory(At("db/old"), At("other/new")));
  EXPECT_THAT(NamesIn("db"), ElementsAre("old2/"));
  EXPECT_EQ(Read("other/new/schema/schema-0"), "s");
  EXPECT_THAT(NamesIn("other/new"), UnorderedElementsAre("schema/", "file"));
}

TEST_P(StoreContract, NeverMovesAFolderOverAnother) {
  ASSERT_OK(Put("from/file", "x"));
  ASSERT_OK(Put("to/file", "y"));
  ASSERT_OK(Put("empty/file", "z"));
  ASSERT_OK(store_->Delete(At("empty/file")));
  EXPECT_EQ(KindOfFailure(store_->RenameDirectory(At("from"), At("to"))), ErrorKind::kAlreadyExists);
  EXPECT_EQ(KindOfFailure(store_->RenameDirectory(At("from"), At("empty"))), ErrorKind::kAlreadyExists);
  EXPECT_EQ(KindOfFailure(store_->RenameDirectory(At("absent"), At("new"))), ErrorKind::kNotFound);
  EXPECT_EQ(KindOfFailure(store_->RenameDirectory(At("from/file"), At("new"))), ErrorKind::kInvalid);
  EXPECT_EQ(KindOfFailure(store_->RenameDirectory(At("from"), At("from/inside"))), ErrorKind::kInvalid);
  EXPECT_EQ(Read("from/file"), "x");
  EXPECT_EQ(Read("to/file"), "y");
}

}  // namespace
}  // namespace headrace
