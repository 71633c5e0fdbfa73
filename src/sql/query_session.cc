// One statement: the tables it names become views over relations, it is prepared, run as a stream, and its rows handed out.
#include "sql/query_session.h"

#include <algorithm>
#include <map>
#include <utility>

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "base/uuid.h"
#include "sql/answer_rows.h"
#include "sql/conditions.h"
#include "sql/duckdb_handle.h"
#include "sql/names.h"
#include "sql/scan_function.h"
#include "sql/tokens.h"

namespace headrace {
namespace {

// a."b c".d to its parts. An alias that follows is no part.
std::vector<std::string> PartsOf(const std::string& name) {
  std::vector<std::string> parts(1);
  bool quoted = false;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '"' && quoted && i + 1 < name.size() && name[i + 1] == '"') {
      parts.back() += '"';
      ++i;
    } else if (name[i] == '"') {
      quoted = !quoted;
    } else if (name[i] == ' ' && !quoted) {
      break;
    } else if (name[i] == '.' && !quoted) {
      parts.emplace_back();
    } else {
      parts.back() += name[i];
    }
  }
  return parts;
}

// What DuckDB would take as something to keep, and loses when the session ends, or what is not ours to give.
Status CheckKind(duckdb_statement_type kind, std::string_view statement) {
  std::string head(statement.substr(0, std::min<size_t>(statement.size(), 200)));
  std::transform(head.begin(), head.end(), head.begin(), [](unsigned char c) { return std::toupper(c); });
  switch (kind) {
    case DUCKDB_STATEMENT_TYPE_CREATE:
    case DUCKDB_STATEMENT_TYPE_CREATE_FUNC:
      if (head.find("TEMP") != std::string::npos) return Status::OK();
      return Unsupported(
          "only tables are kept here: CREATE TEMP VIEW, TEMP TABLE and TEMP MACRO make things that last as "
          "long as the session");
    case DUCKDB_STATEMENT_TYPE_ATTACH:
    case DUCKDB_STATEMENT_TYPE_LOAD:
    case DUCKDB_STATEMENT_TYPE_EXTENSION:
      return Unsupported(
          "other databases and extensions are not attached here; read files by their names in FROM");
    case DUCKDB_STATEMENT_TYPE_PREPARE:
    case DUCKDB_STATEMENT_TYPE_EXECUTE:
      return Unsupported("a prepared statement would go on reading the snapshots that it was prepared with");
    case DUCKDB_STATEMENT_TYPE_TRANSACTION:
      return Unsupported("each statement is one commit: there is no BEGIN, COMMIT or ROLLBACK");
    default: return Status::OK();
  }
}

// CREATE … TABLE: rows, which hide no table's name as a view does.
bool MakesTable(std::string_view statement) {
  const auto tokens = Tokenize(statement, "reading SQL");
  if (!tokens.ok()) return false;
  const auto as =
      std::find_if(tokens->begin(), tokens->end(), [](const Token& token) { return token.IsWord("AS"); });
  return std::any_of(tokens->begin(), as, [](const Token& token) { return token.IsWord("TABLE"); });
}

bool IsDuckDBs(const std::string& schema) {
  return schema == "main" || schema == "temp" || schema == "information_schema" || schema == "pg_catalog";
}

class DuckSession final : public QuerySession {
 public:
  DuckSession(DuckDatabase database, DuckConnection connection, std::unique_ptr<RelationBoard> board)
      : board_(std::move(board)), database_(std::move(database)), connection_(std::move(connection)) {}

  Status Use(const std::string& database) override {
    HEADRACE_RETURN_NOT_OK(RunDuck(connection_.get(), "CREATE SCHEMA IF NOT EXISTS " + QuotedName(database)));
    HEADRACE_RETURN_NOT_OK(RunDuck(connection_.get(), "USE " + QuotedName(database)));
    used_ = database;
    return Status::OK();
  }

  Result<Answer> Query(std::string_view statement) override { return OrInterrupted(Begin(statement)); }

