#include "serve/metrics_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace headrace::serve {
namespace {

std::string Escaped(const std::string& text, bool quotes) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\\\";
    } else if (c == '\n') {
      escaped += "\\n";
    } else if (c == '"' && quotes) {
      escaped += "\\\"";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string NumberText(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char digits[64];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value);
  return std::string(digits, end.ptr);
}

}  // namespace

void MetricsText::Add(const std::string& name, MetricType type, const std::string& help,
                      const MetricLabels& labels, double value) {
  auto family =
      std::find_if(families_.begin(), families_.end(), [&](const Family& one) { return one.name == name; });
  if (family == families_.end()) {
    const char* const word = type == MetricType::kCounter ? "counter" : "gauge";
    families_.push_back(
        {name, "# HELP " + name + " " + Escaped(help, false) + "\n# TYPE " + name + " " + word + "\n", ""});
    family = families_.end() - 1;
  }
  std::string labelled;
  for (const auto& [key, text] : labels)
    labelled += (labelled.empty() ? "" : ",") + key + "=\"" + Escaped(text, true) + "\"";
  family->samples += name + (labelled.empty() ? "" : "{" + labelled + "}") + " " + NumberText(value) + "\n";
}

std::string MetricsText::Finish() const {
  std::string text;
  for (const Family& family : families_) text += family.head + family.samples;
  return text;
}

}  // namespace headrace::serve
