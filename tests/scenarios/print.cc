// Statements to text, as ParseScenario reads it.
#include "base/text.h"
#include "tests/scenarios/scenario.h"
#include "tests/scenarios/terms.h"

namespace headrace::scenario {
namespace {

std::string PrintCell(const Cell& cell) {
  if (!cell.has_value()) return "null";
  const std::string& text = *cell;
  const bool plain = !text.empty() && text != "null" && text != "nothing" && text.front() != '\'' &&
                     text.front() != '#' && text.front() != '+' &&
                     text.find_first_of(",\n\r\t") == std::string::npos && text.front() != ' ' &&
                     text.back() != ' ';
  if (plain) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "''" : std::string(1, c);
  return quoted + "'";
}

std::string ReadClauses(const Statement& s) {
  std::string text;
  if (s.at.has_value()) text += " at " + std::to_string(*s.at);
  if (s.from.has_value()) text += " from " + std::to_string(*s.from);
  if (s.to.has_value()) text += " to " + std::to_string(*s.to);
  if (s.ordered) text += " ordered";
  if (!s.columns.empty()) text += " columns " + Joined(s.columns);
  return text;
}

std::string WriterClauses(const Statement& s) {
  std::string text;
  if (s.full) text += " full";
  if (s.name != kUnnamedWriter) text += " " + s.name;
  if (s.number.has_value()) text += " as " + std::to_string(*s.number);
  if (s.once) text += " once";
  if (s.again) text += " again";
  if (!s.text.empty()) text += " overtaken by " + s.text;
  return text;
}

std::string Options(const Statement& s) {
  std::string text;
  for (const auto& [key, value] : s.options) text += "  option " + key + " = " + value + "\n";
  for (const std::string& key : s.unset) text += "  unset " + key + "\n";
  return text;
}

std::string Definition(const Statement& s) {
  std::string text = "  columns " + s.text + "\n";
  if (!s.primary_key.empty()) text += "  primary key " + Joined(s.primary_key) + "\n";
  if (!s.partition_by.empty()) text += "  partitioned by " + Joined(s.partition_by) + "\n";
  return text + Options(s);
}

std::string Rows(const Statement& s, bool with_kind) {
  if (s.rows.empty()) return s.expected == Expected::kSuccess ? "  nothing\n" : "";
  std::string text;
  for (const Row& row : s.rows) text += "  " + Print(row, with_kind) + "\n";
  return text;
}

std::string Lines(const Statement& s) {
  if (s.columns.empty()) return s.expected == Expected::kSuccess ? "  nothing\n" : "";
  std::string text;
  for (const std::string& line : s.columns) text += "  " + line + "\n";
  return text;
}

std::string Overwrite(const Statement& s) {
  std::string text = "overwrite";
  for (const auto& [key, value] : s.options)
    text += (text.size() > 9 ? ", " : " where ") + key + " = " + value;
  return text + "\n" + (s.rows.empty() ? "  nothing\n" : Rows(s, true));
}

std::string Fault(const Statement& s) {
  std::string text = "fail at " + std::to_string(s.number.value_or(0)) + " " + WordOf(s.fault);
  if (!s.operation.empty()) text += " counting " + s.operation;
  if (!s.text.empty()) text += " in " + s.text;
  return text + "\n";
}

std::string Body(const Statement& s) {
  switch (s.verb) {
    case Verb::kStore: return "store " + s.name + "\n";
    case Verb::kMemory: return "memory " + s.name + (s.full ? " with scratch" : "") + "\n";
    case Verb::kClock: return "clock +" + std::to_string(s.number.value_or(0)) + " ms\n";
    case Verb::kCreate: return "create " + s.name + "\n" + Definition(s);
    case Verb::kDrop: return "drop " + s.name + "\n";
    case Verb::kRename: return "rename " + s.name + " to " + s.text + "\n";
    case Verb::kUse: return "use " + s.name + "\n";
    case Verb::kAlter: return "alter\n" + Options(s);
    case Verb::kWrite:
      return "write" + WriterClauses(s) + "\n" + (s.rows.empty() ? "  nothing\n" : Rows(s, true));
    case Verb::kFlush: return "flush" + WriterClauses(s) + "\n";
    case Verb::kCompactWriter: return "compact" + WriterClauses(s) + "\n";
    case Verb::kPrepare: return "prepare" + WriterClauses(s) + "\n";
    case Verb::kCommit: return "commit" + WriterClauses(s) + "\n";
    case Verb::kTogether: return "together " + Joined(s.columns) + "\n";
    case Verb::kClose: return "close" + WriterClauses(s) + "\n";
    case Verb::kRestart: return "restart\n";
    case Verb::kCompact: return std::string("compact table") + (s.full ? " full" : "") + "\n";
    case Verb::kExpire: return "expire\n";
    case Verb::kOverwrite: return Overwrite(s);
    case Verb::kFault: return Fault(s);
    case Verb::kHeal: return "heal\n";
    case Verb::kRead: return "read" + ReadClauses(s) + "\n" + Rows(s, false);
    case Verb::kGet:
      return "get" + (s.at.has_value() ? " at " + std::to_string(*s.at) : "") + " " + Print(s.key) + "\n" +
             Rows(s, false);
    case Verb::kChanges: return "changes" + ReadClauses(s) + "\n" + Rows(s, true);
    case Verb::kStreamVisible: return "stream-visible" + ReadClauses(s) + "\n" + Rows(s, false);
    case Verb::kSnapshots: return "snapshots\n" + Lines(s);
    case Verb::kLevels:
      return "levels" + (s.at.has_value() ? " at " + std::to_string(*s.at) : "") + "\n" + Lines(s);
    case Verb::kCheck: return "check\n";
  }
  return "";
}

}  // namespace

std::string Print(const std::vector<Cell>& cells) {
  std::string text;
  for (const Cell& cell : cells) text += (text.empty() ? "" : ", ") + PrintCell(cell);
  return text;
}

std::string Print(const Row& row, bool with_kind) {
  return (with_kind ? std::string(WordOfRowKind(row.kind)) + " " : "") + Print(row.cells);
}

std::string Print(const Statement& statement) {
  std::string text;
  if (statement.expected == Expected::kError) {
    text = "expect error " + WordOf(statement.error_kind);
    if (!statement.error_text.empty()) text += " containing " + statement.error_text;
    text += "\n";
  } else if (statement.expected == Expected::kEither) {
    text = "try ";
  }
  return text + Body(statement);
}

std::string Print(const Scenario& scenario) {
  std::string text;
  for (const std::string& line : scenario.heading) text += line.empty() ? "#\n" : "# " + line + "\n";
  for (const Statement& statement : scenario.statements) text += "\n" + Print(statement);
  return text;
}

}  // namespace headrace::scenario