  Result<std::vector<DataField>> Describe(std::string_view statement) override {
    return OrInterrupted(FieldsOf(statement));
  }

  Result<std::vector<QueryBranch>> Shape(const std::string& query, const ColumnsOf& columns_of) override {
    return ShapeOfQuery(connection_.get(), query, used_, columns_of);
  }

  void Interrupt() override {
    board_->Interrupt(true);
    duckdb_interrupt(connection_.get());
  }

  double progress() override { return duckdb_query_progress(connection_.get()).percentage; }

 private:
  // DuckDB stops for an interrupt wherever it is, in the views and the binding before a query too, and calls it an error like others.
  template <typename T>
  Result<T> OrInterrupted(Result<T> result) const {
    if (!result.ok() && board_->interrupted()) return Cancelled("the query was interrupted");
    return result;
  }

  Result<Answer> Begin(std::string_view statement) {
    HEADRACE_ASSIGN_OR_RETURN(DuckPrepared prepared, Prepare(std::string(statement)));
    const duckdb_statement_type kind = duckdb_prepared_statement_type(prepared.get());
    HEADRACE_RETURN_NOT_OK(CheckKind(kind, statement));
    HEADRACE_ASSIGN_OR_RETURN(AnswerShape shape, ShapeOf(connection_.get(), prepared.get()));
    if (std::find(shape.as_text.begin(), shape.as_text.end(), true) != shape.as_text.end()) {
      prepared.reset();
      HEADRACE_ASSIGN_OR_RETURN(prepared, PrepareText(WithTexts(shape, std::string(statement))));
    }
    duckdb_pending_result raw_pending = nullptr;
    const duckdb_state pends = duckdb_pending_prepared_streaming(prepared.get(), &raw_pending);
    const DuckPending pending(raw_pending);
    if (pends != DuckDBSuccess) return Failure(duckdb_pending_error(pending.get()));
    auto result = std::make_unique<DuckResult>();
    if (duckdb_execute_pending(pending.get(), result->get()) != DuckDBSuccess)
      return Failure(duckdb_result_error(result->get()));
    Answer answer;
    answer.is_rows = duckdb_result_return_type(*result->get()) == DUCKDB_RESULT_TYPE_QUERY_RESULT;
    has_own_ |= (kind == DUCKDB_STATEMENT_TYPE_CREATE && !MakesTable(statement)) ||
                kind == DUCKDB_STATEMENT_TYPE_CREATE_FUNC;
    answer.is_plan = kind == DUCKDB_STATEMENT_TYPE_EXPLAIN;
    answer.fields = shape.fields;
    answer.rows = OpenAnswerRows(std::move(result), std::move(shape.fields), [this](const char* message) {
      return message == nullptr && !board_->interrupted() ? board_->TakeFailure() : Failure(message);
    });
    return answer;
  }

  Result<std::vector<DataField>> FieldsOf(std::string_view statement) {
    HEADRACE_ASSIGN_OR_RETURN(const DuckPrepared prepared, Prepare(std::string(statement)));
    HEADRACE_ASSIGN_OR_RETURN(AnswerShape shape, ShapeOf(connection_.get(), prepared.get()));
    return std::move(shape.fields);
  }

  Status Failure(const char* message) {
    const Status failure = board_->TakeFailure();
    if (board_->interrupted()) return Cancelled("the query was interrupted");
    if (!failure.ok()) return failure;
    return Invalid(message == nullptr ? "DuckDB failed and did not say why" : message);
  }

  Result<DuckPrepared> Prepare(const std::string& statement) {
    board_->Interrupt(false);
    (void)board_->TakeFailure();
    board_->Forget();
    if (!has_own_) HEADRACE_RETURN_NOT_OK(HideTables());
    HEADRACE_RETURN_NOT_OK(ShowTables(statement));
    return PrepareText(statement);
  }

