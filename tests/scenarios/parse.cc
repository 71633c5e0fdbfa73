// Text to statements: a statement is a line that is not indented, its block the indented lines below.
#include <algorithm>
#include <functional>
#include <utility>

#include "format/table_options.h"
#include "tests/scenarios/scenario.h"
#include "tests/scenarios/terms.h"
#include "tests/scenarios/words.h"

namespace headrace::scenario {
namespace {

constexpr std::string_view kNothing = "nothing";

struct Line {
  int number = 0;
  std::string_view text;  // trimmed
  bool indented = false;
};

struct Head {
  Line line;
  std::vector<Line> block;
};

Status AtLine(int number, const Status& status) {
  return status.ok() ? status : WithContext(std::to_string(number), status);
}

std::vector<Line> LinesOf(std::string_view text, std::vector<std::string>* heading) {
  std::vector<Line> lines;
  int number = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view whole = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    ++number;
    const std::string_view trimmed = Trimmed(whole);
    if (trimmed.empty()) continue;
    if (trimmed.front() == '#') {
      if (lines.empty()) heading->emplace_back(Trimmed(trimmed.substr(1)));
      continue;
    }
    lines.push_back({number, trimmed, whole.front() == ' ' || whole.front() == '\t'});
  }
  return lines;
}

// ---- blocks

Result<Row> ParseRow(const Line& line, bool with_kind) {
  Row row;
  std::string_view cells = line.text;
  if (const auto kind = RowKindOf(cells.substr(0, 2)); with_kind && kind.has_value()) {
    row.kind = *kind;
    cells = Trimmed(cells.substr(2));
  }
  HEADRACE_ASSIGN_OR_RETURN(row.cells, ParseCells(cells));
  return row;
}

// Rows, or the word `nothing` where none are expected.
Status ParseRows(const Head& head, bool with_kind, Statement* statement) {
  if (head.block.empty())
    return Invalid("rows are missing: a line each, indented, or the word '", kNothing, "'");
  if (head.block.size() == 1 && head.block[0].text == kNothing) return Status::OK();
  for (const Line& line : head.block) {
    auto row = ParseRow(line, with_kind);
    if (!row.ok()) return AtLine(line.number, row.status());
    statement->rows.push_back(std::move(*row));
  }
  return Status::OK();
}

Status ParseTextLines(const Head& head, Statement* statement) {
  if (head.block.empty())
    return Invalid("lines are missing: what is expected, indented, or the word '", kNothing, "'");
  if (head.block.size() == 1 && head.block[0].text == kNothing) return Status::OK();
  for (const Line& line : head.block) statement->columns.emplace_back(line.text);
  return Status::OK();
}

Status ParseOption(Words words, Statement* statement) {
  const auto pair = SplitPair(words.Rest());
  if (!pair.has_value() || pair->first.empty()) return Invalid("an option is written: option key = value");
  if (!statement->options.insert(*pair).second) return Invalid("option ", pair->first, " is there twice");
  return Status::OK();
}

Status ParseDefinitionLine(const Line& line, Statement* statement) {
  Words words(line.text);
  if (words.TakeIf("columns")) {
    if (!statement->text.empty()) statement->text += ", ";
    statement->text += words.Rest();
    return Status::OK();
  }
  if (words.TakeIf("primary")) {
    if (!words.TakeIf("key")) return Invalid("'primary' is followed by 'key' and its columns");
    statement->primary_key = SplitList(words.Rest());
    return Status::OK();
  }
  if (words.TakeIf("partitioned")) {
    if (!words.TakeIf("by")) return Invalid("'partitioned' is followed by 'by' and its columns");
    statement->partition_by = SplitList(words.Rest());
    return Status::OK();
  }
  if (words.TakeIf("option")) return ParseOption(words, statement);
  return Invalid("'", line.text, "' is not a part of a table: columns, primary key, partitioned by, option");
}

// ---- the clauses of heads

Status ParseReadClauses(Words* words, Statement* statement) {
  while (!words->empty()) {
    if (words->TakeIf("at")) {
      HEADRACE_ASSIGN_OR_RETURN(statement->at, words->TakeNumber("the snapshot after 'at'"));
    } else if (words->TakeIf("from")) {
      HEADRACE_ASSIGN_OR_RETURN(statement->from, words->TakeNumber("the snapshot after 'from'"));
    } else if (words->TakeIf("to")) {
      HEADRACE_ASSIGN_OR_RETURN(statement->to, words->TakeNumber("the snapshot after 'to'"));
    } else if (words->TakeIf("ordered")) {
      statement->ordered = true;
    } else if (words->TakeIf("columns")) {
      statement->columns = SplitList(words->Rest());
    } else {
      return Invalid("'", words->Peek(), "' is not understood here");
    }
  }
  return Status::OK();
}

// [writer] with clauses after it.
Status ParseWriterClauses(Words* words, Statement* statement) {
  statement->name = kUnnamedWriter;
  bool named = false;
  while (!words->empty()) {
    if (words->TakeIf("full")) {
      statement->full = true;
    } else if (words->TakeIf("as")) {
      HEADRACE_ASSIGN_OR_RETURN(statement->number, words->TakeNumber("the identifier after 'as'"));
    } else if (words->TakeIf("once")) {
      statement->once = true;
    } else if (words->TakeIf("again")) {
      statement->again = true;
    } else if (words->TakeIf("overtaken")) {
      if (!words->TakeIf("by")) return Invalid("'overtaken' is followed by 'by' and a writer");
      HEADRACE_ASSIGN_OR_RETURN(statement->text, words->TakeName("the writer after 'overtaken by'"));
    } else if (!named) {
      statement->name = words->Take();
      named = true;
    } else {
      return Invalid("'", words->Peek(), "' is not understood here");
    }
  }
  return Status::OK();
}

Status ParseFault(Words* words, Statement* statement) {
  if (!words->TakeIf("at"))
    return Invalid("'fail' is followed by 'at' and the number of an operation, from 0");
  HEADRACE_ASSIGN_OR_RETURN(statement->number, words->TakeNumber("the operation after 'fail at'"));
  const std::string kind = words->Take();
  const auto fault = FaultKindOf(kind);
  if (!fault.has_value()) return Invalid("'", kind, "' is not a fault: ", AllFaultKinds());
  statement->fault = *fault;
  if (words->TakeIf("counting")) {
    statement->operation = words->Take();
    if (statement->operation != "changes" && !OperationOf(statement->operation).has_value())
      return Invalid("'", statement->operation, "' is not an operation: changes, ", AllOperations());
  }
  if (words->TakeIf("in")) statement->text = words->Take();
  return words->ExpectEnd();
}

Status ParseOverwrite(Words* words, Statement* statement) {
  if (words->empty()) return Status::OK();
  if (!words->TakeIf("where"))
    return Invalid("'", words->Peek(), "': a partition is told by: where p = 1, q = x");
  for (const std::string& part : SplitList(words->Rest())) {
    const auto pair = SplitPair(part);
    if (!pair.has_value()) return Invalid("'", part, "' is not of the form column = value");
    statement->options.insert(*pair);
  }
  return Status::OK();
}

// ---- statements

struct Syntax {
  std::string_view word;
  Verb verb;
  enum class Block { kNone, kWritten, kRead, kChanged, kLines, kDefinition, kOptions } block;
  Status (*clauses)(Words* words, Statement* statement);
};

Status NoClauses(Words* words, Statement*) { return words->ExpectEnd(); }
Status NameClause(Words* words, Statement* statement) {
  HEADRACE_ASSIGN_OR_RETURN(statement->name, words->TakeName("a table"));
  return words->ExpectEnd();
}
Status RestAsName(Words* words, Statement* statement) {
  statement->name = words->Rest();
  return statement->name.empty() ? Invalid("something is missing at the end of the line") : Status::OK();
}
Status ParseMemory(Words* words, Statement* statement) {
  constexpr std::string_view kScratch = " with scratch";
  std::string size = words->Rest();
  statement->full = size.ends_with(kScratch);
  if (statement->full) size.resize(size.size() - kScratch.size());
  statement->name = size;
  return ParseMemorySize(size).status();
}
Status ParseClock(Words* words, Statement* statement) {
  std::string step = words->Rest();
  if (step.empty() || step.front() != '+') return Invalid("'clock' is followed by a step, '+5 min'");
  HEADRACE_ASSIGN_OR_RETURN(statement->number, ParseDurationMs(Trimmed(std::string_view(step).substr(1))));
  return Status::OK();
}
Status ParseRename(Words* words, Statement* statement) {
  HEADRACE_ASSIGN_OR_RETURN(statement->name, words->TakeName("a table"));
  if (!words->TakeIf("to")) return Invalid("'rename' needs 'to' and a name");
  HEADRACE_ASSIGN_OR_RETURN(statement->text, words->TakeName("the table's new name"));
  return words->ExpectEnd();
}
Status ParseTogether(Words* words, Statement* statement) {
  statement->columns = SplitList(words->Rest());
  return statement->columns.size() > 1 ? Status::OK() : Invalid("two writers at least, separated by commas");
}
Status ParseCompact(Words* words, Statement* statement) {
  if (words->TakeIf("table")) {
    statement->verb = Verb::kCompact;
    statement->full = words->TakeIf("full");
    return words->ExpectEnd();
  }
  return ParseWriterClauses(words, statement);
}
Status ParseGet(Words* words, Statement* statement) {
  if (words->TakeIf("at")) {
    HEADRACE_ASSIGN_OR_RETURN(statement->at, words->TakeNumber("the snapshot after 'at'"));
  }
  HEADRACE_ASSIGN_OR_RETURN(statement->key, ParseCells(words->Rest()));
  return Status::OK();
}

using Block = Syntax::Block;
constexpr Syntax kSyntax[] = {
    {"store", Verb::kStore, Block::kNone, RestAsName},
    {"memory", Verb::kMemory, Block::kNone, ParseMemory},
    {"clock", Verb::kClock, Block::kNone, ParseClock},
    {"create", Verb::kCreate, Block::kDefinition, NameClause},
    {"drop", Verb::kDrop, Block::kNone, NameClause},
    {"rename", Verb::kRename, Block::kNone, ParseRename},
    {"use", Verb::kUse, Block::kNone, NameClause},
    {"alter", Verb::kAlter, Block::kOptions, NoClauses},
    {"write", Verb::kWrite, Block::kWritten, ParseWriterClauses},
    {"flush", Verb::kFlush, Block::kNone, ParseWriterClauses},
    {"compact", Verb::kCompactWriter, Block::kNone, ParseCompact},
    {"prepare", Verb::kPrepare, Block::kNone, ParseWriterClauses},
    {"commit", Verb::kCommit, Block::kNone, ParseWriterClauses},
    {"together", Verb::kTogether, Block::kNone, ParseTogether},
    {"close", Verb::kClose, Block::kNone, ParseWriterClauses},
    {"restart", Verb::kRestart, Block::kNone, NoClauses},
    {"expire", Verb::kExpire, Block::kNone, NoClauses},
    {"overwrite", Verb::kOverwrite, Block::kWritten, ParseOverwrite},
    {"fail", Verb::kFault, Block::kNone, ParseFault},
    {"heal", Verb::kHeal, Block::kNone, NoClauses},
    {"read", Verb::kRead, Block::kRead, ParseReadClauses},
    {"get", Verb::kGet, Block::kRead, ParseGet},
    {"changes", Verb::kChanges, Block::kChanged, ParseReadClauses},
    {"stream-visible", Verb::kStreamVisible, Block::kRead, ParseReadClauses},
    {"snapshots", Verb::kSnapshots, Block::kLines, NoClauses},
    {"levels", Verb::kLevels, Block::kLines, ParseReadClauses},
    {"check", Verb::kCheck, Block::kNone, NoClauses},
};

Status ParseBlock(const Head& head, Block block, Statement* statement) {
  const bool needed = statement->expected == Expected::kSuccess;
  switch (block) {
    case Block::kNone:
      if (!head.block.empty())
        return AtLine(head.block[0].number, Invalid("'", head.line.text, "' takes no indented lines"));
      return Status::OK();
    case Block::kWritten: return ParseRows(head, true, statement);
    case Block::kRead:
    case Block::kChanged:
      // What is expected to fail shows no rows.
      if (head.block.empty() && !needed) return Status::OK();
      return ParseRows(head, block == Block::kChanged, statement);
    case Block::kLines:
      if (head.block.empty() && !needed) return Status::OK();
      return ParseTextLines(head, statement);
    case Block::kDefinition:
    case Block::kOptions:
      for (const Line& line : head.block) {
        Words words(line.text);
        Status status;
        if (block == Block::kOptions && words.TakeIf("unset")) {
          statement->unset.push_back(words.Rest());
        } else if (block == Block::kOptions && words.Peek() != "option") {
          status = Invalid("'", line.text, "' is not 'option key = value' nor 'unset key'");
        } else {
          status = ParseDefinitionLine(line, statement);
        }
        HEADRACE_RETURN_NOT_OK(AtLine(line.number, status));
      }
      if (block == Block::kDefinition && statement->text.empty())
        return Invalid("a table needs a line 'columns name TYPE, …'");
      return Status::OK();
  }
  return Status::OK();
}

Result<Statement> ParseStatement(const Head& head, const std::optional<Statement>& expectation) {
  Statement statement = expectation.value_or(Statement{});
  statement.line = head.line.number;
  Words words(head.line.text);
  if (words.TakeIf("try")) {
    if (expectation.has_value()) return Invalid("'try' is of no use after 'expect error'");
    statement.expected = Expected::kEither;
  }
  const std::string word = words.Take();
  const auto syntax = std::find_if(std::begin(kSyntax), std::end(kSyntax),
                                   [&](const Syntax& known) { return known.word == word; });
  if (syntax == std::end(kSyntax)) return Invalid("'", word, "' is not a statement of this language");
  statement.verb = syntax->verb;
  HEADRACE_RETURN_NOT_OK(syntax->clauses(&words, &statement));
  HEADRACE_RETURN_NOT_OK(ParseBlock(head, syntax->block, &statement));
  return statement;
}

// "expect error KIND [containing TEXT]": for the statement that follows.
Result<Statement> ParseExpectation(const Head& head) {
  Words words(head.line.text);
  words.Take();
  if (!words.TakeIf("error")) return Invalid("'expect' is followed by 'error' and its kind");
  const std::string kind = words.Take();
  const auto error_kind = ErrorKindOf(kind);
  if (!error_kind.has_value()) return Invalid("'", kind, "' is not a kind of error: ", AllErrorKinds());
  Statement statement;
  statement.expected = Expected::kError;
  statement.error_kind = *error_kind;
  if (words.TakeIf("containing")) statement.error_text = words.Rest();
  HEADRACE_RETURN_NOT_OK(words.ExpectEnd());
  if (!head.block.empty()) return Invalid("'expect' takes no indented lines");
  return statement;
}

Result<std::vector<Statement>> ParseStatements(const std::vector<Head>& heads) {
  std::vector<Statement> statements;
  std::optional<Statement> expectation;
  for (const Head& head : heads) {
    const bool expects = Words(head.line.text).Peek() == "expect";
    auto parsed =
        expects && !expectation.has_value() ? ParseExpectation(head) : ParseStatement(head, expectation);
    if (!parsed.ok()) {
      // A line of the block has been named already.
      const std::string& message = parsed.status().message();
      const bool named = !message.empty() && message[0] >= '0' && message[0] <= '9';
      return named ? parsed.status() : AtLine(head.line.number, parsed.status());
    }
    if (expects) {
      expectation = std::move(*parsed);
      expectation->line = head.line.number;
      continue;
    }
    expectation.reset();
    statements.push_back(std::move(*parsed));
  }
  if (expectation.has_value())
    return AtLine(expectation->line, Invalid("no statement follows this 'expect error'"));
  return statements;
}

}  // namespace

