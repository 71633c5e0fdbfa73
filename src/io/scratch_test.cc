#include "io/scratch.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <arrow/buffer.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace headrace {
namespace {

std::vector<uint8_t> Bytes(size_t count, uint64_t seed) {
  Random random(seed);
  std::vector<uint8_t> bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.Below(256));
  return bytes;
}

class ScratchTest : public ::testing::Test {
 protected:
  ScratchTest() : folder_(::testing::TempDir() + "scratch-" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~ScratchTest() override { std::filesystem::remove_all(folder_); }

  const std::string folder_;
};

TEST_F(ScratchTest, GivesBackWhatWasPutAsideAndLeavesNoName) {
  LocalScratch scratch(folder_);
  std::vector<ScratchExtent> extents;
  for (uint64_t i = 0; i < 50; ++i) extents.push_back(scratch.Write(Bytes(i * 997, i)).ValueOrDie());
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  for (uint64_t i = 0; i < 50; i += 2) scratch.Free(extents[i]);
  for (uint64_t i = 1; i < 50; i += 2) {
    const std::shared_ptr<arrow::Buffer> read =
        scratch.Read(extents[i], arrow::default_memory_pool()).ValueOrDie();
    const std::vector<uint8_t> expected = Bytes(i * 997, i);
    EXPECT_EQ(read->ToString(), std::string(expected.begin(), expected.end())) << i;
    scratch.Free(extents[i]);
  }
  EXPECT_EQ(scratch.bytes_in_use(), 0);
  EXPECT_EQ(scratch.Write(Bytes(10, 1)).ValueOrDie().offset, 0) << "the room is used again";
}

TEST_F(ScratchTest, TellsTheFolderThatIsNotThere) {
  LocalScratch scratch(folder_ + "/absent");
  const Status status = scratch.Write(Bytes(10, 1)).status();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find(folder_ + "/absent"), std::string::npos) << status.message();
}

TEST_F(ScratchTest, ToldOtherBytesThanWereWrittenItSaysSo) {
  LocalScratch scratch(folder_);
  ScratchExtent extent = scratch.Write(Bytes(1000, 1)).ValueOrDie();
  extent.hash ^= 1;
  EXPECT_EQ(KindOf(scratch.Read(extent, arrow::default_memory_pool()).status()), ErrorKind::kCorruption);
}

// The limit of the size of files stands in for a full disk: the process that has it ends with the test.
TEST_F(ScratchTest, AFullDiskIsToldAndNothingIsLost) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100'000, 100'000};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(2);
    LocalScratch scratch(folder_);
    const ScratchExtent kept = scratch.Write(Bytes(60'000, 1)).ValueOrDie();
    const Status full = scratch.Write(Bytes(60'000, 2)).status();
    const bool told = IsKind(full, ErrorKind::kIo) && full.message().find(folder_) != std::string::npos;
    const bool still_there = scratch.Read(kept, arrow::default_memory_pool()).ok();
    _exit(told && still_there && scratch.bytes_in_use() == 60'000 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace headrace
