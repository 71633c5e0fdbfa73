// The metadata files of the fixture tables written by Java Paimon 1.3.1, for tests.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

inline std::string ReadGolden(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// Files named `prefix`… in folders named `folder`, of all fixture tables and their branches, sorted.
inline std::vector<std::filesystem::path> GoldenFiles(std::string_view folder, std::string_view prefix) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(HEADRACE_FIXTURES)) {
    if (!entry.is_regular_file() || entry.path().parent_path().filename() != folder) continue;
    if (entry.path().string().find("/warehouse/") == std::string::npos) continue;
    if (entry.path().filename().string().starts_with(prefix)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

inline std::filesystem::path GoldenTable(std::string_view fixture, std::string_view table) {
  return std::filesystem::path(HEADRACE_FIXTURES) / fixture / "warehouse" / "peer.db" / table;
}

}  // namespace headrace
