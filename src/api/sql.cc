// SQL statements carried out: queries go to DuckDB; those that make, change, show or drop tables are done here, with DuckDB for their queries.
#include "headrace/sql.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "api/create_table_text.h"
#include "api/engine_state.h"
#include "api/public_rows.h"
#include "api/row_changes.h"
#include "api/sheet.h"
#include "api/sql_relations.h"
#include "base/error.h"
#include "base/nearest.h"
#include "base/text.h"
#include "format/data_type.h"
#include "sql/names.h"
#include "sql/query_session.h"
#include "sql/statement.h"

namespace headrace {
namespace {

// "1 row", "7 rows".
std::string RowsText(int64_t rows) { return std::to_string(rows) + (rows == 1 ? " row" : " rows"); }

Result<SqlAnswer> SheetAnswer(const Sheet& sheet) {
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::RecordBatch> batch, sheet.Finish());
  SqlAnswer answer;
  answer.rows = ReaderOf(std::move(batch));
  return answer;
}

// The texts in the last column, one below the other.
Result<std::string> TextOf(arrow::RecordBatchReader* rows) {
  std::string text;
  std::shared_ptr<arrow::RecordBatch> batch;
  while (true) {
    HEADRACE_RETURN_NOT_OK(rows->ReadNext(&batch));
    if (batch == nullptr) return text;
    const auto& column = static_cast<const arrow::StringArray&>(*batch->column(batch->num_columns() - 1));
    for (int64_t row = 0; row < column.length(); ++row) text += std::string(column.GetView(row)) + "\n";
  }
}

SqlAnswer Done(std::string message) {
  SqlAnswer answer;
  answer.message = std::move(message);
  return answer;
}

class EngineSql final : public Sql {
 public:
  EngineSql(EngineInternals* engine, std::string database)
      : engine_(engine), relations_(engine), database_(std::move(database)) {}

  Status Start(const QuerySessionOptions& options) {
    HEADRACE_ASSIGN_OR_RETURN(session_, QuerySession::Open(options, &relations_));
    return database_.empty() ? Status::OK() : Use(database_);
  }

  Result<SqlAnswer> Execute(std::string_view text) override {
    HEADRACE_ASSIGN_OR_RETURN(const std::vector<std::string> statements, SplitScript(text));
    if (statements.size() != 1)
      return Invalid("running SQL: one statement at a time, and there are ", statements.size());
    HEADRACE_ASSIGN_OR_RETURN(const Statement statement, ParseStatement(statements[0]));
    Result<SqlAnswer> answer =
        std::visit([&](const auto& what) { return Do(what, statements[0]); }, statement);
    if (!answer.ok()) return WithTablesMeant(answer.status());
    return answer;
  }

  void Interrupt() override { session_->Interrupt(); }
  double progress() override { return session_->progress(); }

 private:
  // "db.table" of a name that may lack its database.
  Result<std::string> FullName(const std::string& name) const {
    if (name.find('.') != std::string::npos) return name;
    if (database_.empty())
      return Invalid("running SQL: table ", name, " lacks its database; write db.", name,
                     ", or USE db first");
    return database_ + "." + name;
  }
  // DuckDB says of a table's name that it is none of its own, and which of its own is near; here it is said where such a table is.
  Status WithTablesMeant(const Status& status) const {
    constexpr std::string_view kBefore = "Table with name ", kAfter = " does not exist!";
    const std::string& message = status.message();
    const size_t before = message.find(kBefore);
    const size_t after = message.find(kAfter, before == std::string::npos ? before : before + kBefore.size());
    if (after == std::string::npos) return status;
    const std::string name = message.substr(before + kBefore.size(), after - before - kBefore.size());
    const size_t end = after + kAfter.size();
    const size_t rest = message.compare(end, 14, "\nDid you mean ") == 0 ? message.find('\n', end + 1) : end;
    return MakeError(KindOf(status), message.substr(0, end) + "\n" + TablesMeantBy(name) +
                                         (rest == std::string::npos ? "" : message.substr(rest)));
  }

