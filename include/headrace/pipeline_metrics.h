// The state of a pipeline's stages as a page of metrics for Prometheus: http://ADDRESS:PORT/metrics.
//
// Answered from threads of its own; Update replaces what is told. docs/pipelines.md lists the metrics.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headrace/error.h"
#include "headrace/pipeline.h"

namespace headrace {

class PipelineMetrics {
 public:
  // "9464" listens on loopback, "0.0.0.0:9464" for all, port 0 on a free one. kInvalid for another form, kIo when the port is taken.
  static Result<std::unique_ptr<PipelineMetrics>> Open(const std::string& listen);
  virtual ~PipelineMetrics() = default;

  virtual void Update(const std::vector<PipelineStage>& stages) = 0;
  virtual std::string url() const = 0;
};

}  // namespace headrace
