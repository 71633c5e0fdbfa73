// The fault store fails when, and only when, it was told to.
#include "io/fault_store.h"

#include <arrow/io/interfaces.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/memory_store.h"

namespace headrace {
namespace {

using testing::ElementsAre;

class FaultStoreTest : public testing::Test {
 protected:
  Status WriteFile(const std::string& path) {
    HEADRACE_ASSIGN_OR_RETURN(const auto stream, store_.OpenForWrite(path));
    HEADRACE_RETURN_NOT_OK(stream->Write("0123456789"));
    HEADRACE_RETURN_NOT_OK(stream->Write("abcdefghij"));
    return stream->Close();
  }

  std::vector<StoreOperation> Kinds() {
    std::vector<StoreOperation> kinds;
    for (const LoggedOperation& operation : store_.log()) kinds.push_back(operation.operation);
    return kinds;
  }

  std::shared_ptr<MemoryStore> below_ = std::make_shared<MemoryStore>();
  FaultStore store_{below_};
};

TEST_F(FaultStoreTest, LogsEveryStep) {
  ASSERT_TRUE(WriteFile("/a").ok());
  const auto file = *store_.OpenForRead("/a");
  ASSERT_TRUE(file->ReadAt(0, 4).ok());
  ASSERT_TRUE(store_.PublishIfAbsent("/p", "xyz").ok());
  EXPECT_FALSE(store_.ReadAll("/none").ok());
  EXPECT_THAT(Kinds(),
              ElementsAre(StoreOperation::kOpenForWrite, StoreOperation::kWrite, StoreOperation::kWrite,
                          StoreOperation::kClose, StoreOperation::kOpenForRead, StoreOperation::kRead,
                          StoreOperation::kPublish, StoreOperation::kReadAll));
  EXPECT_EQ(store_.log()[1].bytes, 10);
  EXPECT_EQ(store_.log()[6].path, "/p");
  EXPECT_EQ(store_.log()[6].bytes, 3);
  EXPECT_TRUE(store_.log()[6].done);
  EXPECT_FALSE(store_.log()[7].done);
}

TEST_F(FaultStoreTest, FailsEachOperationOnceInASweep) {
  int64_t at = 0;
  for (;; ++at) {
    ASSERT_TRUE(below_->DeleteRecursively("/t").ok());
    store_.SetPlan({.kind = FaultKind::kFail, .at = at});
    const Status status = WriteFile("/t/file");
    if (!store_.fired()) {
      EXPECT_TRUE(status.ok());
      break;
    }
    EXPECT_TRUE(IsKind(status, ErrorKind::kIo)) << at;
    EXPECT_FALSE(below_->Stat("/t/file")->has_value()) << at;
    EXPECT_TRUE(store_.Replace("/other", "x").ok()) << "only one operation fails";
  }
  EXPECT_EQ(at, 4);
}

TEST_F(FaultStoreTest, StopsForGood) {
  store_.SetPlan({.kind = FaultKind::kStop, .at = 1});
  ASSERT_TRUE(store_.Replace("/a", "x").ok());
  EXPECT_FALSE(store_.Replace("/b", "x").ok());
  EXPECT_FALSE(store_.ReadAll("/a").ok());
  EXPECT_FALSE(store_.Delete("/a").ok());
  EXPECT_TRUE(below_->Stat("/a")->has_value());
  EXPECT_FALSE(below_->Stat("/b")->has_value());
  store_.SetPlan({});
  EXPECT_TRUE(store_.ReadAll("/a").ok());
}

TEST_F(FaultStoreTest, LeavesAHalfWrittenFile) {
  store_.SetPlan({.kind = FaultKind::kTearAndStop, .at = 2});
  EXPECT_FALSE(WriteFile("/torn").ok());
  EXPECT_EQ(*below_->ReadAll("/torn"), "0123456789abcde");
}

TEST_F(FaultStoreTest, LetsReadsAndDeletesThroughWhenTheDiskIsFull) {
  ASSERT_TRUE(store_.Replace("/a", "x").ok());
  store_.SetPlan({.kind = FaultKind::kDiskFull, .at = 0});
  EXPECT_TRUE(store_.ReadAll("/a").ok());
  EXPECT_TRUE(IsKind(store_.Replace("/b", "x"), ErrorKind::kIo));
  EXPECT_TRUE(IsKind(store_.OpenForWrite("/b").status(), ErrorKind::kIo));
  EXPECT_TRUE(store_.Delete("/a").ok());
}

TEST_F(FaultStoreTest, LeavesThePublisherInDoubtBothWays) {
  store_.SetPlan({.kind = FaultKind::kPublishUnknown, .at = 0});
  ASSERT_TRUE(store_.Replace("/not-counted", "x").ok());
  EXPECT_TRUE(IsKind(store_.PublishIfAbsent("/done", "x").status(), ErrorKind::kCommitUnknown));
  EXPECT_EQ(*store_.PublishIfAbsent("/done", "x"), PublishResult::kExists);

  store_.SetPlan({.kind = FaultKind::kPublishUnknownLost, .at = 0});
  EXPECT_TRUE(IsKind(store_.PublishIfAbsent("/lost", "x").status(), ErrorKind::kCommitUnknown));
  EXPECT_EQ(*store_.PublishIfAbsent("/lost", "x"), PublishResult::kPublished);

  store_.SetPlan({.kind = FaultKind::kPublishLate, .at = 0});
  EXPECT_TRUE(IsKind(store_.PublishIfAbsent("/late", "first").status(), ErrorKind::kCommitUnknown));
  EXPECT_FALSE(store_.Stat("/late")->has_value());
  EXPECT_EQ(*store_.PublishIfAbsent("/late", "second"), PublishResult::kExists);
  EXPECT_EQ(*below_->ReadAll("/late"), "first");

  store_.SetPlan({.kind = FaultKind::kPublishDoneAndStop, .at = 0});
  EXPECT_FALSE(store_.PublishIfAbsent("/unheard", "x").ok());
  EXPECT_FALSE(store_.ReadAll("/unheard").ok());
  EXPECT_EQ(*below_->ReadAll("/unheard"), "x");
}

TEST_F(FaultStoreTest, CountsOnlyWhatThePlanPicks) {
  store_.SetPlan(
      {.kind = FaultKind::kFail, .at = 1, .counts = [](StoreOperation operation, const std::string& path) {
         return Changes(operation) && path.starts_with("/t/");
       }});
  EXPECT_TRUE(store_.Replace("/other", "x").ok());
  EXPECT_TRUE(store_.Replace("/t/a", "x").ok());
  EXPECT_TRUE(store_.ReadAll("/t/a").ok());
  EXPECT_FALSE(store_.Replace("/t/a", "y").ok());
  EXPECT_TRUE(store_.Replace("/t/a", "z").ok());
  EXPECT_TRUE(store_.fired());
}

TEST_F(FaultStoreTest, CallsTheHookBeforeTheOperation) {
  store_.SetHook([&](StoreOperation operation, const std::string& path) {
    if (operation == StoreOperation::kPublish) below_->PublishIfAbsent(path, "somebody else").ValueOrDie();
  });
  EXPECT_EQ(*store_.PublishIfAbsent("/snapshot-1", "me"), PublishResult::kExists);
}

}  // namespace
}  // namespace headrace
