// What lies in a table's folders and nothing refers to: rests of commits that failed, and files of commits under way.
#include <string>

#include "io/store_path.h"
#include "maintain/check_run.h"

namespace headrace {
namespace {

// Younger files belong to a commit under way, mostly, or to one made since the check began.
constexpr int64_t kYoungMs = 10 * 60 * 1000;

class Walk {
 public:
  explicit Walk(CheckRun* run) : run_(run) {}

  void Files(const std::string& directory) {
    const Result<std::vector<FileInfo>> files = run_->store->List(directory);
    if (!files.ok()) return;
    for (const FileInfo& file : *files) {
      if (file.is_directory || run_->referred.contains(file.path)) continue;
      if (file.modified_ms > run_->started_ms - kYoungMs) continue;
      run_->Add(FindingKind::kUnreferencedFile, file.path,
                Told(file.size_bytes, " bytes that nothing refers to"), "nothing");
    }
    run_->Progressed();
  }

  // Bucket folders lie as deep as there are partition columns, and nowhere else.
  void Buckets(const std::string& directory, size_t depth) {
    const Result<std::vector<FileInfo>> folders = run_->store->List(directory);
    if (!folders.ok()) return;
    for (const FileInfo& folder : *folders) {
      if (!folder.is_directory) continue;
      const std::string_view name = NameIn(folder.path);
      if (depth == 0 && name.starts_with("bucket-")) Files(folder.path);
      if (depth > 0 && name.find('=') != std::string_view::npos) Buckets(folder.path, depth - 1);
    }
  }

 private:
  CheckRun* run_;
};

}  // namespace

void TellUnreferenced(CheckRun* run, const std::vector<Root>& roots) {
  // Where not everything that refers to files could be read, nothing can be said to be unreferenced.
  if (!run->referred_is_complete || roots.empty() || !roots.front().usable) return;
  const Table& table = roots.front().table;
  Walk walk(run);
  for (const char* folder : {"/manifest", "/index", "/statistics"}) walk.Files(run->path + folder);
  const std::string& below = table.options.data_file_path_directory;
  walk.Buckets(run->path + (below.empty() ? "" : "/" + below), table.schema->partition_keys.size());
}

}  // namespace headrace
