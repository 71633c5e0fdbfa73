// `headrace create`: a table from a column list or from Flink's DDL.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "cli/session.h"

namespace headrace::cli {
namespace {

struct CreateOptions {
  std::string table;
  std::string schema;
  std::string ddl;
  std::vector<std::string> primary_key;
  std::vector<std::string> partition_by;
  std::vector<std::string> options;
  std::string comment;
  bool if_not_exists = false;
};

// The statement itself, or with @FILE the text of a file.
Result<std::string> StatementText(const std::string& ddl) {
  if (!ddl.starts_with('@')) return ddl;
  std::ifstream file(ddl.substr(1), std::ios::binary);
  if (!file || std::filesystem::is_directory(ddl.substr(1)))
    return Status::IOError("statement file ", ddl.substr(1), " cannot be read");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Result<TableDefinition> DefinitionOf(CreateOptions* options) {
  TableDefinition definition;
  if (!options->ddl.empty()) {
    ARROW_ASSIGN_OR_RAISE(const std::string statement, StatementText(options->ddl));
    std::string name;
    ARROW_ASSIGN_OR_RAISE(definition, ParseCreateTable(statement, &name));
    if (options->table.empty()) options->table = name;
    if (options->table.find('.') == std::string::npos && options->table.find('/') == std::string::npos) {
      return UsageError("the statement names table ", name, " without a database; give TABLE as db.", name);
    }
  } else {
    if (options->schema.empty()) return UsageError("a table needs columns: give --schema or --ddl");
    definition.columns = options->schema;
  }
  if (!options->primary_key.empty()) definition.primary_key = options->primary_key;
  if (!options->partition_by.empty()) definition.partition_by = options->partition_by;
  if (!options->comment.empty()) definition.comment = options->comment;
  ARROW_RETURN_NOT_OK(AddTableOptions(options->options, &definition.options));
  return definition;
}

Result<int> Run(CreateOptions options, Session& session) {
  ARROW_ASSIGN_OR_RAISE(const TableDefinition definition, DefinitionOf(&options));
  if (options.table.empty()) return UsageError("the table has no name: give TABLE as db.table");
  ARROW_ASSIGN_OR_RAISE(Engine * engine, session.engine(options.table));
  const Result<CreatedTable> created = engine->CreateTable(options.table, definition);
  if (!created.ok() && options.if_not_exists && KindOf(created.status()) == ErrorKind::kAlreadyExists) {
    session.Note("table " + options.table + " exists already; nothing was changed");
    return kDone;
  }
  ARROW_RETURN_NOT_OK(created.status());
  session.Note("created table " + options.table + " in " + created->path);
  for (const std::string& note : created->notes) session.Note("  with " + note);
  return kDone;
}

}  // namespace

void AddCreate(CLI::App* app, Chosen* chosen) {
  auto options = std::make_shared<CreateOptions>();
  CLI::App* sub = app->add_subcommand("create", "Make a table");
  sub->add_option("TABLE", options->table, "db.table; with --ddl the statement's own name when left out");
  sub->add_option("--schema", options->schema, "Columns, as in 'customer_id BIGINT, name STRING NOT NULL'")
      ->type_name("COLUMNS");
  sub->add_option("--ddl", options->ddl, "Flink's CREATE TABLE statement, or @FILE that holds it")
      ->type_name("STATEMENT");
  sub->add_option("--primary-key", options->primary_key, "Key columns a,b")
      ->delimiter(',')
      ->type_name("COLUMNS");
  sub->add_option("--partition-by", options->partition_by, "Partition columns a,b")
      ->delimiter(',')
      ->type_name("COLUMNS");
  sub->add_option("--option", options->options, "A table option; may be repeated")->type_name("KEY=VALUE");
  sub->add_option("--comment", options->comment, "What the table holds")->type_name("TEXT");
  sub->add_flag("--if-not-exists", options->if_not_exists, "An existing table is left as it is");
  sub->get_option("--schema")->excludes("--ddl");
  sub->footer(R"help(
Examples:
  headrace create shop.customers --schema 'customer_id BIGINT, name STRING' --primary-key customer_id
  headrace create shop.events --schema 'day DATE, text STRING' --partition-by day --option bucket=-1
  headrace create --ddl "CREATE TABLE shop.orders (id BIGINT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '2')")help");
  OnGiven(sub, chosen, [options](Session& session) { return Run(*options, session); });
}

}  // namespace headrace::cli
