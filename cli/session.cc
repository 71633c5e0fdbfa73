// The session of one run of the program.
#include "cli/session.h"

#include <cctype>
#include <charconv>
#include <cstdio>
#include <limits>

namespace headrace::cli {
namespace {

constexpr char kUsageDetail[] = "headrace::cli::Usage";

class UsageDetail final : public arrow::StatusDetail {
 public:
  const char* type_id() const override { return kUsageDetail; }
  std::string ToString() const override { return "wrong usage"; }
};

}  // namespace

Status MakeUsageError(std::string message) {
  return Status(arrow::StatusCode::Invalid, std::move(message), std::make_shared<UsageDetail>());
}

bool IsUsageError(const Status& status) {
  return status.detail() != nullptr && std::string_view(status.detail()->type_id()) == kUsageDetail;
}

Result<Engine*> Session::engine(const std::string& table) {
  table_ = table;
  if (engine_ == nullptr) {
    EngineOptions options;
    if (!global_.warehouse.empty()) {
      options.warehouse = global_.warehouse;
    } else if (table.find('/') == std::string::npos) {
      Note("warehouse: " + options.warehouse + " (--warehouse DIR or HEADRACE_WAREHOUSE names another)");
    }
    ARROW_ASSIGN_OR_RAISE(options.memory_bytes, ParseBytes(global_.memory));
    options.lookup_cache_bytes = options.memory_bytes / 4;
    options.spill_directory = global_.spill_directory;
    options.threads = global_.threads;
    ARROW_ASSIGN_OR_RAISE(engine_, Engine::Open(options));
  }
  return engine_.get();
}

void Session::Note(const std::string& line) const {
  if (!global_.quiet) std::fprintf(stderr, "%s\n", line.c_str());
}

void OnGiven(CLI::App* sub, Chosen* chosen, RunCommand command) {
  sub->callback([chosen, command = std::move(command)] { chosen->run = command; });
}

Result<std::vector<std::pair<std::string, std::string>>> ParsePairs(const std::vector<std::string>& texts,
                                                                    const char* what) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return UsageError(what, " ", text, " is not of the form name=value");
    pairs.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return pairs;
}

Status AddTableOptions(const std::vector<std::string>& pairs, std::map<std::string, std::string>* options) {
  ARROW_ASSIGN_OR_RAISE(auto parsed, ParsePairs(pairs, "option"));
  for (auto& [key, value] : parsed) options->insert_or_assign(std::move(key), std::move(value));
  return Status::OK();
}

Result<int64_t> ParseBytes(const std::string& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string unit;
  for (const char* c = end; c < text.data() + text.size(); ++c) {
    if (!std::isspace(static_cast<unsigned char>(*c)))
      unit += static_cast<char>(std::tolower(static_cast<unsigned char>(*c)));
  }
  int shift = -1;
  if (unit.empty() || unit == "b" || unit == "bytes") shift = 0;
  if (unit == "k" || unit == "kb" || unit == "kib") shift = 10;
  if (unit == "m" || unit == "mb" || unit == "mib") shift = 20;
  if (unit == "g" || unit == "gb" || unit == "gib") shift = 30;
  if (error != std::errc() || number <= 0 || shift < 0 ||
      number > (std::numeric_limits<int64_t>::max() >> shift)) {
    return UsageError("size ", text, " is not understood; write a number with k, m or g, as in 512m");
  }
  return number << shift;
}

}  // namespace headrace::cli
