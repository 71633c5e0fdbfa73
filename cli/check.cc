// `headrace check`: whether a table's files agree with each other.
#include "headrace/check.h"

#include <cstdio>
#include <memory>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "cli/help.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/session.h"

namespace headrace::cli {
namespace {

struct Arguments {
  std::string table;
  CheckOptions check;
  OutputOptions output;
};

Result<std::shared_ptr<arrow::RecordBatch>> BatchOf(const std::vector<Finding>& findings) {
  constexpr const char* kColumns[] = {"severity", "kind", "file", "found", "expected", "remedy"};
  std::vector<arrow::StringBuilder> builders(std::size(kColumns));
  for (const Finding& finding : findings) {
    ARROW_RETURN_NOT_OK(builders[0].Append(NameOf(finding.severity)));
    const std::string* texts[] = {&finding.kind, &finding.file, &finding.found, &finding.expected,
                                  &finding.remedy};
    for (size_t i = 0; i < std::size(texts); ++i) ARROW_RETURN_NOT_OK(builders[i + 1].Append(*texts[i]));
  }
  arrow::FieldVector fields;
  arrow::ArrayVector columns(builders.size());
  for (size_t i = 0; i < builders.size(); ++i) {
    fields.push_back(arrow::field(kColumns[i], arrow::utf8()));
    ARROW_RETURN_NOT_OK(builders[i].Finish(&columns[i]));
  }
  return arrow::RecordBatch::Make(arrow::schema(fields), static_cast<int64_t>(findings.size()),
                                  std::move(columns));
}

void PrintFinding(const Finding& finding) {
  const std::string severity(NameOf(finding.severity));
  std::printf("%s  %s  %s\n    found     %s\n    expected  %s\n    to do     %s\n\n", severity.c_str(),
              finding.kind.c_str(), finding.file.c_str(), finding.found.c_str(), finding.expected.c_str(),
              finding.remedy.c_str());
}

std::string Summary(const CheckReport& report, const CheckOptions& options) {
  std::string text = report.clean() ? "no damage" : "damaged: " + Counted(report.damages, "finding");
  if (report.warnings > 0) text += ", " + Counted(report.warnings, "warning");
  if (report.notes > 0) text += ", " + Counted(report.notes, "note");
  const CheckProgress& looked_at = report.looked_at;
  text += "; looked at " + Counted(looked_at.snapshots, "snapshot") + ", " +
          Counted(looked_at.manifests, "manifest") + ", " + Counted(looked_at.files, "data file");
  if (options.data || options.changelog) text += ", " + Counted(looked_at.rows, "row");
  if (looked_at.replayed > 0) text += ", replayed the changes of " + Counted(looked_at.replayed, "snapshot");
  const int64_t told = static_cast<int64_t>(report.findings.size());
  const int64_t all = report.damages + report.warnings + report.notes;
  if (told < all) text += " (" + Counted(all - told, "finding") + " beyond --max-findings not shown)";
  return text;
}

Result<int> RunCheck(Arguments arguments, Session& session) {
  ARROW_ASSIGN_OR_RAISE(Engine * engine, session.engine(arguments.table));
  CheckReport report;
  {
    Progress progress("files", session.quiet());
    arguments.check.progress = [&](const CheckProgress& at) {
      progress.Show(at.files, std::nullopt, at.rows > 0 ? ", " + Counted(at.rows, "row") : "");
    };
    ARROW_ASSIGN_OR_RAISE(report, CheckTable(engine, arguments.table, arguments.check));
  }
  const std::string summary = arguments.table + ": " + Summary(report, arguments.check);
  if (arguments.output.format.empty() && arguments.output.file.empty()) {
    for (const Finding& finding : report.findings) PrintFinding(finding);
    std::printf("%s\n", summary.c_str());
  } else {
    ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::RecordBatch> batch, BatchOf(report.findings));
    ARROW_RETURN_NOT_OK(PrintBatch(arguments.output, *batch));
    session.Note(summary);
  }
  return report.clean() ? kDone : kFailed;
}

}  // namespace

void AddCheck(CLI::App* app, Chosen* chosen) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* sub =
      app->add_subcommand("check", "Verify that a table's files agree with each other; changes nothing");
  sub->add_option("TABLE", arguments->table, "db.table or a table's folder")->required();
  sub->add_flag("--data", arguments->check.data, "Read every page of the data files too");
  sub->add_flag("--changelog", arguments->check.changelog,
                "Replay the changes and compare them with the table's rows, key by key");
  auto* snapshot = sub->add_option("--snapshot", arguments->check.snapshot,
                                   "Look into this snapshot (default: the latest)")
                       ->type_name("N")
                       ->check(WholeNumber(1));
  sub->add_flag("--all", arguments->check.all,
                "Look into every snapshot, tag, changelog and branch, and tell what nothing refers to")
      ->excludes(snapshot);
  sub->add_option("--max-findings", arguments->check.max_findings, "Show at most so many of each severity")
      ->type_name("N")
      ->check(WholeNumber(0))
      ->capture_default_str();
  AddOutputOptions(sub, &arguments->output);
  sub->footer(R"(
Examples:
  headrace check shop.customers
  headrace check shop.customers --data --all
  headrace check shop.customers --changelog
  headrace check shop.customers --data --format jsonl > findings.jsonl

Each finding: severity, kind, file, what was found, what was expected, what to
do. The kinds are listed in docs/check.md.
Exit status: 0 no damage, 1 damage found, 2 wrong usage.)");
  OnGiven(sub, chosen, [arguments](Session& session) { return RunCheck(*arguments, session); });
}

}  // namespace headrace::cli