Result<std::vector<Cell>> ParseCells(std::string_view text) {
  std::vector<Cell> cells;
  text = Trimmed(text);
  while (true) {
    std::string cell;
    if (!text.empty() && text.front() == '\'') {
      size_t i = 1;
      for (;; ++i) {
        if (i >= text.size()) return Invalid("a quote is not closed: ", text);
        if (text[i] != '\'') {
          cell.push_back(text[i]);
        } else if (i + 1 < text.size() && text[i + 1] == '\'') {
          cell.push_back(text[i++]);
        } else {
          break;
        }
      }
      text = Trimmed(text.substr(i + 1));
      if (!text.empty() && text.front() != ',') return Invalid("a comma is missing before ", text);
      cells.emplace_back(std::move(cell));
    } else {
      const size_t comma = std::min(text.find(','), text.size());
      const std::string_view bare = Trimmed(text.substr(0, comma));
      if (bare.empty()) return Invalid("a value is missing; an empty text is written '', no value null");
      cells.push_back(bare == "null" ? Cell() : Cell(std::string(bare)));
      text = text.substr(comma);
    }
    if (text.empty()) return cells;
    text = Trimmed(text.substr(1));
  }
}

Result<Scenario> ParseScenario(std::string_view text, std::string origin) {
  Scenario scenario;
  scenario.origin = std::move(origin);
  std::vector<Head> heads;
  for (const Line& line : LinesOf(text, &scenario.heading)) {
    if (!line.indented) {
      heads.push_back({line, {}});
    } else if (heads.empty()) {
      return Invalid(scenario.origin, ":", line.number, ": an indented line belongs to a statement above it");
    } else {
      heads.back().block.push_back(line);
    }
  }
  auto statements = ParseStatements(heads);
  if (!statements.ok()) return Invalid(scenario.origin, ":", statements.status().message());
  scenario.statements = std::move(*statements);
  return scenario;
}

}  // namespace headrace::scenario
