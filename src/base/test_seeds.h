// The seeds that a random test plays. HEADRACE_SEED=n plays one again, HEADRACE_SEEDS=n plays n instead of the usual few.
//
// Header only, included by tests alone.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <vector>

namespace headrace::testing {

// `usual` seeds from 1, without a word from outside. `of` makes a seed of each number, where one test has several series.
template <typename SeedOf>
std::vector<uint64_t> SeedsToPlay(uint64_t usual, SeedOf of) {
  const auto told = [](const char* name) -> std::optional<uint64_t> {
    const char* text = std::getenv(name);
    if (text == nullptr) return std::nullopt;
    return std::strtoull(text, nullptr, 10);
  };
  if (const auto one = told("HEADRACE_SEED")) return {*one};
  std::vector<uint64_t> seeds;
  for (uint64_t number = 1; number <= told("HEADRACE_SEEDS").value_or(usual); ++number)
    seeds.push_back(of(number));
  return seeds;
}

inline std::vector<uint64_t> SeedsToPlay(uint64_t usual) {
  return SeedsToPlay(usual, [](uint64_t number) { return number; });
}

}  // namespace headrace::testing
