#include "tests/scenarios/play.h"

#include <filesystem>
#include <utility>

#include "base/uuid.h"

namespace headrace::scenario {
namespace {

namespace fs = std::filesystem;

// Made on construction, gone on destruction.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_(fs::temp_directory_path() / ("headrace-scenario-" + NewUuid())) {
    std::error_code error;
    fs::create_directories(path_, error);
  }
  ~TemporaryFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

}  // namespace

Status Play(const Scenario& scenario, StageOptions options) {
  const TemporaryFolder folder;
  options.folder = folder.path();
  Stage stage(std::move(options));
  for (const Statement& statement : scenario.statements) {
    const Status status = stage.Run(statement);
    if (!status.ok()) return Corruption(scenario.origin, ":", statement.line, ": ", status.message());
  }
  return Status::OK();
}

}  // namespace headrace::scenario
