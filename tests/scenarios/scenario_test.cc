// Every *.scenario file below this folder is a test of its own, named by the file.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/scenarios/play.h"

namespace headrace::scenario {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> ScenarioFiles() {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(HEADRACE_SCENARIOS))
    if (entry.path().extension() == ".scenario")
      files.push_back(fs::relative(entry.path(), HEADRACE_SCENARIOS).string());
  std::sort(files.begin(), files.end());
  return files;
}

std::string NameOfTest(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param.substr(0, info.param.rfind('.'));
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

class ScenarioFile : public ::testing::TestWithParam<std::string> {};

TEST_P(ScenarioFile, Holds) {
  const fs::path path = fs::path(HEADRACE_SCENARIOS) / GetParam();
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  const auto scenario = ParseScenario(text.str(), "tests/scenarios/" + GetParam());
  ASSERT_TRUE(scenario.ok()) << scenario.status().message();
  const Status played = Play(*scenario);
  EXPECT_TRUE(played.ok()) << played.message();
}

INSTANTIATE_TEST_SUITE_P(All, ScenarioFile, ::testing::ValuesIn(ScenarioFiles()), NameOfTest);

}  // namespace
}  // namespace headrace::scenario
