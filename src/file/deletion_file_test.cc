#include "file/deletion_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include <arrow/io/interfaces.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "file/manifest_file.h"
#include "io/fault_store.h"
#include "io/local_store.h"
#include "io/memory_store.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::shared_ptr<const DeletionVector> VectorOf(const std::vector<int64_t>& positions) {
  auto vector = std::make_shared<DeletionVector>();
  for (const int64_t position : positions) vector->Delete(position);
  return vector;
}

bool Same(const DeletionVectors& a, const DeletionVectors& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && x.second->Encode(true).ValueOrDie() == y.second->Encode(true).ValueOrDie();
  });
}

struct Written {
  MemoryStore store;
  DeletionFileSpec spec{&store, "/t/index", false};

  std::string BytesOf(const IndexManifestEntry& entry) {
    return store.ReadAll("/t/index/" + entry.file_name).ValueOrDie();
  }
  void Put(const IndexManifestEntry& entry, const std::string& bytes) {
    const std::string path = "/t/index/" + entry.file_name;
    ASSERT_TRUE(store.Delete(path).ok());
    auto stream = store.OpenForWrite(path).ValueOrDie();
    ASSERT_TRUE(stream->Write(bytes).ok() && stream->Close().ok());
  }
  Result<DeletionVectors> Read(const IndexManifestEntry& entry) {
    return ReadDeletionFiles(&store, "/t/index", std::vector{entry});
  }
};

TEST(DeletionFile, HoldsABucketsVectorsInOneFileAndGivesThemBack) {
  for (const bool bitmap64 : {false, true}) {
    Written written;
    written.spec.bitmap64 = bitmap64;
    const DeletionVectors vectors{
        {"data-1", VectorOf({7})}, {"data-2", VectorOf({})}, {"data-3", VectorOf({1, 2, 3, 99999})}};
    const IndexManifestEntry entry = WriteDeletionFile(written.spec, vectors).ValueOrDie();
    EXPECT_EQ(entry.index_type, "DELETION_VECTORS");
    EXPECT_EQ(entry.row_count, 2);
    EXPECT_EQ(entry.file_size_bytes, static_cast<int64_t>(written.BytesOf(entry).size()));
    EXPECT_EQ((*entry.deletion_vectors)[0], (DeletionVectorRange{"data-1", 1, bitmap64 ? 42 : 22, 1}));
    EXPECT_EQ((*entry.deletion_vectors)[1].cardinality, 4);
    DeletionVectors expected = vectors;
    expected.erase("data-2");
    EXPECT_TRUE(Same(written.Read(entry).ValueOrDie(), expected));
    const std::vector<std::string> one = {"data-3"};
    expected.erase("data-1");
    EXPECT_TRUE(
        Same(ReadDeletionFiles(&written.store, "/t/index", std::vector{entry}, one).ValueOrDie(), expected));
  }
}

TEST(DeletionFile, WithoutVectorsIsOneByteThatReplacesTheFileBefore) {
  Written written;
  const IndexManifestEntry entry = WriteDeletionFile(written.spec, {}).ValueOrDie();
  EXPECT_EQ(written.BytesOf(entry), "\x01");
  EXPECT_EQ(entry.row_count, 0);
  EXPECT_EQ(entry.deletion_vectors->size(), 0u);
  EXPECT_TRUE(written.Read(entry).ValueOrDie().empty());
  EXPECT_TRUE(WriteDeletionFiles(written.spec, {{"data-1", VectorOf({})}}, 10).ValueOrDie().empty());
}

TEST(DeletionFile, RollsOverOnceItHasPassedItsTarget) {
  Written written;
  DeletionVectors vectors;
  for (int i = 10; i < 40; ++i) vectors["data-" + std::to_string(i)] = VectorOf({i});
  const auto entries = WriteDeletionFiles(written.spec, vectors, 100).ValueOrDie();
  ASSERT_EQ(entries.size(), 8u);
  for (size_t i = 0; i + 1 < entries.size(); ++i) {
    EXPECT_EQ(entries[i].row_count, 4) << "1 + 3 x 30 bytes are within the target, 1 + 4 x 30 past it";
    EXPECT_THAT(entries[i].file_name, testing::EndsWith("-" + std::to_string(i)));
  }
  EXPECT_TRUE(Same(ReadDeletionFiles(&written.store, "/t/index", entries).ValueOrDie(), vectors));
}

