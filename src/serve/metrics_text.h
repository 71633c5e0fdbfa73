// Numbers in Prometheus' text format: families of samples with labels.
//
// A family's samples stand together under its help and type, whatever order they were added in. Pure values; one thread.
// Source: Prometheus, "Text-based format", version 0.0.4.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace headrace::serve {

enum class MetricType { kGauge, kCounter };

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

class MetricsText {
 public:
  // `name` is letters, digits and '_'; labels hold any text.
  void Add(const std::string& name, MetricType type, const std::string& help, const MetricLabels& labels,
           double value);
  std::string Finish() const;

 private:
  struct Family {
    std::string name, head, samples;
  };
  std::vector<Family> families_;
};

}  // namespace headrace::serve
