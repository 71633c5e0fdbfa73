// What is measured of a table that is written to all the time, minute by minute, and the comparison of two spans of minutes.
//
// Sizes are looked at from outside: a handle of a fresh engine, as another process would open the table, and the table's folder. Latencies are
// those of the commits themselves. Plain values and functions; nothing here writes to the table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/error.h"

namespace headrace::soak {

// One look from outside.
struct Sight {
  double live_files = 0;  // of the latest snapshot
  double all_files = 0;   // below the table's folder
  double all_bytes = 0;
  double snapshots = 0;       // retained
  double manifest_bytes = 0;  // that the latest snapshot names
  double plan_ms = 0;         // from opening an engine to a planned scan
  double rss_mb = 0;          // of this process
};
Result<Sight> Look(const std::string& warehouse, const std::string& table);

// Manifests and files rise until they are merged and then fall, within seconds: a minute is looked at many times.
struct Minute {
  std::vector<Sight> sights;
  double cpu_ms = 0;  // of this process, a commit: compactions and expiry included, looks left out
  std::vector<double> commit_ms;
};
double MeanOf(const std::vector<Minute>& span, double Sight::*measure);

// The value below which a share of the values lies; 0 of none.
double Percentile(std::vector<double> values, double share);

struct Figure {
  std::string_view name;
  double (*of)(const std::vector<Minute>& span);
};

// Every figure that may not grow.
const std::vector<Figure>& Figures();

std::string LineOf(size_t number, const Minute& minute);

// Prints the figures of both spans beside each other. How many of them are more than `allowed` times as large in `late`.
int Compare(const std::vector<Minute>& early, const std::vector<Minute>& late, double allowed);

}  // namespace headrace::soak