  std::string TablesMeantBy(const std::string& name) const {
    std::vector<std::string> holders, near;
    const auto databases = engine_->ListDatabases();
    for (const std::string& each : databases.ok() ? *databases : std::vector<std::string>()) {
      const auto tables = engine_->ListTables(each);
      if (!tables.ok()) continue;
      const std::string nearest = NearestName(*tables, name);
      if (std::find(tables->begin(), tables->end(), name) != tables->end()) {
        holders.push_back(each + "." + name);
      } else if (!nearest.empty()) {
        near.push_back(each == database_ ? nearest : each + "." + nearest);
      }
    }
    if (!holders.empty())
      return "There is " + Joined(holders) + ": write the database before the table's name, or USE it first";
    if (!near.empty()) return "Did you mean " + Joined(near) + "?";
    return "No database has a table of that name; SHOW TABLES lists those there are";
  }

  // Of a table that DuckDB may have instead: a name without a database where none is used.
  bool IsForDuckDB(const std::string& name) const {
    return name.find('.') == std::string::npos && database_.empty();
  }

  Status Use(const std::string& database) {
    HEADRACE_ASSIGN_OR_RETURN(const std::vector<std::string> databases, engine_->ListDatabases());
    if (std::find(databases.begin(), databases.end(), database) == databases.end()) {
      return NotFound("running SQL: there is no database ", database,
                      databases.empty() ? "" : "; there are " + Joined(databases));
    }
    HEADRACE_RETURN_NOT_OK(session_->Use(database));
    database_ = database;
    return Status::OK();
  }

  Result<SqlAnswer> Query(std::string_view text) {
    HEADRACE_ASSIGN_OR_RETURN(QuerySession::Answer answer, session_->Query(text));
    SqlAnswer told;
    if (answer.is_plan) {
      HEADRACE_ASSIGN_OR_RETURN(told.text, TextOf(answer.rows.get()));
    } else if (answer.is_rows) {
      told.rows = WithSchema(std::move(answer.rows), PublicSchemaOf(answer.fields));
    } else {
      // It runs as its rows are asked for, also where it has none.
      std::shared_ptr<arrow::RecordBatch> none;
      HEADRACE_RETURN_NOT_OK(answer.rows->ReadNext(&none));
      told.message = "done";
    }
    return told;
  }

  Result<SqlAnswer> Do(const QueryText&, const std::string& text) { return Query(text); }

  Result<SqlAnswer> Do(const UseText& use, const std::string&) {
    HEADRACE_RETURN_NOT_OK(Use(use.database));
    return Done("database " + use.database);
  }

  Result<SqlAnswer> Do(const SetText& set, const std::string&) {
    return Unsupported(
        "running SQL: SET '", set.key,
        "' is a setting of pipelines, which `headrace run` keeps; the key of one of DuckDB's has no "
        "quotes: SET ",
        set.key, " = …");
  }

  Result<SqlAnswer> Do(const CreateTableText& create, const std::string&) {
    HEADRACE_ASSIGN_OR_RETURN(const std::string name, FullName(create.name));
    std::string written;
    HEADRACE_ASSIGN_OR_RETURN(TableDefinition definition,
                              ParseTableDefinition(create.definition, create.query.empty(), &written));
    if (!create.query.empty()) HEADRACE_RETURN_NOT_OK(TakeColumns(create.query, &definition));
    auto created = engine_->CreateTable(name, definition);
    if (create.if_not_exists && IsKind(created.status(), ErrorKind::kAlreadyExists))
      return Done("table " + name + " exists already");
    HEADRACE_RETURN_NOT_OK(created.status());
    std::string message = "table " + name + " created";
    for (const std::string& note : created->notes) message += "\n" + note;
    if (create.query.empty()) return Done(std::move(message));
    auto inserted = Do(InsertText{name, {}, create.query}, create.query);
    if (!inserted.ok()) {
      (void)engine_->DropTable(name);
      return inserted.status();
    }
    return Done(message + "\n" + inserted->message);
  }

