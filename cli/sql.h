// What `headrace sql` does with one statement, at a prompt or in a script.
#pragma once

#include <string>

#include "cli/output.h"
#include "cli/session.h"
#include "headrace/sql.h"

namespace headrace::cli {

struct SqlArguments {
  std::string command;
  std::string file;
  std::string database;
  bool timing = false;
  OutputOptions output;
};

// Runs a statement and writes its rows, or says what it did. A SIGINT ends it with kCancelled.
Status RunStatement(const SqlArguments& arguments, const std::string& statement, Sql* sql, Session& session);

// Statements typed at a terminal, until its end.
Result<int> RunPrompt(SqlArguments arguments, Engine* engine, Sql* sql, Session& session);

}  // namespace headrace::cli