  Result<DuckPrepared> PrepareText(const std::string& statement) {
    duckdb_prepared_statement raw = nullptr;
    const duckdb_state state = duckdb_prepare(connection_.get(), statement.c_str(), &raw);
    DuckPrepared prepared(raw);
    if (state != DuckDBSuccess) return Failure(duckdb_prepare_error(prepared.get()));
    return prepared;
  }

  // Puts a view over a relation wherever the statement names a table that there is. DuckDB names those of a query; in a statement around one,
  // such as CREATE TEMP VIEW, any name may be a table's.
  Status ShowTables(const std::string& statement) {
    HEADRACE_ASSIGN_OR_RETURN(const std::vector<Token> tokens, Tokenize(statement, "reading SQL"));
    const bool is_query = tokens[0].IsWord("SELECT") || tokens[0].IsWord("WITH") || tokens[0].IsWord("FROM");
    // Views of the user's keep ours, by whose names DuckDB would tell those that the statement spells otherwise.
    if (!is_query || has_own_) HEADRACE_RETURN_NOT_OK(ShowNamed(tokens));
    if (is_query && !has_own_) HEADRACE_RETURN_NOT_OK(PassConditions(statement));
    // Null where the statement does not parse, which preparing it will say, and where it cannot be bound before its tables are known: with
    // JOIN … USING, COLUMNS or COLLATE.
    const DuckValue names(duckdb_get_table_names(connection_.get(), statement.c_str(), true));
    if (names == nullptr) return is_query ? ShowNamed(tokens) : Status::OK();
    for (idx_t i = 0; i < duckdb_get_list_size(names.get()); ++i) {
      const DuckValue child(duckdb_get_list_child(names.get(), i));
      char* text = duckdb_get_varchar(child.get());
      const std::vector<std::string> parts = PartsOf(text == nullptr ? "" : text);
      duckdb_free(text);
      HEADRACE_RETURN_NOT_OK(ShowTable(parts));
    }
    return Status::OK();
  }

  Status PassConditions(const std::string& statement) {
    HEADRACE_ASSIGN_OR_RETURN(std::vector<TableConditions> found,
                              FindConditions(connection_.get(), statement));
    for (TableConditions& table : found) {
      RelationName name;
      name.database = table.database.empty() ? used_ : table.database;
      name.table = table.table;
      board_->Expect(name, std::move(table.conditions));
    }
    return Status::OK();
  }

  Status ShowNamed(const std::vector<Token>& tokens) {
    const auto is_name = [&](size_t i) {
      return tokens[i].kind == TokenKind::kWord || tokens[i].kind == TokenKind::kQuotedName;
    };
    for (size_t i = 0; i + 1 < tokens.size(); ++i) {
      if (!is_name(i) || (i > 0 && tokens[i - 1].IsPunctuation("."))) continue;
      std::vector<std::string> parts = {tokens[i].text};
      if (tokens[i + 1].IsPunctuation(".") && is_name(i + 2)) parts.push_back(tokens[i + 2].text);
      const Status shown = ShowTable(parts);
      // It was no table's name.
      if (!IsKind(shown, ErrorKind::kNotFound) && !IsKind(shown, ErrorKind::kInvalid))
        HEADRACE_RETURN_NOT_OK(shown);
    }
    return Status::OK();
  }

  Status ShowTable(const std::vector<std::string>& parts) {
    if (parts.size() > 2 || (parts.size() == 1 && used_.empty())) return Status::OK();
    RelationName name;
    name.database = parts.size() == 2 ? parts[0] : used_;
    name.table = parts.back();
    const std::string full = name.database + "." + name.table;
    std::optional<std::string> select = board_->ViewOf(name);
    if (!select) {
      const Status opened = board_->Open(name).status();
      if (IsKind(opened, ErrorKind::kNotFound))
        return parts.size() == 2 && !IsDuckDBs(name.database) ? opened : Status::OK();
      HEADRACE_RETURN_NOT_OK(opened);
      select = "SELECT * FROM paimon(" + QuotedText(full) + ")";
    }
    HEADRACE_RETURN_NOT_OK(CheckOrInterrupted(full));
    HEADRACE_RETURN_NOT_OK(
        RunDuck(connection_.get(), "CREATE SCHEMA IF NOT EXISTS " + QuotedName(name.database)));
    const std::string view = QuotedName(name.database) + "." + QuotedName(name.table);
    // Made anew where views of the user's kept it: the table may have got other columns.
    HEADRACE_RETURN_NOT_OK(RunDuck(connection_.get(), "CREATE OR REPLACE VIEW " + view + " AS " + *select));
    shown_.insert_or_assign(full, view);
    return Status::OK();
  }