  // The columns that a query gives, as those of a new table.
  Status TakeColumns(const std::string& query, TableDefinition* definition) {
    HEADRACE_ASSIGN_OR_RETURN(const std::vector<DataField> fields, session_->Describe(query));
    for (const DataField& field : fields) {
      definition->columns +=
          (definition->columns.empty() ? "" : ", ") + Quoted(field.name, '`') + " " + ToSql(field.type);
    }
    return Status::OK();
  }

  Result<SqlAnswer> Do(const DropTableText& drop, const std::string& text) {
    if (IsForDuckDB(drop.name)) return Query(text);
    HEADRACE_ASSIGN_OR_RETURN(const std::string name, FullName(drop.name));
    const Status dropped = engine_->DropTable(name);
    if (drop.if_exists && IsKind(dropped, ErrorKind::kNotFound)) return Done("there is no table " + name);
    HEADRACE_RETURN_NOT_OK(dropped);
    return Done("table " + name + " dropped");
  }

  Result<SqlAnswer> Do(const AlterTableText& alter, const std::string& text) {
    if (IsForDuckDB(alter.name)) return Query(text);
    HEADRACE_RETURN_NOT_OK(alter.mistake);
    HEADRACE_ASSIGN_OR_RETURN(const std::string name, FullName(alter.name));
    const bool renames = !alter.new_name.empty();
    std::string message = "table " + name;
    Status done;
    if (renames) {
      const std::string to = alter.new_name.find('.') == std::string::npos
                                 ? name.substr(0, name.find('.') + 1) + alter.new_name
                                 : alter.new_name;
      done = engine_->RenameTable(name, to);
      message += " renamed to " + to;
    } else {
      const Result<AlteredTable> altered = engine_->AlterTable(name, alter.changes);
      done = altered.status();
      if (altered.ok()) {
        message += altered->changed ? " altered, schema " + std::to_string(altered->schema_id)
                                    : " is like that already; nothing was changed";
        for (const std::string& note : altered->notes) message += "\n" + note;
      }
    }
    if (alter.if_exists && IsKind(done, ErrorKind::kNotFound) && !engine_->OpenTable(name).ok())
      return Done("there is no table " + name);
    HEADRACE_RETURN_NOT_OK(done);
    return Done(std::move(message));
  }

  // "7 rows deleted from db.table, snapshot 4".
  static SqlAnswer Told(const ChangedRows& changed, const std::string& done) {
    return Done(
        RowsText(changed.rows) + " " + done +
        (changed.snapshot ? ", snapshot " + std::to_string(*changed.snapshot) : "; nothing was committed"));
  }

  Result<SqlAnswer> Do(InsertText insert, const std::string& text) {
    if (IsForDuckDB(insert.name)) return Query(text);
    if (insert.on_window_close)
      return Unsupported(
          "INSERT INTO ", insert.name,
          " … EMIT ON WINDOW CLOSE goes on as windows close; put it into a file for headrace run");
    HEADRACE_ASSIGN_OR_RETURN(insert.name, FullName(insert.name));
    HEADRACE_ASSIGN_OR_RETURN(const ChangedRows changed, InsertRows(engine_, session_.get(), insert));
    return Told(changed, "inserted into " + insert.name);
  }

  Result<SqlAnswer> Do(DeleteText deletion, const std::string& text) {
    if (IsForDuckDB(deletion.name)) return Query(text);
    HEADRACE_ASSIGN_OR_RETURN(deletion.name, FullName(deletion.name));
    HEADRACE_ASSIGN_OR_RETURN(const ChangedRows changed, DeleteRows(engine_, session_.get(), deletion));
    return Told(changed, "deleted from " + deletion.name);
  }

