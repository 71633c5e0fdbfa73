#include "maintain/findings.h"

#include <functional>
#include <utility>

namespace headrace {
namespace {

constexpr size_t kMostBytes = 600;

// Control characters would act on a terminal; a text without end would fill it.
std::string Printable(std::string_view text) {
  std::string result(text.substr(0, kMostBytes));
  if (text.size() > kMostBytes) {
    while (!result.empty() && (static_cast<unsigned char>(result.back()) & 0xC0) == 0x80) result.pop_back();
    if (!result.empty() && static_cast<unsigned char>(result.back()) >= 0xC0) result.pop_back();
    result += "…";
  }
  for (char& c : result) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return result;
}

}  // namespace

void Findings::Add(FindingKind kind, std::string_view file, std::string_view found,
                   std::string_view expected) {
  const FindingKindInfo& info = InfoOf(kind);
  const size_t hash = std::hash<std::string>()(Told(info.name, '\n', file, '\n', found));
  if (!seen_.insert(hash).second) return;
  seen_in_order_.push_back(hash);
  int64_t& count = counts_[static_cast<size_t>(info.severity)];
  if (count++ >= max_) return;
  if (file.starts_with(root_)) file.remove_prefix(root_.size());
  findings_.push_back({info.severity, std::string(info.name), Printable(file), Printable(WithoutRoot(found)),
                       Printable(expected), std::string(info.remedy)});
}

// Messages of decoders name their file in full.
std::string Findings::WithoutRoot(std::string_view text) const {
  std::string result(text);
  for (size_t at = result.find(root_); at != std::string::npos; at = result.find(root_, at))
    result.erase(at, root_.size());
  return result;
}

void Findings::ForgetSince(const Mark& mark) {
  findings_.resize(mark.size);
  for (size_t i = mark.seen; i < seen_in_order_.size(); ++i) seen_.erase(seen_in_order_[i]);
  seen_in_order_.resize(mark.seen);
  counts_ = mark.counts;
}

void Findings::MoveTo(CheckReport* report) {
  report->findings = std::move(findings_);
  report->damages = counts_[static_cast<size_t>(Severity::kDamage)];
  report->warnings = counts_[static_cast<size_t>(Severity::kWarning)];
  report->notes = counts_[static_cast<size_t>(Severity::kNote)];
}

}  // namespace headrace