  // Names that differ in case alone are one to DuckDB: one table would be read for both.
  Status CheckOrInterrupted(const std::string& full) const {
    for (const auto& [shown, view] : shown_) {
      if (shown != full && IsSameName(shown, full))
        return Unsupported("tables ", shown, " and ", full, " differ only in case; write paimon('", full,
                           "') for one of them");
    }
    return Status::OK();
  }

  // What the last statement showed. DuckDB would tell the names of these views, and not those that the next statement spells.
  Status HideTables() {
    for (const auto& [full, view] : shown_)
      HEADRACE_RETURN_NOT_OK(RunDuck(connection_.get(), "DROP VIEW IF EXISTS " + view));
    shown_.clear();
    return Status::OK();
  }

  static std::string WithTexts(const AnswerShape& shape, const std::string& statement) {
    std::string names, columns;
    for (size_t i = 0; i < shape.fields.size(); ++i) {
      const std::string column = "c" + std::to_string(i);
      names += (i == 0 ? "" : ", ") + column;
      columns += (i == 0 ? "" : ", ") + (shape.as_text[i] ? "CAST(" + column + " AS VARCHAR)" : column) +
                 " AS " + QuotedName(shape.fields[i].name);
    }
    const size_t end = statement.find_last_not_of("; \t\r\n");
    return "SELECT " + columns + " FROM (" + statement.substr(0, end + 1) + "\n) AS answer(" + names + ")";
  }

  // In the order in which they must not go: the connection first.
  std::unique_ptr<RelationBoard> board_;
  DuckDatabase database_;
  DuckConnection connection_;
  std::string used_;
  std::map<std::string, std::string> shown_;  // views over tables: "db.table" and the view as SQL writes it
  // Views and macros were made: a table may be named where the text does not show it, and more than once.
  bool has_own_ = false;
};

}  // namespace

Result<std::unique_ptr<QuerySession>> QuerySession::Open(const QuerySessionOptions& options,
                                                         Relations* relations) {
  duckdb_database raw = nullptr;
  if (duckdb_open(nullptr, &raw) != DuckDBSuccess) return Invalid("starting DuckDB failed");
  DuckDatabase database(raw);
  HEADRACE_ASSIGN_OR_RETURN(DuckConnection connection, ConnectDuck(database.get()));
  // A folder of its own, which DuckDB makes when it first spills and takes away at the end: sessions in one folder would write each other's files.
  const std::string spill =
      options.spill_directory.empty() ? "" : options.spill_directory + "/headrace-sql-" + NewUuid();
  for (const std::string& setting :
       {"memory_limit = '" + std::to_string(options.memory_bytes) + "B'",
        "threads = " + std::to_string(std::max(1, options.threads)), "temp_directory = " + QuotedText(spill),
        std::string("TimeZone = 'UTC'"), std::string("autoinstall_known_extensions = false"),
        std::string("autoload_known_extensions = false")}) {
    const Status status = RunDuck(connection.get(), "SET " + setting);
    if (!status.ok()) return WithContext("starting DuckDB", status);
  }
  auto board = std::make_unique<RelationBoard>(relations, database.get(), options.threads);
  HEADRACE_RETURN_NOT_OK(RegisterScanFunctions(connection.get(), board.get()));
  return std::make_unique<DuckSession>(std::move(database), std::move(connection), std::move(board));
}

}  // namespace headrace
