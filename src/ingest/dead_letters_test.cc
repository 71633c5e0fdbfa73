#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ingest/dead_letters.h"
#include "ingest/encoded_bytes.h"
#include "ingest/json_tape.h"

namespace headrace::ingest {
namespace {

using ::testing::HasSubstr;

class DeadLettersTest : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  std::string Text() const {
    std::ifstream file(path_, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  const std::string path_ =
      std::filesystem::temp_directory_path() / ("headrace-dead-" + std::to_string(::getpid()));
};

TEST_F(DeadLettersTest, KeepTheExactBytesOfARecord) {
  auto letters = *DeadLetters::Open(path_, "job", 0);
  const std::string text = "{\"a\":\"\\u0000 tab\there\"}\r";
  const std::string not_utf8 = "caf\xE9";
  letters->Add({"in", "line", 1, "after.a", "bad \"thing\"", text});
  letters->Add({"in", "line", 2, "", "not UTF-8", not_utf8});
  ASSERT_TRUE(letters->Sync().ok());
  std::stringstream lines(Text());
  std::string line;
  JsonTape tape;
  ASSERT_TRUE(std::getline(lines, line) && tape.Parse(line)) << line;
  EXPECT_EQ(FindMember(tape.root(), "record")->view(), text);
  EXPECT_EQ(FindMember(tape.root(), "line")->view(), "1");
  EXPECT_EQ(FindMember(tape.root(), "reason")->view(), "bad \"thing\"");
  ASSERT_TRUE(std::getline(lines, line) && tape.Parse(line)) << line;
  std::string bytes;
  ASSERT_TRUE(DecodeBase64(FindMember(tape.root(), "recordBase64")->view(), false, &bytes));
  EXPECT_EQ(bytes, not_utf8);
}

TEST_F(DeadLettersTest, AreCutBackToThePosition) {
  int64_t counted = 0;
  {
    auto letters = *DeadLetters::Open(path_, "job", 0);
    letters->Add({"in", "line", 1, "", "x", "one"});
    ASSERT_TRUE(letters->Sync().ok());
    counted = letters->bytes();
    letters->Add({"in", "line", 2, "", "x", "two"});
    ASSERT_TRUE(letters->Sync().ok());  // and then killed before the commit
  }
  auto letters = *DeadLetters::Open(path_, "job", counted);
  EXPECT_EQ(static_cast<int64_t>(Text().size()), counted);
  EXPECT_THAT(Text(), HasSubstr("one"));
}

TEST_F(DeadLettersTest, OfAnotherJobAreLeftAlone) {
  { std::ofstream(path_) << "notes of mine\n"; }
  EXPECT_THAT(DeadLetters::Open(path_, "job", 0).status().ToString(), HasSubstr("did not write"));
  EXPECT_EQ(Text(), "notes of mine\n");
}

TEST_F(DeadLettersTest, ThatShrankAreAnError) {
  { std::ofstream(path_) << "{\"job\":\"job\",\n"; }
  EXPECT_THAT(DeadLetters::Open(path_, "job", 1000).status().ToString(), HasSubstr("1000 bytes"));
}

}  // namespace
}  // namespace headrace::ingest
