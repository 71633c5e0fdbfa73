// `headrace expire`.
#include <memory>
#include <string>
#include <vector>

#include "cli/help.h"
#include "cli/progress.h"
#include "cli/session.h"

namespace headrace::cli {
namespace {

struct Arguments {
  std::string table;
  ExpireOptions options;
};

// "snapshot 3", "snapshots 3 to 7"
std::string RangeText(int64_t first, int64_t last, const std::string& what) {
  if (first == last) return what + " " + std::to_string(first);
  return what + "s " + std::to_string(first) + " to " + std::to_string(last);
}

std::string RangeText(const std::vector<int64_t>& ids, const std::string& what) {
  return RangeText(ids.front(), ids.back(), what);
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

void Tell(const ExpireResult& result, bool dry_run) {
  const std::string ends = dry_run ? " would end" : " ended";
  const auto line = [](const std::string& text) { std::printf("%s\n", text.c_str()); };
  for (const std::string& consumer : result.consumers) line("idle consumer '" + consumer + "'" + ends);
  if (!result.snapshots.empty())
    line(RangeText(result.snapshots, "snapshot") + ends +
         (result.changelogs_left ? "; their changes stay in changelog/" : ""));
  if (!result.changelogs.empty()) line(RangeText(result.changelogs, "changelog") + ends);
  if (result.snapshots.empty() && result.changelogs.empty()) line("nothing is due");
  if (result.files > 0)
    line(Counted(result.files, "file") + (dry_run ? " would be deleted, " : " deleted, ") +
         BytesText(result.bytes));
  if (result.files_kept > 0)
    line(Counted(result.files_kept, "data file") + " kept by " + Joined(result.keepers));
  if (result.latest.has_value()) {
    const bool after = dry_run && !result.snapshots.empty();
    const int64_t earliest = after ? result.snapshots.back() + 1 : *result.earliest;
    line(RangeText(earliest, *result.latest, "snapshot") + (dry_run                      ? " would stay"
                                                            : earliest == *result.latest ? " stays"
                                                                                         : " stay"));
  }
  for (const ExpireHold& hold : result.holds)
    line("  held back from snapshot " + std::to_string(hold.from) + " on: " + hold.why);
}

Result<int> RunExpire(const Arguments& arguments, Session& session) {
  ARROW_ASSIGN_OR_RAISE(Engine * engine, session.engine(arguments.table));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<TableHandle> table, engine->OpenTable(arguments.table));
  ARROW_ASSIGN_OR_RAISE(const ExpireResult result, table->Expire(arguments.options));
  Tell(result, arguments.options.dry_run);
  return kDone;
}

}  // namespace

void AddExpire(CLI::App* app, Chosen* chosen) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* sub =
      app->add_subcommand("expire", "End old snapshots and changelogs, and delete what nothing needs");
  sub->add_option("TABLE", arguments->table, "db.table or a table's folder")->required();
  sub->add_flag("--dry-run", arguments->options.dry_run, "Tell what would end and why the rest stays");
  sub->add_option("--retain-max", arguments->options.retain_max,
                  "At most so many snapshots stay, however young (else snapshot.num-retained.max)")
      ->type_name("N")
      ->check(WholeNumber(0));
  sub->add_option("--retain-min", arguments->options.retain_min,
                  "At least so many snapshots stay, however old (else snapshot.num-retained.min)")
      ->type_name("N")
      ->check(WholeNumber(0));
  sub->add_option("--older-than", arguments->options.older_than,
                  "What is older ends: an age like '2 h', or a local time (else snapshot.time-retained)")
      ->type_name("AGE|TIME");
  sub->footer(
      "\nWhat a tag, a branch, a consumer, an ingest job or a retained changelog needs is\nnever deleted.\n"
      "\nExamples:\n  headrace expire shop.customers --dry-run\n"
      "  headrace expire shop.customers --older-than '2 h' --retain-min 1\n"
      "  headrace expire shop.customers --retain-max 20");
  OnGiven(sub, chosen, [arguments](Session& session) { return RunExpire(*arguments, session); });
}

}  // namespace headrace::cli
