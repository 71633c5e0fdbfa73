// What only the disk can do to us: limits, permissions, links, other processes.
#include "io/local_store.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/uuid.h"
#include "io/posix_file.h"
#include "io/store_path.h"

namespace headrace {
namespace {

using testing::HasSubstr;

class LocalStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string base = testing::TempDir();
    while (base.size() > 1 && base.back() == '/') base.pop_back();
    root_ = JoinPath(base, "headrace-local-" + NewUuid());
    std::filesystem::create_directories(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::string At(const std::string& relative) const { return JoinPath(root_, relative); }
  size_t CountBelow(const std::string& directory) const {
    const std::filesystem::recursive_directory_iterator all(directory);
    return static_cast<size_t>(std::distance(begin(all), end(all)));
  }

  LocalStore store_;
  std::string root_;
};

// Runs `body` in a child process; its exit status, or -1 when it died.
int InChild(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(LocalStoreTest, HasOneWinnerWhenSixProcessesPublishAtOnce) {
  constexpr int kProcesses = 6;
  constexpr int kRounds = 100;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = fork();
    if (child == 0) {
      LocalStore own;
      std::string won;
      for (int round = 0; round < kRounds; ++round) {
        const auto result =
            own.PublishIfAbsent(At("snapshot/snapshot-" + std::to_string(round)), std::to_string(p));
        if (!result.ok()) _exit(1);
        if (*result == PublishResult::kPublished) won += std::to_string(round) + "\n";
      }
      _exit(own.Replace(At("won-by-" + std::to_string(p)), won).ok() ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }

  int wins = 0;
  for (int p = 0; p < kProcesses; ++p) {
    std::ifstream won(At("won-by-" + std::to_string(p)));
    for (int round = 0; won >> round; ++wins) {
      EXPECT_EQ(*store_.ReadAll(At("snapshot/snapshot-" + std::to_string(round))), std::to_string(p))
          << "round " << round;
    }
  }
  EXPECT_EQ(wins, kRounds);
  EXPECT_EQ(CountBelow(At("snapshot")), static_cast<size_t>(kRounds)) << "no temporary files are left";
}

TEST_F(LocalStoreTest, LeavesOnlyWholeFilesUnderTheirNamesWhenAPublisherIsKilled) {
  const std::string bytes(200'000, 'b');
  for (int round = 0; round < 20; ++round) {
    const std::string folder = "round-" + std::to_string(round);
    const pid_t child = fork();
    if (child == 0) {
      for (int i = 0;; ++i) {
        const bool published = store_.PublishIfAbsent(At(folder + "/p" + std::to_string(i)), bytes).ok();
        if (!published || !store_.Replace(At(folder + "/hint"), bytes).ok()) _exit(1);
      }
    }
    usleep(static_cast<useconds_t>(500 + 700 * round));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status));
    for (const FileInfo& info : *store_.List(At(folder))) {
      const bool temporary = NameIn(info.path).starts_with(".");
      EXPECT_TRUE(temporary || info.size_bytes == static_cast<int64_t>(bytes.size())) << info.path;
    }
  }
}

// The limit of the size of files stands in for a full disk: the first kilobyte is written, then write(2) refuses.
TEST_F(LocalStoreTest, LeavesNothingBehindWhenThereIsNoRoom) {
  const auto with_little_room = [&](const std::function<Status()>& act) {
    return InChild([&] {
      signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{1024, 1024};
      if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
      const Status status = act();
      return IsKind(status, ErrorKind::kIo) && status.message().find(root_) != std::string::npos ? 0 : 1;
    });
  };
  const std::string large(300'000, 'x');
  EXPECT_EQ(with_little_room([&] { return store_.PublishIfAbsent(At("published"), large).status(); }), 0);
  EXPECT_EQ(with_little_room([&] { return store_.Replace(At("replaced"), large); }), 0);
  EXPECT_EQ(with_little_room([&]() -> Status {
              HEADRACE_ASSIGN_OR_RETURN(const auto stream, store_.OpenForWrite(At("streamed")));
              const Status written = stream->Write(large);
              // Close() must not turn a file with a gap into a good one.
              return written.ok() ? written : stream->Close();
            }),
            0);
  EXPECT_EQ(CountBelow(root_), 0u);
}

TEST_F(LocalStoreTest, KeepsTheOldBytesWhenReplacingFails) {
  ASSERT_TRUE(store_.Replace(At("hint"), "old").ok());
  EXPECT_EQ(InChild([&] {
              signal(SIGXFSZ, SIG_IGN);
              const rlimit limit{10, 10};
              setrlimit(RLIMIT_FSIZE, &limit);
              return store_.Replace(At("hint"), std::string(1000, 'n')).ok() ? 1 : 0;
            }),
            0);
  EXPECT_EQ(*store_.ReadAll(At("hint")), "old");
}

TEST_F(LocalStoreTest, ReportsTooManyOpenFilesWithTheWayOut) {
  ASSERT_TRUE(store_.Replace(At("file"), "x").ok());
  ASSERT_EQ(*store_.ReadAll(At("file")), "x");
  EXPECT_EQ(InChild([&] {
              // An error before: a sanitizer that meets its types for the first time needs a descriptor to look at them.
              if (store_.ReadAll(At("absent")).ok()) return 2;
              const rlimit limit{32, 32};
              setrlimit(RLIMIT_NOFILE, &limit);
              while (dup(0) >= 0) {
              }
              const Status status = store_.ReadAll(At("file")).status();
              return IsKind(status, ErrorKind::kIo) && status.message().find("ulimit -n") != std::string::npos
                         ? 0
                         : 1;
            }),
            0);
}

TEST_F(LocalStoreTest, ReportsMissingPermission) {
  ASSERT_TRUE(store_.Replace(At("closed/file"), "x").ok());
  ASSERT_EQ(chmod(At("closed").c_str(), 0555), 0);
  const auto as_nobody = [&](const std::function<Status()>& act) {
    return InChild([&] {
      if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) return 2;
      const Status status = act();
      return IsKind(status, ErrorKind::kIo) && status.message().find("permission") != std::string::npos ? 0
                                                                                                        : 1;
    });
  };
  EXPECT_EQ(as_nobody([&] { return store_.PublishIfAbsent(At("closed/new"), "x").status(); }), 0);
  EXPECT_EQ(as_nobody([&] { return store_.OpenForWrite(At("closed/new")).status(); }), 0);
  EXPECT_EQ(as_nobody([&] { return store_.Delete(At("closed/file")); }), 0);
  EXPECT_EQ(as_nobody([&] { return store_.DeleteRecursively(At("closed")); }), 0);
  ASSERT_EQ(chmod(At("closed").c_str(), 0755), 0);
  EXPECT_EQ(*store_.ReadAll(At("closed/file")), "x");
}

TEST_F(LocalStoreTest, FollowsLinksToFoldersButDeletesOnlyTheLink) {
  ASSERT_TRUE(store_.Replace(At("real/file"), "precious").ok());
  std::filesystem::create_directory_symlink(At("real"), At("table"));
  std::filesystem::create_symlink(At("gone"), At("dangling"));
  EXPECT_EQ(*store_.ReadAll(At("table/file")), "precious");
  std::vector<std::string> folders;
  for (const FileInfo& info : *store_.List(root_)) {
    EXPECT_NE(info.path, At("dangling"));
    if (info.is_directory) folders.push_back(info.path);
  }
  EXPECT_THAT(folders, testing::UnorderedElementsAre(At("real"), At("table")));
  ASSERT_TRUE(store_.DeleteRecursively(At("table")).ok());
  EXPECT_EQ(*store_.ReadAll(At("real/file")), "precious");
}

TEST_F(LocalStoreTest, ReadsFilesThatTellNoSize) {
  // Files below /proc say that they have no bytes, and then have some.
  const auto text = store_.ReadAll("/proc/self/status");
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  EXPECT_THAT(*text, HasSubstr("Name:"));
}

TEST_F(LocalStoreTest, RefusesToReadAHugeFileWhole) {
  const FileDescriptor file(open(At("huge").c_str(), O_CREAT | O_WRONLY, 0644));
  ASSERT_EQ(ftruncate(file.get(), int64_t{1} << 40), 0);
  EXPECT_TRUE(IsKind(store_.ReadAll(At("huge")).status(), ErrorKind::kOverBudget));
}

TEST_F(LocalStoreTest, NeitherWaitsForAPipeNorReadsADevice) {
  ASSERT_EQ(mkfifo(At("pipe").c_str(), 0644), 0);
  std::filesystem::create_symlink("/dev/zero", At("zeros"));
  for (const std::string& path : {At("pipe"), At("zeros")}) {
    EXPECT_TRUE(IsKind(store_.ReadAll(path).status(), ErrorKind::kInvalid)) << path;
    EXPECT_TRUE(IsKind(store_.OpenForRead(path).status(), ErrorKind::kInvalid)) << path;
  }
}

TEST_F(LocalStoreTest, MakesAnyPathAbsolute) {
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(*AbsoluteLocalPath("/a/b"), "/a/b");
  EXPECT_EQ(*AbsoluteLocalPath("/a//b/./c/../d/"), "/a/b/d");
  EXPECT_EQ(*AbsoluteLocalPath("x/y"), JoinPath(here, "x/y"));
  EXPECT_EQ(*AbsoluteLocalPath("."), here);
  EXPECT_EQ(*AbsoluteLocalPath("/"), "/");
  EXPECT_TRUE(IsKind(AbsoluteLocalPath("").status(), ErrorKind::kInvalid));
  EXPECT_TRUE(IsKind(AbsoluteLocalPath(std::string_view("a\0b", 3)).status(), ErrorKind::kInvalid));
}

}  // namespace
}  // namespace headrace
