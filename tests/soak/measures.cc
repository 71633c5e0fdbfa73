#include "tests/soak/measures.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "headrace/engine.h"

namespace headrace::soak {
namespace {

using SteadyClock = std::chrono::steady_clock;

double MillisSince(SteadyClock::time_point start) {
  return std::chrono::duration<double, std::milli>(SteadyClock::now() - start).count();
}

int64_t SumOf(const arrow::RecordBatch& batch, const std::string& column) {
  const auto values = std::static_pointer_cast<arrow::Int64Array>(batch.GetColumnByName(column));
  int64_t sum = 0;
  for (int64_t i = 0; values != nullptr && i < values->length(); ++i) sum += values->Value(i);
  return sum;
}

// Files come and go meanwhile: what is gone when it is looked at is not counted.
void CountFiles(const std::filesystem::path& folder, Sight* sight) {
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator file(folder, error), end; !error && file != end;
       file.increment(error)) {
    std::error_code gone;
    if (!file->is_regular_file(gone)) continue;
    const auto bytes = file->file_size(gone);
    if (gone) continue;
    ++sight->all_files;
    sight->all_bytes += static_cast<double>(bytes);
  }
}

double ResidentMegabytes() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line))
    if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) / 1024;
  return 0;
}

double CommitOf(const std::vector<Minute>& span, double share) {
  std::vector<double> all;
  for (const Minute& minute : span) all.insert(all.end(), minute.commit_ms.begin(), minute.commit_ms.end());
  return Percentile(std::move(all), share);
}

double BySnapshot(const std::vector<Minute>& span, double Sight::*measure) {
  return MeanOf(span, measure) / std::max(MeanOf(span, &Sight::snapshots), 1.0);
}

double MedianPlan(const std::vector<Minute>& span) {
  std::vector<double> all;
  for (const Minute& minute : span)
    for (const Sight& sight : minute.sights) all.push_back(sight.plan_ms);
  return Percentile(std::move(all), 0.5);
}

}  // namespace

Result<Sight> Look(const std::string& warehouse, const std::string& table) {
  Sight sight;
  const auto start = SteadyClock::now();
  EngineOptions options;
  options.warehouse = warehouse;
  options.threads = 0;
  ARROW_ASSIGN_OR_RAISE(const std::unique_ptr<Engine> engine, Engine::Open(options));
  ARROW_ASSIGN_OR_RAISE(const std::unique_ptr<TableHandle> handle, engine->OpenTable(table));
  ARROW_ASSIGN_OR_RAISE(const std::unique_ptr<arrow::RecordBatchReader> planned, handle->Read({}));
  sight.plan_ms = MillisSince(start);

  ARROW_ASSIGN_OR_RAISE(const auto files, handle->ShowFiles(std::nullopt));
  ARROW_ASSIGN_OR_RAISE(const auto manifests, handle->ShowManifests(std::nullopt));
  sight.live_files = static_cast<double>(files->num_rows());
  sight.manifest_bytes = static_cast<double>(SumOf(*manifests, "bytes"));
  CountFiles(handle->info().path, &sight);
  ARROW_ASSIGN_OR_RAISE(const auto snapshots, handle->ShowSnapshots());
  sight.snapshots = static_cast<double>(snapshots->num_rows());
  sight.rss_mb = ResidentMegabytes();
  return sight;
}

double MeanOf(const std::vector<Minute>& span, double Sight::*measure) {
  double sum = 0;
  size_t sights = 0;
  for (const Minute& minute : span) {
    for (const Sight& sight : minute.sights) sum += sight.*measure;
    sights += minute.sights.size();
  }
  return sights == 0 ? 0 : sum / static_cast<double>(sights);
}

double Percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto rank = static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(rank), values.end());
  return values[rank];
}

const std::vector<Figure>& Figures() {
  static const std::vector<Figure> figures = {
      {"live data files", [](const auto& span) { return MeanOf(span, &Sight::live_files); }},
      // Retention is a time, so how many snapshots it keeps follows from the speed of the machine: what is left is counted by snapshot.
      {"files a snapshot", [](const auto& span) { return BySnapshot(span, &Sight::all_files); }},
      {"kB a snapshot", [](const auto& span) { return BySnapshot(span, &Sight::all_bytes) / 1e3; }},
      {"manifest bytes", [](const auto& span) { return MeanOf(span, &Sight::manifest_bytes); }},
      {"planning, median ms", MedianPlan},
      {"commit p50, ms", [](const auto& span) { return CommitOf(span, 0.5); }},
      {"commit p99, ms", [](const auto& span) { return CommitOf(span, 0.99); }},
      {"CPU a commit, ms",
       [](const auto& span) {
         double sum = 0;
         for (const Minute& minute : span) sum += minute.cpu_ms;
         return span.empty() ? 0 : sum / static_cast<double>(span.size());
       }},
      {"resident MB", [](const auto& span) { return MeanOf(span, &Sight::rss_mb); }},
  };
  return figures;
}

std::string LineOf(size_t number, const Minute& minute) {
  const std::vector<Minute> span = {minute};
  char text[256];
  std::snprintf(text, sizeof(text), "%6zu %8zu %6.0f %9.0f %9.0f %9.1f %9.0f %8.1f %8.1f %8.1f %7.1f %7.1f",
                number, minute.commit_ms.size(), MeanOf(span, &Sight::live_files),
                MeanOf(span, &Sight::snapshots), MeanOf(span, &Sight::all_files),
                MeanOf(span, &Sight::all_bytes) / 1e6, MeanOf(span, &Sight::manifest_bytes),
                MeanOf(span, &Sight::plan_ms), Percentile(minute.commit_ms, 0.5),
                Percentile(minute.commit_ms, 0.99), minute.cpu_ms, MeanOf(span, &Sight::rss_mb));
  return text;
}

int Compare(const std::vector<Minute>& early, const std::vector<Minute>& late, double allowed) {
  int beyond = 0;
  std::printf("%-22s %12s %12s %8s\n", "mean or as named", "early", "late", "ratio");
  for (const Figure& figure : Figures()) {
    const double before = figure.of(early);
    const double after = figure.of(late);
    const double ratio = before > 0 ? after / before : after > 0 ? 1e9 : 1;
    const bool grew = ratio > allowed;
    beyond += grew ? 1 : 0;
    std::printf("%-22s %12.1f %12.1f %8.2f%s\n", std::string(figure.name).c_str(), before, after, ratio,
                grew ? "  TOO MUCH" : "");
  }
  return beyond;
}

}  // namespace headrace::soak
