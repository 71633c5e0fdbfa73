// What every command of the program shares: the global options, the engine opened when first needed, exit statuses, and how an error is told.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "headrace/engine.h"

namespace headrace::cli {

// Exit statuses, as `headrace --help` lists them.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;
inline constexpr int kDoneWithDeadLetters = 3;

struct GlobalOptions {
  std::string warehouse;  // empty: ./warehouse, told once
  std::string memory = "1 GiB";
  std::string spill_directory;  // empty: the folder for temporary files
  int threads = 2;
  bool quiet = false;
};

class Session {
 public:
  explicit Session(const GlobalOptions& global) : global_(global) {}

  // Opens the engine. Commands on "db.table" names tell the default warehouse once; those on folders need none.
  Result<Engine*> engine(const std::string& table = "");

  // The table the command is about; empty when it is about none.
  const std::string& table() const { return table_; }
  bool quiet() const { return global_.quiet; }
  const GlobalOptions& global() const { return global_; }
  // To stderr, unless --quiet.
  void Note(const std::string& line) const;

 private:
  const GlobalOptions& global_;
  std::string table_;
  std::unique_ptr<Engine> engine_;
};

// A command: parsed by CLI11, then run. The status becomes the exit status kFailed and a message on stderr.
using RunCommand = std::function<Result<int>(Session&)>;

// Remembers which command was given.
struct Chosen {
  RunCommand run;
};

// Makes `command` the one that runs when `sub` is given.
void OnGiven(CLI::App* sub, Chosen* chosen, RunCommand command);

void AddCreate(CLI::App* app, Chosen* chosen);
void AddAlter(CLI::App* app, Chosen* chosen);
void AddIngest(CLI::App* app, Chosen* chosen);
void AddSync(CLI::App* app, Chosen* chosen);
void AddRead(CLI::App* app, Chosen* chosen);
void AddGet(CLI::App* app, Chosen* chosen);
void AddChanges(CLI::App* app, Chosen* chosen);
void AddShow(CLI::App* app, Chosen* chosen);
void AddInspect(CLI::App* app, Chosen* chosen);
void AddMaintenance(CLI::App* app, Chosen* chosen);  // compact, drop, rename, jobs
void AddExpire(CLI::App* app, Chosen* chosen);
void AddCheck(CLI::App* app, Chosen* chosen);
void AddWhy(CLI::App* app, Chosen* chosen);
void AddSql(CLI::App* app, Chosen* chosen);
void AddRun(CLI::App* app, Chosen* chosen);
void AddDemo(CLI::App* app, Chosen* chosen);
void AddCompletion(CLI::App* app, Chosen* chosen);

// An argument that the parser let through and that means nothing: the exit status becomes kUsage.
Status MakeUsageError(std::string message);
bool IsUsageError(const Status& status);

template <typename... Args>
Status UsageError(Args&&... args) {
  return MakeUsageError(Status::Invalid(std::forward<Args>(args)...).message());
}

// "key=value" each, cut at its first '='; an error naming `what` when there is none or nothing before it.
Result<std::vector<std::pair<std::string, std::string>>> ParsePairs(const std::vector<std::string>& texts,
                                                                    const char* what);

// Table options given as key=value.
Status AddTableOptions(const std::vector<std::string>& pairs, std::map<std::string, std::string>* options);

// "64 MiB", "1g", "500000": bytes.
Result<int64_t> ParseBytes(const std::string& text);

}  // namespace headrace::cli
