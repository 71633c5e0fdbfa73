// Whatever bytes stand in a table's files, a check ends with a report: never a crash, an error or memory without bound.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>

#include <arrow/memory_pool.h>
#include <gtest/gtest.h>

#include "forge.h"
#include "io/local_store.h"
#include "maintain/check.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> FilesOf(const ForgedTable& table) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(table.path())) {
    if (entry.is_regular_file()) files.push_back(fs::relative(entry.path(), table.path()).string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string Mutated(std::string bytes, std::mt19937* random) {
  const auto below = [&](size_t n) { return n == 0 ? 0 : (*random)() % n; };
  switch (below(5)) {
    case 0: return bytes.substr(0, below(bytes.size() + 1));
    case 1:
      for (int i = 0; i < 8 && !bytes.empty(); ++i)
        bytes[below(bytes.size())] = static_cast<char>(below(256));
      return bytes;
    case 2: {  // large numbers where lengths and counts stand
      const size_t at = below(bytes.size());
      for (size_t i = at; i < std::min(bytes.size(), at + 6); ++i) bytes[i] = '\xff';
      return bytes;
    }
    case 3: return bytes + bytes;
    default:
      if (!bytes.empty()) bytes.erase(below(bytes.size()), 1 + below(20));
      return bytes;
  }
}

class Hostile : public testing::TestWithParam<const char*> {};

TEST_P(Hostile, BytesEndInAReport) {
  const char* chosen = std::getenv("HEADRACE_ROUNDS");
  const int rounds = chosen == nullptr ? 60 : std::atoi(chosen);
  const ForgedTable table(GetParam());
  const std::vector<std::string> files = FilesOf(table);
  std::mt19937 random(7);
  for (int round = 0; round < rounds; ++round) {
    const std::string& file = files[random() % files.size()];
    SCOPED_TRACE(file + ", round " + std::to_string(round));
    const std::string bytes = table.Read(file);
    table.Write(file, Mutated(bytes, &random));
    CheckTarget target{std::make_shared<LocalStore>(), std::make_shared<SystemClock>(), table.path(), "db.t"};
    target.memory_bytes = 64 << 20;
    CheckOptions options;
    options.data = options.all = true;
    const Result<CheckReport> report = RunCheck(target, options);
    EXPECT_TRUE(report.ok()) << report.status();
    table.Write(file, bytes);
  }
  EXPECT_LT(arrow::default_memory_pool()->max_memory(), 256 << 20);
}

INSTANTIATE_TEST_SUITE_P(Tables, Hostile,
                         testing::Values("keyed", "append", "dv-pk/t_none", "time-travel/tagged",
                                         "bucket-dynamic/flat", "schema-evolution/keyed"),
                         [](const testing::TestParamInfo<const char*>& info) {
                           std::string name = info.param;
                           std::replace_if(
                               name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; },
                               '_');
                           return name;
                         });

}  // namespace
}  // namespace headrace
