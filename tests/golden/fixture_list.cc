#include "fixture_list.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace headrace {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> LinesOfFile(const fs::path& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> SplitAtCommas(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

fs::path Fixtures() { return HEADRACE_FIXTURES; }

}  // namespace

std::string FixtureTable::path() const {
  return (Fixtures() / fixture / "warehouse" / "peer.db" / table).string();
}

std::ostream& operator<<(std::ostream& out, const FixtureTable& table) {
  return out << table.fixture << " " << table.table;
}

std::vector<FixtureTable> ListedTables() {
  std::vector<FixtureTable> tables;
  for (const std::string& line : LinesOfFile(Fixtures().parent_path() / "golden" / "fixtures.txt")) {
    std::istringstream words(line.substr(0, line.find('#')));
    FixtureTable table;
    std::string verdict;
    if (words >> table.fixture >> table.table >> verdict) {
      if (verdict == "refuses") words >> table.refused_option;
      for (std::string extra; words >> extra;) {
        if (extra.starts_with("without=")) table.without = SplitAtCommas(extra.substr(8));
        if (extra.starts_with("unordered=")) table.unordered = SplitAtCommas(extra.substr(10));
      }
      tables.push_back(std::move(table));
    }
  }
  return tables;
}

std::vector<std::string> TablesOnDisk() {
  std::vector<std::string> tables;
  for (const auto& fixture : fs::directory_iterator(Fixtures())) {
    const fs::path database = fixture.path() / "warehouse" / "peer.db";
    if (!fs::exists(database)) continue;
    for (const auto& table : fs::directory_iterator(database)) {
      if (fs::exists(table.path() / "schema")) {
        tables.push_back(fixture.path().filename().string() + " " + table.path().filename().string());
      }
    }
  }
  std::sort(tables.begin(), tables.end());
  return tables;
}

std::vector<Expectation> ExpectationsOf(const FixtureTable& table) {
  std::vector<Expectation> expectations;
  const std::string prefix = table.table + ".";
  for (const auto& file : fs::directory_iterator(Fixtures() / table.fixture / "expected")) {
    const std::string name = file.path().filename().string();
    if (!name.starts_with(prefix) || !name.ends_with(".jsonl")) continue;
    expectations.push_back(
        {name.substr(prefix.size(), name.size() - prefix.size() - 6), LinesOfFile(file.path())});
  }
  std::sort(expectations.begin(), expectations.end(),
            [](const auto& a, const auto& b) { return a.what < b.what; });
  return expectations;
}

}  // namespace headrace
