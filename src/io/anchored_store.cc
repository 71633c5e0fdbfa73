#include "io/anchored_store.h"

#include <utility>

#include <arrow/io/interfaces.h>

namespace headrace {
namespace {

class AnchoredStore final : public Store {
 public:
  AnchoredStore(std::shared_ptr<Store> below, std::string anchor, std::string what)
      : below_(std::move(below)), anchor_(std::move(anchor)), what_(std::move(what)) {}

  Result<std::vector<FileInfo>> List(const std::string& directory) override {
    return below_->List(directory);
  }
  Result<std::vector<std::string>> ListNames(const std::string& directory, std::string_view prefix) override {
    return below_->ListNames(directory, prefix);
  }
  Result<std::optional<FileInfo>> Stat(const std::string& path) override { return below_->Stat(path); }
  Result<std::string> ReadAll(const std::string& path) override { return below_->ReadAll(path); }
  Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenForRead(const std::string& path) override {
    return below_->OpenForRead(path);
  }
  Status Delete(const std::string& path) override { return below_->Delete(path); }
  Status DeleteRecursively(const std::string& directory) override {
    return below_->DeleteRecursively(directory);
  }
  Result<bool> DeleteIfEmpty(const std::string& directory) override {
    return below_->DeleteIfEmpty(directory);
  }
  Status RenameDirectory(const std::string& from, const std::string& to) override {
    return below_->RenameDirectory(from, to);
  }

  Result<std::shared_ptr<arrow::io::OutputStream>> OpenForWrite(const std::string& path) override {
    HEADRACE_RETURN_NOT_OK(CheckAnchor(path));
    return below_->OpenForWrite(path);
  }
  Status Replace(const std::string& path, std::string_view bytes) override {
    HEADRACE_RETURN_NOT_OK(CheckAnchor(path));
    return below_->Replace(path, bytes);
  }
  Result<PublishResult> PublishIfAbsent(const std::string& path, std::string_view bytes) override {
    HEADRACE_RETURN_NOT_OK(CheckAnchor(path));
    return below_->PublishIfAbsent(path, bytes);
  }

 private:
  Status CheckAnchor(const std::string& path) const {
    HEADRACE_ASSIGN_OR_RETURN(const auto found, below_->Stat(anchor_));
    if (found.has_value()) return Status::OK();
    return NotFound("writing ", path, ": ", what_, " has been dropped since it was opened, there is no ",
                    anchor_);
  }

  const std::shared_ptr<Store> below_;
  const std::string anchor_;
  const std::string what_;
};

}  // namespace

std::shared_ptr<Store> Anchored(std::shared_ptr<Store> below, std::string anchor, std::string what) {
  return std::make_shared<AnchoredStore>(std::move(below), std::move(anchor), std::move(what));
}

}  // namespace headrace
