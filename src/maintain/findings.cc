#include "maintain/findings.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/text.h"

namespace headrace {
namespace {

constexpr size_t kMostBytes = 600;

// Control characters would act on a terminal, other bytes are no text, and a text without end would fill it.
std::string Printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    if (result.size() >= kMostBytes) return result + "…";
    const size_t bytes = Utf8CharacterBytes(text);
    const auto first = static_cast<unsigned char>(text.front());
    if (bytes == 0 || first < 0x20 || first == 0x7F) {
      result += '?';
    } else {
      result += text.substr(0, bytes);
    }
    text.remove_prefix(std::max<size_t>(1, bytes));
  }
  return result;
}

}  // namespace

void Findings::Add(FindingKind kind, std::string_view file, std::string_view found,
                   std::string_view expected) {
  const FindingKindInfo& info = InfoOf(kind);
  const size_t hash = std::hash<std::string>()(Told(info.name, '\n', file, '\n', found));
  if (!seen_.insert(hash).second) return;
  if (state_ != kNoState) ++counts_of_state_[state_][static_cast<size_t>(info.severity)];
  int64_t& count = counts_[static_cast<size_t>(info.severity)];
  if (count++ >= max_) return;
  if (file.starts_with(root_)) file.remove_prefix(root_.size());
  findings_.push_back({state_,
                       {info.severity, std::string(info.name), Printable(file), Printable(WithoutRoot(found)),
                        Printable(expected), std::string(info.remedy)}});
}

// Messages of decoders name their file in full.
std::string Findings::WithoutRoot(std::string_view text) const {
  std::string result(text);
  for (size_t at = result.find(root_); at != std::string::npos; at = result.find(root_, at))
    result.erase(at, root_.size());
  return result;
}

int Findings::BeginState() {
  state_ = ++states_;
  return state_;
}

bool Findings::EndState() { return counts_of_state_.contains(std::exchange(state_, kNoState)); }

void Findings::Forget(int state) {
  std::erase_if(findings_, [&](const Owned& owned) { return owned.state == state; });
  const auto counts = counts_of_state_.find(state);
  if (counts == counts_of_state_.end()) return;
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i] -= counts->second[i];
  counts_of_state_.erase(counts);
}

void Findings::MoveTo(CheckReport* report) {
  for (Owned& owned : findings_) report->findings.push_back(std::move(owned.finding));
  report->damages = counts_[static_cast<size_t>(Severity::kDamage)];
  report->warnings = counts_[static_cast<size_t>(Severity::kWarning)];
  report->notes = counts_[static_cast<size_t>(Severity::kNote)];
}

}  // namespace headrace