TEST(DeletionFile, LeavesNoFileWhenWritingItFails) {
  DeletionVectors vectors;
  for (int i = 10; i < 20; ++i) vectors["data-" + std::to_string(i)] = VectorOf({i});
  for (int64_t at = 0;; ++at) {
    auto below = std::make_shared<MemoryStore>();
    FaultStore store(below, {FaultKind::kFail, at});
    const auto entries = WriteDeletionFiles({&store, "/t/index", false}, vectors, 100);
    if (!store.fired()) {
      EXPECT_GT(at, 5);
      break;
    }
    EXPECT_TRUE(IsKind(entries.status(), ErrorKind::kIo)) << entries.status();
    EXPECT_TRUE(below->List("/t/index").ValueOrDie().empty()) << "operation " << at;
  }
}

TEST(DeletionFile, ThatIsDamagedOrContradictsItsManifestIsCorruptionNamingIt) {
  Written written;
  const IndexManifestEntry entry =
      WriteDeletionFile(written.spec, {{"data-1", VectorOf({7})}, {"data-2", VectorOf({1, 2})}}).ValueOrDie();
  const std::string bytes = written.BytesOf(entry);
  const auto expect = [&](const IndexManifestEntry& wrong, const std::string& message) {
    const Status status = written.Read(wrong).status();
    EXPECT_TRUE(IsKind(status, ErrorKind::kCorruption)) << message << ": " << status;
    EXPECT_THAT(status.message(), HasSubstr(message));
    EXPECT_THAT(status.message(), HasSubstr(entry.file_name));
  };
  IndexManifestEntry wrong = entry;
  (*wrong.deletion_vectors)[0].length += 1;
  expect(wrong, "has the length 22");
  wrong = entry;
  (*wrong.deletion_vectors)[0].offset = -1;
  expect(wrong, "lie outside");
  wrong = entry;
  (*wrong.deletion_vectors)[1].offset = static_cast<int32_t>(entry.file_size_bytes - 4);
  expect(wrong, "lie outside");
  wrong = entry;
  (*wrong.deletion_vectors)[1].cardinality = 3;
  expect(wrong, "deletes 2 rows, its index manifest says 3");
  wrong = entry;
  (*wrong.deletion_vectors)[1].data_file = "data-1";
  expect(wrong, "there is one already");
  wrong = entry;
  wrong.file_size_bytes += 1;
  expect(wrong, "bytes, its index manifest says");
  std::string flipped = bytes;
  flipped[bytes.size() - 9] = static_cast<char>(flipped[bytes.size() - 9] ^ 4);
  written.Put(entry, flipped);
  expect(entry, "checksum");
  flipped = bytes;
  flipped[0] = 2;
  written.Put(entry, flipped);
  expect(entry, "version");
  ASSERT_TRUE(written.store.Delete("/t/index/" + entry.file_name).ok());
  EXPECT_TRUE(IsKind(written.Read(entry).status(), ErrorKind::kNotFound));
  wrong = entry;
  wrong.external_path = "s3://bucket/index-1";
  EXPECT_TRUE(IsKind(written.Read(wrong).status(), ErrorKind::kUnsupported));
}

std::string Slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(DeletionFile, JavasAreReadByTheIndexManifestsThatNameThem) {
  LocalStore store;
  int vectors = 0;
  for (const char* fixture : {"dv-pk", "dv-pk-bitmap64", "dv-append"}) {
    const fs::path tables = fs::path(HEADRACE_FIXTURES) / fixture / "warehouse/peer.db";
    for (const auto& table : fs::directory_iterator(tables)) {
      for (const auto& file : fs::directory_iterator(table.path() / "manifest")) {
        const std::string name = file.path().filename().string();
        if (!name.starts_with("index-manifest-")) continue;
        for (const IndexManifestEntry& entry : ReadIndexManifest(Slurp(file.path()), name).ValueOrDie()) {
          const auto read = ReadDeletionFiles(&store, (table.path() / "index").string(), std::vector{entry});
          ASSERT_TRUE(read.ok()) << read.status();
          EXPECT_EQ(static_cast<int64_t>(read->size()), entry.row_count);
          vectors += static_cast<int>(read->size());
        }
      }
    }
  }
  EXPECT_GT(vectors, 20);
}

}  // namespace
}  // namespace headrace
