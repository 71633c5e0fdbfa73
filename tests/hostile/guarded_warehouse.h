// A warehouse on disk beside files that are not its own, and the proof that those were left alone.
//
//   <root>/w                  the warehouse
//   <root>/elsewhere/…        files and a folder of another owner
// Untouched() compares everything below <root> but the warehouse with what was there at the start.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/uuid.h"
#include "catalog/catalog.h"
#include "io/local_store.h"

namespace headrace::hostile {

class GuardedWarehouse : public testing::Test {
 protected:
  GuardedWarehouse() {
    std::filesystem::create_directories(warehouse_);
    for (const char* name : {"precious", "snapshot/snapshot-1", "t/schema/schema-0", "data-1.parquet"}) {
      const std::filesystem::path path = std::filesystem::path(root_) / "elsewhere" / name;
      std::filesystem::create_directories(path.parent_path());
      std::ofstream(path) << "not ours: " << name;
    }
    before_ = Outside();
  }
  ~GuardedWarehouse() override { std::filesystem::remove_all(root_); }

  NewTable Simple() const {
    NewTable table;
    table.fields = ParseColumns("id INT, v INT").ValueOrDie();
    table.primary_keys = {"id"};
    table.options = {{"bucket", "1"}};
    return table;
  }

  std::string Elsewhere(const std::string& name) const { return root_ + "/elsewhere/" + name; }
  bool Untouched() const { return Outside() == before_; }
  // After a test put something of its own there.
  void TakeAsItIs() { before_ = Outside(); }

  // Everything below a folder: path to content, links as where they lead.
  static std::map<std::string, std::string> TreeOf(const std::string& folder) {
    std::map<std::string, std::string> tree;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      const std::string path = entry.path().string();
      if (entry.is_symlink()) {
        tree[path] = "-> " + std::filesystem::read_symlink(entry.path()).string();
      } else if (entry.is_regular_file()) {
        std::ostringstream content;
        content << std::ifstream(entry.path(), std::ios::binary).rdbuf();
        tree[path] = content.str();
      } else {
        tree[path] = "(folder)";
      }
    }
    return tree;
  }

  const std::string root_ =
      (std::filesystem::temp_directory_path() / ("headrace-hostile-" + NewUuid())).string();
  const std::string warehouse_ = root_ + "/w";
  const std::shared_ptr<Store> store_ = std::make_shared<LocalStore>(LocalStoreOptions{.sync = false});
  const std::shared_ptr<Clock> clock_ = std::make_shared<SystemClock>();
  Catalog catalog_{store_, clock_, warehouse_};

 private:
  std::map<std::string, std::string> Outside() const {
    std::map<std::string, std::string> tree = TreeOf(root_);
    std::erase_if(tree, [&](const auto& entry) { return entry.first.starts_with(warehouse_); });
    return tree;
  }

  std::map<std::string, std::string> before_;
};

}  // namespace headrace::hostile
