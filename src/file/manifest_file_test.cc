// Manifest lists, manifests and index manifests of every fixture table, whatever they are stored in.
#include <filesystem>
#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "file/manifest_file.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

std::string Slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<fs::path> ManifestFolders() {
  std::vector<fs::path> folders;
  for (const auto& path : fs::recursive_directory_iterator(HEADRACE_FIXTURES)) {
    if (path.is_directory() && path.path().filename() == "manifest") folders.push_back(path.path());
  }
  return folders;
}

TEST(ManifestFilesOfTheFixtures, AgreeWithTheListsThatNameThem) {
  std::map<ManifestContainer, int> lists;
  for (const fs::path& folder : ManifestFolders()) {
    for (const auto& file : fs::directory_iterator(folder)) {
      const std::string name = file.path().filename().string();
      const std::string bytes = Slurp(file.path());
      if (name.starts_with("index-manifest-")) {
        EXPECT_TRUE(ReadIndexManifest(bytes, name).ok()) << ReadIndexManifest(bytes, name).status();
      }
      if (!name.starts_with("manifest-list-")) continue;
      ++lists[DetectManifestContainer(bytes, name).ValueOrDie()];
      const auto manifests = ReadManifestList(bytes, name);
      ASSERT_TRUE(manifests.ok()) << folder << ": " << manifests.status();
      for (const ManifestFileMeta& manifest : *manifests) {
        if (!fs::exists(folder / manifest.name)) continue;  // expired
        const std::string manifest_bytes = Slurp(folder / manifest.name);
        EXPECT_EQ(manifest.size_bytes, static_cast<int64_t>(manifest_bytes.size()));
        const auto entries = ReadManifest(manifest_bytes, manifest.name);
        ASSERT_TRUE(entries.ok()) << folder << ": " << entries.status();
        EXPECT_EQ(manifest.added_files + manifest.deleted_files, static_cast<int64_t>(entries->size()));
      }
    }
  }
  EXPECT_GT(lists[ManifestContainer::kAvro], 500);
  EXPECT_GT(lists[ManifestContainer::kOrc], 5);
  EXPECT_GT(lists[ManifestContainer::kParquet], 5);
}

TEST(AManifestFile, ThatIsCutShortOrDamagedIsAnErrorNamingIt) {
  for (const char* table : {"orc", "parquet"}) {
    const fs::path folder = fs::path(HEADRACE_FIXTURES) / "manifests/warehouse/peer.db" / table / "manifest";
    for (const auto& file : fs::directory_iterator(folder)) {
      const std::string name = file.path().filename().string();
      if (!name.starts_with("manifest-") || name.starts_with("manifest-list")) continue;
      const std::string bytes = Slurp(file.path());
      for (size_t length = 0; length < bytes.size(); length += 1 + bytes.size() / 50) {
        const auto entries = ReadManifest(bytes.substr(0, length), "here/" + name);
        EXPECT_EQ(KindOf(entries.status()), ErrorKind::kCorruption) << entries.status();
        EXPECT_THAT(entries.status().ToString(), testing::HasSubstr("here/" + name));
      }
      break;
    }
  }
}

}  // namespace
}  // namespace headrace
