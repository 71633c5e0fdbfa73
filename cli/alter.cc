// `headrace alter`: a table's columns, options and comments changed; one subcommand a kind of change.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/session.h"

namespace headrace::cli {
namespace {

struct AlterOptions {
  std::string table;
  std::vector<std::string> names;  // columns, or options
  std::string text;                // a type, a new name or a comment
  std::string comment;
  std::string column;
  bool first = false;
  bool last = false;
  std::string before;
  std::string after;
};
using Shared = std::shared_ptr<AlterOptions>;
using Changes = Result<std::vector<SchemaChange>>;

// "a.b" as a path; a name that holds a dot is written `…`.
Result<ColumnPath> PathOf(const std::string& text) {
  ColumnPath path(1);
  bool quoted = false;
  for (const char c : text) {
    if (c == '`') {
      quoted = !quoted;
    } else if (c == '.' && !quoted) {
      path.emplace_back();
    } else {
      path.back() += c;
    }
  }
  for (const std::string& name : path)
    if (name.empty() || quoted)
      return UsageError("'", text, "' is no column; fields of a ROW are written a.b");
  return path;
}

std::optional<ColumnPlace> PlaceOf(const AlterOptions& options) {
  using Where = ColumnPlace::Where;
  if (options.first) return ColumnPlace{Where::kFirst, ""};
  if (options.last) return ColumnPlace{Where::kLast, ""};
  if (!options.before.empty()) return ColumnPlace{Where::kBefore, options.before};
  if (!options.after.empty()) return ColumnPlace{Where::kAfter, options.after};
  return std::nullopt;
}

Result<int> Run(const AlterOptions& options, const Changes& changes, Session& session) {
  ARROW_RETURN_NOT_OK(changes.status());
  ARROW_ASSIGN_OR_RAISE(Engine * engine, session.engine(options.table));
  ARROW_ASSIGN_OR_RAISE(const AlteredTable altered, engine->AlterTable(options.table, *changes));
  if (altered.changed) {
    session.Note("table " + options.table + " altered, schema " + std::to_string(altered.schema_id));
  } else {
    session.Note("table " + options.table + " is like that already; nothing was changed");
  }
  for (const std::string& note : altered.notes) session.Note("  with " + note);
  return kDone;
}

Changes Adding(const AlterOptions& options) {
  ARROW_ASSIGN_OR_RAISE(ColumnPath path, PathOf(options.column));
  return std::vector<SchemaChange>{
      AddColumn{std::move(path), options.text, options.comment, PlaceOf(options)}};
}
Changes Dropping(const AlterOptions& options) {
  std::vector<SchemaChange> changes;
  for (const std::string& name : options.names) {
    ARROW_ASSIGN_OR_RAISE(ColumnPath path, PathOf(name));
    changes.emplace_back(DropColumn{std::move(path)});
  }
  return changes;
}
Changes Renaming(const AlterOptions& options) {
  ARROW_ASSIGN_OR_RAISE(ColumnPath path, PathOf(options.column));
  return std::vector<SchemaChange>{RenameColumn{std::move(path), options.text}};
}
Changes Retyping(const AlterOptions& options) {
  ARROW_ASSIGN_OR_RAISE(ColumnPath path, PathOf(options.column));
  return std::vector<SchemaChange>{RetypeColumn{std::move(path), options.text, /*keep_nullability=*/true}};
}
Changes AllowingNulls(const AlterOptions& options) {
  ARROW_ASSIGN_OR_RAISE(ColumnPath path, PathOf(options.column));
  return std::vector<SchemaChange>{AllowNulls{std::move(path)}};
}
Changes Moving(const AlterOptions& options) {
  const std::optional<ColumnPlace> place = PlaceOf(options);
  if (!place.has_value()) return UsageError("move needs --first, --last, --before or --after");
  ARROW_ASSIGN_OR_RAISE(const ColumnPath path, PathOf(options.column));
  if (path.size() > 1) return UsageError("fields inside a ROW cannot be moved: ", options.column);
  return std::vector<SchemaChange>{MoveColumn{path[0], *place}};
}
Changes Commenting(const AlterOptions& options) {
  if (options.column.empty()) return std::vector<SchemaChange>{CommentTable{options.text}};
  ARROW_ASSIGN_OR_RAISE(ColumnPath path, PathOf(options.column));
  return std::vector<SchemaChange>{CommentColumn{std::move(path), options.text}};
}
Changes Setting(const AlterOptions& options) {
  ARROW_ASSIGN_OR_RAISE(auto pairs, ParsePairs(options.names, "option"));
  std::vector<SchemaChange> changes;
  for (auto& [key, value] : pairs) changes.emplace_back(SetOption{std::move(key), std::move(value)});
  return changes;
}
Changes Unsetting(const AlterOptions& options) {
  std::vector<SchemaChange> changes;
  for (const std::string& key : options.names) changes.emplace_back(UnsetOption{key});
  return changes;
}

CLI::App* AddKind(CLI::App* alter, Chosen* chosen, const Shared& options, const char* name, const char* what,
                  Changes (*changes)(const AlterOptions&)) {
  CLI::App* sub = alter->add_subcommand(name, what);
  OnGiven(sub, chosen,
          [options, changes](Session& session) { return Run(*options, changes(*options), session); });
  return sub;
}

void AddColumnArgument(CLI::App* sub, const Shared& options) {
  sub->add_option("COLUMN", options->column, "Its name; a.b for the field b of the ROW a")->required();
}

void AddPlaces(CLI::App* sub, const Shared& options, bool last) {
  CLI::Option_group* places = sub->add_option_group("place");
  places->add_flag("--first", options->first, "Before all other columns");
  if (last) places->add_flag("--last", options->last, "Behind all other columns");
  places->add_option("--before", options->before, "Before that column")->type_name("COLUMN");
  places->add_option("--after", options->after, "Behind that column")->type_name("COLUMN");
  places->require_option(0, 1);
}

}  // namespace

void AddAlter(CLI::App* app, Chosen* chosen) {
  auto options = std::make_shared<AlterOptions>();
  CLI::App* alter = app->add_subcommand("alter", "Change a table's columns, options or comments");
  alter->add_option("TABLE", options->table, "db.table or a table's folder")->required();
  alter->require_subcommand(1);

  CLI::App* sub = AddKind(alter, chosen, options, "add", "A column, null in rows that are there", Adding);
  AddColumnArgument(sub, options);
  sub->add_option("TYPE", options->text, "As in CREATE TABLE, 'DECIMAL(10, 2)'")->required();
  sub->add_option("--comment", options->comment, "What the column holds")->type_name("TEXT");
  AddPlaces(sub, options, /*last=*/true);

  sub = AddKind(alter, chosen, options, "drop", "Remove columns", Dropping);
  sub->add_option("COLUMN", options->names, "Their names; a.b for the field b of the ROW a")->required();

  sub = AddKind(alter, chosen, options, "rename", "Give a column another name", Renaming);
  AddColumnArgument(sub, options);
  sub->add_option("NEW_NAME", options->text, "Options that name the column follow")->required();

  sub = AddKind(alter, chosen, options, "retype", "Give a column a wider type", Retyping);
  AddColumnArgument(sub, options);
  sub->add_option("TYPE", options->text, "One that holds every value of the old one")->required();

  sub = AddKind(alter, chosen, options, "nullable", "A column is NOT NULL no longer", AllowingNulls);
  AddColumnArgument(sub, options);

  sub = AddKind(alter, chosen, options, "move", "Put a column at another place", Moving);
  AddColumnArgument(sub, options);
  AddPlaces(sub, options, /*last=*/true);

  sub = AddKind(alter, chosen, options, "comment", "What the table or a column holds", Commenting);
  sub->add_option("TEXT", options->text, "The comment; '' for none")->required();
  sub->add_option("--column", options->column, "Of this column (default: of the table)")->type_name("COLUMN");

  sub = AddKind(alter, chosen, options, "set", "Set options", Setting);
  sub->add_option("OPTION", options->names, "As docs/options.md lists them")
      ->required()
      ->type_name("KEY=VALUE");

  sub = AddKind(alter, chosen, options, "unset", "Remove options", Unsetting);
  sub->add_option("OPTION", options->names, "Their names")->required()->type_name("KEY");

  alter->footer(R"help(
Rows and files stay as they are. Several changes at once: ALTER TABLE in
headrace sql. Writers that are open go on with the columns they know.

Examples:
  headrace alter shop.customers add phone STRING --after name
  headrace alter shop.customers retype visits BIGINT
  headrace alter shop.customers rename plan tariff
  headrace alter shop.customers set snapshot.time-retained='2 d'
  headrace alter shop.customers unset snapshot.time-retained)help");
}

}  // namespace headrace::cli
