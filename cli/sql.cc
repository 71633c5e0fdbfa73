// `headrace sql`: statements from the command line, a file, standard input or a prompt.
#include "cli/sql.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <thread>

#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>

#include "cli/help.h"
#include "cli/output_stream.h"
#include "cli/progress.h"
#include "cli/stop_signal.h"

namespace headrace::cli {
namespace {

// Watches a running statement from beside it: a signal interrupts it, and what is known of its progress is shown.
class Watcher {
 public:
  Watcher(Sql* sql, bool quiet) : progress_("running", quiet), thread_([this, sql] { Watch(sql); }) {}
  ~Watcher() { Stop(); }

  void Stop() {
    done_ = true;
    if (thread_.joinable()) thread_.join();
    progress_.Clear();
  }

 private:
  void Watch(Sql* sql) {
    bool interrupted = false;
    while (!done_) {
      if (StopRequested() && !interrupted) {
        interrupted = true;
        sql->Interrupt();
      }
      const double percent = sql->progress();
      if (percent > 0) progress_.Show(static_cast<int64_t>(percent), percent / 100, "percent");
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  Progress progress_;
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

Status WriteRows(const SqlArguments& arguments, arrow::RecordBatchReader* rows, Watcher* watcher,
                 Session& session) {
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<RowSink> sink, OpenOutput(arguments.output, rows->schema()));
  int64_t count = 0;
  std::shared_ptr<arrow::RecordBatch> batch;
  while (true) {
    ARROW_RETURN_NOT_OK(rows->ReadNext(&batch));
    if (batch == nullptr) break;
    if (arguments.output.file.empty()) watcher->Stop();
    count += batch->num_rows();
    ARROW_RETURN_NOT_OK(sink->Write(*batch));
  }
  watcher->Stop();
  ARROW_RETURN_NOT_OK(sink->Close());
  if (!arguments.output.file.empty()) session.Note(Counted(count, "row") + " in " + arguments.output.file);
  return Status::OK();
}

Status WriteText(const SqlArguments& arguments, const std::string& text) {
  if (text.empty()) return Status::OK();
  ARROW_ASSIGN_OR_RAISE(
      std::shared_ptr<arrow::io::OutputStream> output,
      arguments.output.file.empty() ? OpenStandardOutput() : OpenOutputFile(arguments.output.file));
  ARROW_RETURN_NOT_OK(output->Write(text));
  return output->Close();
}

Result<std::string> ReadScript(const SqlArguments& arguments) {
  if (!arguments.command.empty()) return arguments.command;
  if (arguments.file.empty() || arguments.file == "-")
    return std::string(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  std::ifstream file(arguments.file, std::ios::binary);
  if (!file) return UsageError("--file ", arguments.file, ": the file cannot be opened");
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

Result<int> RunScript(const SqlArguments& arguments, Sql* sql, Session& session) {
  ARROW_ASSIGN_OR_RAISE(const std::string script, ReadScript(arguments));
  ARROW_ASSIGN_OR_RAISE(const std::vector<std::string> statements, SplitSql(script));
  if (!arguments.output.file.empty() && statements.size() > 1) {
    return UsageError("--output takes the rows of one statement, and there are ", statements.size(),
                      "; use COPY (query) TO 'file' for each");
  }
  for (size_t i = 0; i < statements.size(); ++i) {
    const Status status = RunStatement(arguments, statements[i], sql, session);
    if (!status.ok() && statements.size() > 1)
      return status.WithMessage("statement ", i + 1, " of ", statements.size(), ": ", status.message());
    ARROW_RETURN_NOT_OK(status);
  }
  return kDone;
}

Result<int> RunSql(const SqlArguments& arguments, Session& session) {
  if (!arguments.command.empty() && !arguments.file.empty())
    return UsageError("sql: give --command or --file, not both");
  ARROW_ASSIGN_OR_RAISE(Engine * engine, session.engine("db.table"));
  SqlOptions options;
  options.database = arguments.database;
  options.threads = std::max(1, session.global().threads);
  options.spill_directory = session.global().spill_directory;
  ARROW_ASSIGN_OR_RAISE(options.memory_bytes, ParseBytes(session.global().memory));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<Sql> sql, Sql::Open(engine, options));
  static_cast<void>(StopRequested());  // from here on a signal ends a statement, not the program
  const bool prompt = arguments.command.empty() && arguments.file.empty() && isatty(STDIN_FILENO) != 0;
  if (prompt) return RunPrompt(arguments, engine, sql.get(), session);
  return RunScript(arguments, sql.get(), session);
}

}  // namespace

Status RunStatement(const SqlArguments& arguments, const std::string& statement, Sql* sql, Session& session) {
  const auto started = std::chrono::steady_clock::now();
  Watcher watcher(sql, session.quiet());
  ARROW_ASSIGN_OR_RAISE(SqlAnswer answer, sql->Execute(statement));
  if (answer.rows != nullptr) {
    ARROW_RETURN_NOT_OK(WriteRows(arguments, answer.rows.get(), &watcher, session));
  } else {
    watcher.Stop();
    ARROW_RETURN_NOT_OK(WriteText(arguments, answer.text));
    if (!answer.message.empty()) session.Note(answer.message);
  }
  if (arguments.timing) {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
    char text[32];
    std::snprintf(text, sizeof text, "%.3f s", took.count());
    session.Note(text);
  }
  return Status::OK();
}

void AddSql(CLI::App* app, Chosen* chosen) {
  auto arguments = std::make_shared<SqlArguments>();
  CLI::App* sub =
      app->add_subcommand("sql", "Run SQL over the tables: from -c, a file, standard input, or a prompt");
  sub->add_option("-c,--command", arguments->command, "Statements, with ';' between them")->type_name("SQL");
  sub->add_option("-f,--file", arguments->file, "A file of statements; - is standard input")
      ->type_name("FILE");
  sub->add_option("--database", arguments->database, "The database of tables named without one")
      ->type_name("DB");
  sub->add_flag("--timing", arguments->timing, "Tell how long each statement took");
  AddOutputOptions(sub, &arguments->output);
  OnGiven(sub, chosen, [arguments](Session& session) { return RunSql(*arguments, session); });
}

}  // namespace headrace::cli
