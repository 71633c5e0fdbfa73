#include "tests/laws/harness/search.h"

#include <filesystem>
#include <fstream>

#include "tests/scenarios/play.h"

namespace headrace::laws {
namespace {

std::string Write(const std::string& text, const std::string& folder, uint64_t seed) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path where = folder.empty() ? fs::temp_directory_path(error) : fs::path(folder);
  fs::create_directories(where, error);
  const fs::path path = where / ("headrace-seed-" + std::to_string(seed) + ".scenario");
  std::ofstream out(path);
  out << text;
  return out.good() ? path.string() : "";
}

bool Fails(const std::string& text, const TrialOptions& options) {
  const auto parsed = scenario::ParseScenario(text, "shrunk");
  return parsed.ok() && !scenario::Play(*parsed, {.folder = "", .tamper = options.tamper}).ok();
}

}  // namespace

std::string Found::Describe() const {
  std::string told = "seed " + std::to_string(seed) + " breaks a law: " + shrunk.failure.law + "\n" +
                     shrunk.failure.message + "\n\nshrunk to " + std::to_string(shrunk.history.size()) +
                     " statements in " + std::to_string(shrunk.trials) + " trials";
  told += path.empty() ? "" : ", written to " + path;
  told += reproduces ? ":\n\n" : " (which does not fail by itself: use the seed):\n\n";
  return told + text;
}

std::optional<Found> SearchSeed(uint64_t seed, const Search& search, Progress* progress) {
  const auto history = MakeHistory(seed, search.history);
  TrialResult result = Try(history, search.trial);
  progress->seed = seed;
  progress->statements += static_cast<int64_t>(history.size());
  progress->snapshots += result.snapshots;
  progress->faults += result.faults;
  if (!result.failure.has_value()) return std::nullopt;
  Found found;
  found.seed = seed;
  found.shrunk = Shrink(history, *result.failure, search.trial);
  found.shrunk.failure.shown.heading.push_back("Found by seed " + std::to_string(seed) + ".");
  found.text = Print(found.shrunk.failure.shown);
  found.path = Write(found.text, search.folder, seed);
  found.reproduces = Fails(found.text, search.trial);
  return found;
}

}  // namespace headrace::laws
