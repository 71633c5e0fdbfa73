// The prompt of `headrace sql`: statements over several lines, history, completion, and commands that begin with a backslash.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "cli/line_editor.h"
#include "cli/sql.h"
#include "cli/stop_signal.h"

namespace headrace::cli {
namespace {

constexpr char kHelp[] =
    "Statements end with ';' and may take several lines; Ctrl-C leaves one unfinished or stops the one that "
    "runs, Ctrl-D ends.\n"
    "  \\d            tables            \\d db.table   its columns\n"
    "  \\timing       tell how long statements take, or not\n"
    "  \\?            this              \\q            end\n";

constexpr const char* kWords[] = {
    "SELECT",        "FROM",        "WHERE",        "GROUP BY",    "ORDER BY",       "HAVING",
    "LIMIT",         "JOIN",        "LEFT JOIN",    "INSERT INTO", "VALUES",         "UPDATE",
    "SET",           "DELETE FROM", "CREATE TABLE", "PRIMARY KEY", "NOT ENFORCED",   "PARTITIONED BY",
    "WITH",          "DROP TABLE",  "DESCRIBE",     "SHOW TABLES", "SHOW DATABASES", "SHOW CREATE TABLE",
    "EXPLAIN",       "USE",         "paimon(",      "changes(",    "snapshot =>",    "from_snapshot =>",
    "to_snapshot =>"};

bool BeginsWith(const std::string& text, const std::string& beginning) {
  return text.size() >= beginning.size() &&
         std::equal(beginning.begin(), beginning.end(), text.begin(),
                    [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

// Names that can stand at a place: words of SQL, tables, and the columns of tables that the line has named.
std::vector<std::string> Completions(Engine* engine, const std::string& line, size_t word) {
  const std::string beginning = line.substr(word);
  std::vector<std::string> found;
  const auto add = [&](const std::string& name) {
    if (BeginsWith(name, beginning) && std::find(found.begin(), found.end(), name) == found.end())
      found.push_back(name);
  };
  const auto databases = engine->ListDatabases();
  for (const std::string& database : databases.ok() ? *databases : std::vector<std::string>()) {
    const auto tables = engine->ListTables(database);
    for (const std::string& table : tables.ok() ? *tables : std::vector<std::string>()) {
      const std::string name = database + "." + table;
      add(name);
      if (beginning.empty() || line.find(name) == std::string::npos || line.find(name) == word) continue;
      const auto opened = engine->OpenTable(name);
      if (!opened.ok()) continue;
      for (const ColumnInfo& column : (*opened)->info().columns) add(column.name);
    }
  }
  if (!beginning.empty()) {
    for (const char* each : kWords) add(each);
  }
  return found;
}

std::string HistoryFile() {
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  if ((state == nullptr || *state == '\0') && (home == nullptr || *home == '\0')) return "";
  const std::filesystem::path folder = state != nullptr && *state != '\0'
                                           ? std::filesystem::path(state)
                                           : std::filesystem::path(home) / ".local" / "state";
  std::error_code error;
  std::filesystem::create_directories(folder / "headrace", error);
  return error ? "" : (folder / "headrace" / "sql_history").string();
}

class Prompt {
 public:
  Prompt(SqlArguments arguments, Engine* engine, Sql* sql, Session& session)
      : arguments_(std::move(arguments)),
        sql_(sql),
        session_(session),
        editor_(LineEditor::Open(HistoryFile(), [engine](const std::string& line, size_t word) {
          return Completions(engine, line, word);
        })) {}

  Result<int> Run() {
    session_.Note("headrace " + std::string(Version()) + "; \\? for help");
    std::string text;
    while (true) {
      std::string line;
      const LineEditor::End end = editor_->Read(text.empty() ? "headrace> " : "      ..> ", &line);
      if (end == LineEditor::End::kEndOfInput) break;
      if (end == LineEditor::End::kInterrupted) {
        std::printf("\n");
        text.clear();
        continue;
      }
      if (text.empty() && !line.empty() && line[0] == '\\') {
        editor_->Remember(line);
        if (!RunCommand(line)) return kDone;
        continue;
      }
      if (text.empty() && line.find_first_not_of(" \t") == std::string::npos) continue;
      text += (text.empty() ? "" : "\n") + line;
      if (!IsCompleteSql(text)) continue;
      editor_->Remember(text);
      RunText(text);
      text.clear();
    }
    std::printf("\n");
    return kDone;
  }

 private:
  void Tell(const Status& status) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s: %s\n", std::string(NameOf(KindOf(status))).c_str(), status.message().c_str());
  }

  void RunText(const std::string& text) {
    const auto statements = SplitSql(text);
    if (!statements.ok()) return Tell(statements.status());
    for (const std::string& statement : *statements) {
      const Status status = RunStatement(arguments_, statement, sql_, session_);
      ForgetStop();
      if (!status.ok()) return Tell(status);
    }
  }

  // False: end.
  bool RunCommand(std::string line) {
    while (!line.empty() && (line.back() == ' ' || line.back() == ';')) line.pop_back();
    if (line == "\\q") return false;
    if (line == "\\timing") {
      arguments_.timing = !arguments_.timing;
      session_.Note(arguments_.timing ? "timing is on" : "timing is off");
    } else if (line == "\\d") {
      RunText("SHOW TABLES;");
    } else if (line.rfind("\\d ", 0) == 0) {
      RunText("DESCRIBE " + line.substr(3) + ";");
    } else {
      if (line != "\\?") std::fprintf(stderr, "%s is not known\n", line.c_str());
      std::fputs(kHelp, stderr);
    }
    return true;
  }

  SqlArguments arguments_;
  Sql* sql_;
  Session& session_;
  std::unique_ptr<LineEditor> editor_;
};

}  // namespace

Result<int> RunPrompt(SqlArguments arguments, Engine* engine, Sql* sql, Session& session) {
  return Prompt(std::move(arguments), engine, sql, session).Run();
}

}  // namespace headrace::cli
