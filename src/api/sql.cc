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
#include "api/row_changes.h"
#include "api/sheet.h"
#include "api/sql_relations.h"
#include "base/error.h"
#include "base/text.h"
#include "format/data_type.h"
#include "sql/query_session.h"
#include "sql/statement.h"

namespace headrace {
namespace {

// "1 row", "7 rows".
std::string RowsText(int64_t rows) { return std::to_string(rows) + (rows == 1 ? " row" : " rows"); }

// A batch as an answer.
class OneBatch final : public arrow::RecordBatchReader {
 public:
  explicit OneBatch(std::shared_ptr<arrow::RecordBatch> batch)
      : batch_(std::move(batch)), schema_(batch_->schema()) {}
  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }
  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    *batch = std::exchange(batch_, nullptr);
    return Status::OK();
  }

 private:
  std::shared_ptr<arrow::RecordBatch> batch_;
  std::shared_ptr<arrow::Schema> schema_;
};

// Rows whose fields carry their Paimon types, as every reader of the public API has them.
class TypedRows final : public arrow::RecordBatchReader {
 public:
  TypedRows(std::unique_ptr<arrow::RecordBatchReader> rows, const std::vector<DataField>& fields)
      : rows_(std::move(rows)), schema_(PublicSchemaOf(fields)) {}
  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }
  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    HEADRACE_RETURN_NOT_OK(rows_->ReadNext(batch));
    if (*batch != nullptr)
      *batch = arrow::RecordBatch::Make(schema_, (*batch)->num_rows(), (*batch)->columns());
    return Status::OK();
  }

 private:
  std::unique_ptr<arrow::RecordBatchReader> rows_;
  std::shared_ptr<arrow::Schema> schema_;
};

Result<SqlAnswer> SheetAnswer(const Sheet& sheet) {
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::RecordBatch> batch, sheet.Finish());
  SqlAnswer answer;
  answer.rows = std::make_unique<OneBatch>(std::move(batch));
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
    return std::visit([&](const auto& what) { return Do(what, statements[0]); }, statement);
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
      told.rows = std::make_unique<TypedRows>(std::move(answer.rows), answer.fields);
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
    auto inserted = Insert(InsertText{name, {}, create.query});
    if (!inserted.ok()) {
      (void)engine_->DropTable(name);
      return inserted.status();
    }
    return Done(message + "\n" + *inserted);
  }

  // The columns that a query gives, as those of a new table.
  Status TakeColumns(const std::string& query, TableDefinition* definition) {
    HEADRACE_ASSIGN_OR_RETURN(const std::vector<DataField> fields, session_->Describe(query));
    for (const DataField& field : fields) {
      std::string name;
      for (const char c : field.name) name += c == '`' ? std::string("``") : std::string(1, c);
      definition->columns += (definition->columns.empty() ? "`" : ", `") + name + "` " + ToSql(field.type);
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

  Result<std::string> Insert(const InsertText& insert) {
    HEADRACE_ASSIGN_OR_RETURN(const std::unique_ptr<TableHandle> table, engine_->OpenTable(insert.name));
    HEADRACE_ASSIGN_OR_RETURN(const ChangedRows changed,
                              InsertRows(session_.get(), table.get(), insert.columns, insert.query));
    return RowsText(changed.rows) + " inserted into " + insert.name + SnapshotText(changed);
  }

  static std::string SnapshotText(const ChangedRows& changed) {
    return changed.snapshot ? ", snapshot " + std::to_string(*changed.snapshot) : "; nothing was committed";
  }

  Result<SqlAnswer> Do(const InsertText& insert, const std::string& text) {
    if (IsForDuckDB(insert.name)) return Query(text);
    HEADRACE_ASSIGN_OR_RETURN(std::string name, FullName(insert.name));
    HEADRACE_ASSIGN_OR_RETURN(std::string message,
                              Insert(InsertText{std::move(name), insert.columns, insert.query}));
    return Done(std::move(message));
  }

  Result<SqlAnswer> Do(const DeleteText& text, const std::string& whole) {
    if (IsForDuckDB(text.name)) return Query(whole);
    HEADRACE_ASSIGN_OR_RETURN(const std::string name, FullName(text.name));
    HEADRACE_ASSIGN_OR_RETURN(const std::unique_ptr<TableHandle> table, engine_->OpenTable(name));
    HEADRACE_ASSIGN_OR_RETURN(const ChangedRows changed, DeleteRows(session_.get(), table.get(), name, text));
    return Done(RowsText(changed.rows) + " deleted from " + name + SnapshotText(changed));
  }

  Result<SqlAnswer> Do(const UpdateText& text, const std::string& whole) {
    if (IsForDuckDB(text.name)) return Query(whole);
    HEADRACE_ASSIGN_OR_RETURN(const std::string name, FullName(text.name));
    HEADRACE_ASSIGN_OR_RETURN(const std::unique_ptr<TableHandle> table, engine_->OpenTable(name));
    HEADRACE_ASSIGN_OR_RETURN(const ChangedRows changed, UpdateRows(session_.get(), table.get(), name, text));
    return Done(RowsText(changed.rows) + " updated in " + name + SnapshotText(changed));
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
