// What a pipeline's stages say of themselves, as metrics.
#include "headrace/pipeline_metrics.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/error.h"
#include "serve/http_page.h"
#include "serve/metrics_text.h"

namespace headrace {
namespace {

using serve::MetricLabels;
using serve::MetricType;

void AddSource(const PipelineStage& stage, const PipelineSource& source, serve::MetricsText* text) {
  const MetricLabels labels = {{"job", stage.job}, {"target", stage.target}, {"source", source.table}};
  const int64_t taken_in = source.next_snapshot - 1;
  const int64_t latest = source.latest_snapshot.value_or(0);
  text->Add("headrace_stage_source_snapshot", MetricType::kGauge,
            "The newest snapshot of the source whose changes are in the target.", labels,
            static_cast<double>(taken_in));
  text->Add("headrace_stage_source_latest_snapshot", MetricType::kGauge, "The newest snapshot of the source.",
            labels, static_cast<double>(latest));
  text->Add("headrace_stage_lag_snapshots", MetricType::kGauge,
            "Snapshots of the source that are not in the target.", labels,
            static_cast<double>(std::max<int64_t>(0, latest - taken_in)));
  text->Add("headrace_stage_lag_rows", MetricType::kGauge,
            "Changes of the source that are not in the target, as its snapshots tell them; of more than 64 "
            "snapshots the first 64.",
            labels, static_cast<double>(source.behind_rows));
  text->Add("headrace_stage_lag_seconds", MetricType::kGauge,
            "How long ago the oldest snapshot of the source was made that is not in the target; 0: all are.",
            labels, static_cast<double>(source.behind_ms.value_or(0)) / 1000);
}

std::string PageOf(const std::vector<PipelineStage>& stages) {
  serve::MetricsText text;
  for (const PipelineStage& stage : stages) {
    const MetricLabels labels = {{"job", stage.job}, {"target", stage.target}};
    text.Add("headrace_stage_up", MetricType::kGauge,
             "1 while the stage goes on, 0 while its last step has failed.", labels,
             stage.error.empty() ? 1 : 0);
    if (!stage.error.empty())
      text.Add("headrace_stage_last_error", MetricType::kGauge,
               "1, and why the stage does not go on; it is there while the stage's last step has failed.",
               {{"job", stage.job}, {"target", stage.target}, {"error", stage.error}}, 1);
    text.Add("headrace_stage_rows_total", MetricType::kCounter,
             "Rows of all kinds written into the target since the start.", labels,
             static_cast<double>(stage.rows));
    text.Add("headrace_stage_commits_total", MetricType::kCounter, "Commits with rows since the start.",
             labels, static_cast<double>(stage.commits));
    text.Add("headrace_stage_step_seconds", MetricType::kGauge, "What the last step with rows took.", labels,
             static_cast<double>(stage.step_ms) / 1000);
    text.Add("headrace_stage_held_back_commits_total", MetricType::kCounter,
             "Commits that left buckets of the target uncompacted, since a value would overflow.", labels,
             static_cast<double>(stage.commits_held_back));
    text.Add("headrace_stage_expiry_failures_total", MetricType::kCounter,
             "Commits after which old snapshots of the target could not be ended.", labels,
             static_cast<double>(stage.expiries_failed));
    if (stage.target_snapshot)
      text.Add("headrace_stage_target_snapshot", MetricType::kGauge,
               "The newest snapshot that the stage made in the target.", labels,
               static_cast<double>(*stage.target_snapshot));
    for (const PipelineSource& source : stage.sources) AddSource(stage, source, &text);
  }
  return text.Finish();
}

class ServedMetrics final : public PipelineMetrics {
 public:
  ServedMetrics(std::unique_ptr<serve::HttpPage> page, std::string address)
      : page_(std::move(page)), address_(std::move(address)) {}

  void Update(const std::vector<PipelineStage>& stages) override { page_->Put(PageOf(stages)); }
  std::string url() const override {
    return "http://" + address_ + ":" + std::to_string(page_->port()) + "/metrics";
  }

 private:
  const std::unique_ptr<serve::HttpPage> page_;
  const std::string address_;
};

}  // namespace

Result<std::unique_ptr<PipelineMetrics>> PipelineMetrics::Open(const std::string& listen) {
  const size_t colon = listen.rfind(':');
  const std::string shown = colon == std::string::npos ? "127.0.0.1" : listen.substr(0, colon);
  const std::string digits = colon == std::string::npos ? listen : listen.substr(colon + 1);
  // [::1]:9464
  const bool in_brackets = shown.size() > 2 && shown.front() == '[' && shown.back() == ']';
  const std::string address = in_brackets ? shown.substr(1, shown.size() - 2) : shown;
  int port = -1;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size() || port < 0 || port > 65535 ||
      address.empty() || (!in_brackets && address.find(':') != std::string::npos))
    return Invalid("'", listen,
                   "' is no place to listen on: a port from 0 to 65535, or ADDRESS:PORT, as 0.0.0.0:9464 or "
                   "[::1]:9464");
  HEADRACE_ASSIGN_OR_RETURN(auto page,
                            serve::HttpPage::Open(address, port, "/metrics", "text/plain; version=0.0.4"));
  return std::make_unique<ServedMetrics>(std::move(page), shown);
}

}  // namespace headrace
