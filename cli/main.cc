// The program `headrace`: global options, one command, an exit status.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include <arrow/compute/initialize.h>
#include <CLI/CLI.hpp>

#include "cli/help.h"
#include "cli/session.h"
#include "headrace/engine.h"

namespace headrace::cli {
namespace {

constexpr char kFooter[] = R"(
TABLE is db.table in the warehouse, or a table's folder when it holds a '/'.

Examples:
  headrace create shop.customers --schema 'customer_id BIGINT, name STRING' --primary-key customer_id
  headrace ingest shop.customers changes.jsonl --format debezium-json
  headrace read shop.customers --columns customer_id,name --limit 10
  headrace changes shop.customers --from earliest --follow
  headrace why shop.customers customer_id=8821
  headrace check shop.customers --data
  headrace sql -c 'SELECT plan, count(*) FROM shop.customers GROUP BY plan'
  headrace demo

Exit status: 0 done, 1 failed or different, 2 wrong usage,
3 done with dead letters.)";

void AddGlobalOptions(CLI::App* app, GlobalOptions* global) {
  app->add_option("--warehouse", global->warehouse,
                  "The folder that holds <database>.db/<table> (default ./warehouse)")
      ->envname("HEADRACE_WAREHOUSE")
      ->type_name("DIR");
  app->add_option(
         "--memory", global->memory,
         "Budget of all write buffers; lookups keep up to a quarter of it besides, and the queries of sql "
         "and run have as much again")
      ->type_name("SIZE")
      ->capture_default_str();
  app->add_option("--spill-dir", global->spill_directory,
                  "Where rows wait when memory is short (default: the folder for temporary files)")
      ->type_name("DIR");
  app->add_option("--threads", global->threads, "Threads for compactions beside the writer, and of a query")
      ->type_name("N")
      ->check(WholeNumber(0, 256))
      ->capture_default_str();
  app->add_flag("-q,--quiet", global->quiet, "No notes and no progress on stderr");
  app->set_version_flag("--version", "headrace " + std::string(Version()));
}

int Fail(const Status& status) {
  const std::string kind(IsUsageError(status) ? "wrong usage" : NameOf(KindOf(status)));
  std::fprintf(stderr, "headrace: %s: %s\n", kind.c_str(), status.message().c_str());
  return IsUsageError(status) ? kUsage : kFailed;
}

// Whether a damaged file is one of the table's, and not of what was to be ingested: the message names the table, or lies below its folder.
bool IsOfTable(const std::string& message, const std::string& table) {
  if (table.empty()) return false;
  std::string folder = table;
  if (const size_t dot = table.find('.'); dot != std::string::npos && table.find('/') == std::string::npos)
    folder = table.substr(0, dot) + ".db/" + table.substr(dot + 1) + "/";
  return message.find(table) != std::string::npos || message.find(folder) != std::string::npos;
}

int Fail(const Status& status, const Session& session) {
  const int result = Fail(status);
  if (!IsUsageError(status) && KindOf(status) == ErrorKind::kCorruption &&
      IsOfTable(status.message(), session.table())) {
    std::fprintf(stderr, "headrace check %s tells what is damaged\n", session.table().c_str());
  }
  return result;
}

int Main(int argc, char** argv) {
  GlobalOptions global;
  Chosen chosen;
  CLI::App app("Streaming-first lakehouse tables in the Apache Paimon format.", "headrace");
  UseHelp(&app);
  AddGlobalOptions(&app, &global);
  app.require_subcommand(1);
  app.fallthrough();
  app.footer(kFooter);
  AddCreate(&app, &chosen);
  AddAlter(&app, &chosen);
  AddIngest(&app, &chosen);
  AddSync(&app, &chosen);
  AddRead(&app, &chosen);
  AddGet(&app, &chosen);
  AddChanges(&app, &chosen);
  AddShow(&app, &chosen);
  AddInspect(&app, &chosen);
  AddMaintenance(&app, &chosen);
  AddExpire(&app, &chosen);
  AddCheck(&app, &chosen);
  AddWhy(&app, &chosen);
  AddSql(&app, &chosen);
  AddRun(&app, &chosen);
  AddDemo(&app, &chosen);
  AddCompletion(&app, &chosen);
  AddHelp(&app, &chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    TellMistake(app, error);
    return kUsage;
  }
  const Status ready = arrow::compute::Initialize();
  if (!ready.ok()) return Fail(ready);
  Session session(global);
  const Result<int> result = chosen.run(session);
  if (!result.ok()) return Fail(result.status(), session);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return Fail(Status::IOError("writing to standard output: ", std::strerror(errno)));
  }
  return *result;
}

}  // namespace
}  // namespace headrace::cli

int main(int argc, char** argv) {
  // A file that may not grow any further (ulimit -f) is an error to be told, not an end without a word.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return headrace::cli::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "headrace: unexpected: %s\n", error.what());
    return headrace::cli::kFailed;
  }
}