  Result<SqlAnswer> Do(UpdateText update, const std::string& text) {
    if (IsForDuckDB(update.name)) return Query(text);
    HEADRACE_ASSIGN_OR_RETURN(update.name, FullName(update.name));
    HEADRACE_ASSIGN_OR_RETURN(const ChangedRows changed, UpdateRows(engine_, session_.get(), update));
    return Told(changed, "updated in " + update.name);
  }

  Result<SqlAnswer> Do(const DescribeText& describe, const std::string& text) {
    if (IsForDuckDB(describe.name)) return Query(text);
    HEADRACE_ASSIGN_OR_RETURN(const std::string name, FullName(describe.name));
    HEADRACE_ASSIGN_OR_RETURN(const std::unique_ptr<TableHandle> table, engine_->OpenTable(name));
    const TableInfo& info = table->info();
    const auto is_in = [](const std::vector<std::string>& names, const std::string& column) {
      return std::find(names.begin(), names.end(), column) != names.end();
    };
    Sheet sheet({{"column"}, {"type"}, {"key"}, {"comment"}});
    for (const ColumnInfo& column : info.columns) {
      std::string key = is_in(info.primary_key, column.name) ? "primary key" : "";
      if (is_in(info.partition_by, column.name)) key += key.empty() ? "partition" : ", partition";
      sheet.Add({column.name, column.type, key.empty() ? SheetCell() : SheetCell(key),
                 column.comment.empty() ? SheetCell() : SheetCell(column.comment)});
    }
    return SheetAnswer(sheet);
  }

  Result<SqlAnswer> Do(const ShowText& show, const std::string&) {
    if (show.what == ShowText::What::kCreateTable) return ShowCreateTable(show.name);
    const bool databases = show.what == ShowText::What::kDatabases;
    const std::string database = show.name.empty() ? database_ : show.name;
    Sheet sheet({{databases ? "database" : "table"}});
    if (databases || !database.empty()) {
      HEADRACE_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                                databases ? engine_->ListDatabases() : engine_->ListTables(database));
      for (const std::string& name : names) sheet.Add({name});
      return SheetAnswer(sheet);
    }
    HEADRACE_ASSIGN_OR_RETURN(const std::vector<std::string> all, engine_->ListDatabases());
    for (const std::string& each : all) {
      HEADRACE_ASSIGN_OR_RETURN(const std::vector<std::string> names, engine_->ListTables(each));
      for (const std::string& name : names) sheet.Add({each + "." + name});
    }
    return SheetAnswer(sheet);
  }

  Result<SqlAnswer> ShowCreateTable(const std::string& written) {
    HEADRACE_ASSIGN_OR_RETURN(const std::string name, FullName(written));
    HEADRACE_ASSIGN_OR_RETURN(const std::unique_ptr<TableHandle> table, engine_->OpenTable(name));
    SqlAnswer answer;
    answer.text = CreateTableTextOf(table->info(), name) + "\n";
    return answer;
  }

  EngineInternals* engine_;
  EngineRelations relations_;
  std::string database_;
  std::unique_ptr<QuerySession> session_;
};

}  // namespace

Result<std::unique_ptr<Sql>> Sql::Open(Engine* engine, const SqlOptions& options) {
  QuerySessionOptions session;
  session.memory_bytes = options.memory_bytes;
  session.threads = options.threads;
  session.spill_directory = options.spill_directory;
  if (session.spill_directory.empty())
    session.spill_directory = std::filesystem::temp_directory_path().string();
  auto sql = std::make_unique<EngineSql>(static_cast<EngineInternals*>(engine), options.database);
  HEADRACE_RETURN_NOT_OK(sql->Start(session));
  return sql;
}

Result<std::vector<std::string>> SplitSql(std::string_view script) { return SplitScript(script); }

bool IsCompleteSql(std::string_view text) { return IsComplete(text); }

}  // namespace headrace
