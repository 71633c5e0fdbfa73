// Random histories for as long as SOAK_SECONDS says, from random seeds; stops at the first that breaks a law, shrunk to a scenario.
//
// SOAK_SEED repeats one seed, SOAK_STEPS sets the length of a history (else it varies by the seed), SOAK_FOLDER where a scenario is written.
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <random>

#include "base/random.h"
#include "tests/laws/harness/search.h"

namespace headrace::laws {
namespace {

using SteadyClock = std::chrono::steady_clock;

int64_t EnvironmentOr(const char* name, int64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoll(text, nullptr, 10);
}

uint64_t RandomSeed() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 16) ^ device();
}

// Short histories are many, long ones reach deep.
int StepsOf(uint64_t seed) { return static_cast<int>(Random(seed ^ 0x50AC).Between(20, 200)); }

int Soak() {
  const auto started = SteadyClock::now();
  const int64_t seconds = EnvironmentOr("SOAK_SECONDS", 3600);
  const int64_t only = EnvironmentOr("SOAK_SEED", -1);
  const int64_t steps = EnvironmentOr("SOAK_STEPS", 0);
  const char* folder = std::getenv("SOAK_FOLDER");
  Progress progress;
  int64_t tables = 0, told = 0;
  const auto passed = [&] {
    return std::chrono::duration_cast<std::chrono::seconds>(SteadyClock::now() - started).count();
  };
  const auto tell = [&] {
    std::cout << passed() << " s: " << tables << " tables, " << progress.statements << " statements, "
              << progress.snapshots << " snapshots, " << progress.faults << " faults" << std::endl;
  };
  do {
    const uint64_t seed = only >= 0 ? static_cast<uint64_t>(only) : RandomSeed();
    Search search;
    search.history.steps = steps > 0 ? static_cast<int>(steps) : StepsOf(seed);
    search.folder = folder == nullptr ? "" : folder;
    const auto found = SearchSeed(seed, search, &progress);
    ++tables;
    if (found.has_value()) {
      tell();
      std::cout << found->Describe() << "\nrepeat with SOAK_SEED=" << seed
                << " SOAK_STEPS=" << search.history.steps << std::endl;
      return 1;
    }
    if (passed() - told >= 30) {
      told = passed();
      tell();
    }
  } while (only < 0 && passed() < seconds);
  tell();
  return 0;
}

}  // namespace
}  // namespace headrace::laws

int main() { return headrace::laws::Soak(); }
