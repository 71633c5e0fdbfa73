// Queries that give rows in a table's own types, and the writes that they feed.
#include "api/row_changes.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "api/open_table.h"
#include "base/text.h"
#include "catalog/table.h"
#include "file/physical_columns.h"
#include "sql/assigned_value.h"
#include "sql/names.h"

namespace headrace {
namespace {

bool IsIn(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Result<std::shared_ptr<arrow::Array>> Kinds(RowKind kind, int64_t rows) {
  arrow::Int8Builder builder;
  HEADRACE_RETURN_NOT_OK(builder.Reserve(rows));
  for (int64_t row = 0; row < rows; ++row) builder.UnsafeAppend(static_cast<int8_t>(kind));
  return builder.Finish();
}

// A table being written: batches in any Arrow types of the columns' values come out in the table's own.
class RowWriter {
 public:
  // `assigned` are the columns to which the statement gives values: how long those of others are was decided before.
  static Result<RowWriter> Open(EngineInternals* engine, const Table& table, std::set<std::string> assigned) {
    HEADRACE_ASSIGN_OR_RETURN(std::unique_ptr<TableWriter> writer, OpenTableWriter(engine->state(), table));
    return RowWriter(std::move(writer), table.schema->fields, std::move(assigned));
  }

  // `first` is the place of the table's first column in the batch.
  Status Write(const arrow::RecordBatch& batch, int first, RowKind kind) {
    const bool is_new = kind == RowKind::kInsert || kind == RowKind::kUpdateAfter;
    HEADRACE_ASSIGN_OR_RETURN(const auto rows, FitColumns(batch, first, fields_, [&](const DataField& field) {
                                return is_new && assigned_.count(field.name) != 0;
                              }));
    HEADRACE_ASSIGN_OR_RETURN(const auto kinds, Kinds(kind, batch.num_rows()));
    return writer_->Write(rows, kinds);
  }

  Result<std::optional<int64_t>> Commit() { return writer_->Commit(); }

 private:
  RowWriter(std::unique_ptr<TableWriter> writer, std::vector<DataField> fields,
            std::set<std::string> assigned)
      : writer_(std::move(writer)), fields_(std::move(fields)), assigned_(std::move(assigned)) {}

  std::unique_ptr<TableWriter> writer_;
  std::vector<DataField> fields_;
  std::set<std::string> assigned_;
};

template <typename Visit>
Status ForEachBatch(QuerySession* session, const std::string& query, Visit visit) {
  HEADRACE_ASSIGN_OR_RETURN(const QuerySession::Answer answer, session->Query(query));
  std::shared_ptr<arrow::RecordBatch> batch;
  while (true) {
    HEADRACE_RETURN_NOT_OK(answer.rows->ReadNext(&batch));
    if (batch == nullptr) return Status::OK();
    HEADRACE_RETURN_NOT_OK(visit(*batch));
  }
}

// The columns that an INSERT gives values for, by their place in the query.
Result<std::map<std::string, size_t>> PlacesOf(const Table& table, const std::vector<std::string>& named,
                                               size_t given) {
  const std::vector<std::string> columns = named.empty() ? table.schema->ColumnNames() : named;
  if (given != columns.size()) {
    return Invalid("inserting into table ", table.name, ": the query gives ", given, " columns where ",
                   columns.size(), " are written to: ", Joined(columns));
  }
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (table.schema->FieldIndex(columns[i]) < 0)
      return NotFound("inserting into table ", table.name, ": it has no column ", columns[i]);
    if (!places.emplace(columns[i], i).second)
      return Invalid("inserting into table ", table.name, ": column ", columns[i], " is named twice");
  }
  return places;
}

Status CheckHasKey(const Table& table, std::string_view doing) {
  if (table.schema->has_primary_key()) return Status::OK();
  return Unsupported(doing, " table ", table.name,
                     ": it has no primary key; rows of an append table stay as they were written");
}

Status WouldNot(const Table& table, std::string_view doing, std::string_view why) {
  return Unsupported(doing, " table ", table.name,
                     ": with merge-engine=", table.schema->options.at("merge-engine"), why,
                     "; write the rows that lead to what you want by INSERT");
}

// Whether a delete takes its row away.
Status CheckDeletes(const Table& table, std::string_view doing) {
  if (table.options.ignore_delete)
    return Unsupported(doing, " table ", table.name, ": its option ignore-delete passes over deletes");
  if (table.options.merge_engine == MergeEngine::kDeduplicate || table.options.merge_rules.remove_on_delete)
    return Status::OK();
  return WouldNot(table, doing, " a delete does not remove a row");
}

// Whether a row that is written takes the place of the one that is there.
Status CheckReplaces(const Table& table, std::string_view doing) {
  if (table.options.merge_engine == MergeEngine::kDeduplicate) return Status::OK();
  return WouldNot(table, doing, " a row that is written is merged with what is there");
}

std::string FromTable(const std::string& name, const std::string& alias, const std::string& condition) {
  const size_t dot = name.find('.');
  std::string from = " FROM " + QuotedName(name.substr(0, dot)) + "." + QuotedName(name.substr(dot + 1));
  if (!alias.empty()) from += " AS " + QuotedName(alias);
  // A line of its own, so that a comment at the end of the condition hides nothing.
  return condition.empty() ? from : from + " WHERE (" + condition + "\n)";
}

struct NewValues {
  std::map<std::string, std::string> of_column;  // expressions
  bool change_place = false;                     // of the primary key or the partition
};

Result<NewValues> ReadNewValues(const Table& table, const UpdateText& update) {
  NewValues values;
  const TableSchema& schema = *table.schema;
  for (const auto& [column, value] : update.values) {
    if (schema.FieldIndex(column) < 0)
      return NotFound("updating table ", table.name, ": it has no column ", column);
    if (!values.of_column.emplace(column, value).second)
      return Invalid("updating table ", table.name, ": column ", column, " is set twice");
    values.change_place |= IsIn(schema.primary_keys, column) || IsIn(schema.partition_keys, column);
  }
  return values;
}

// The old row, then the new one, side by side.
std::string UpdateQuery(const Table& table, const NewValues& values, const std::string& from) {
  std::string olds, news;
  for (const DataField& field : table.schema->fields) {
    const auto value = values.of_column.find(field.name);
    const std::string column = QuotedName(field.name);
    olds += column + " AS " + QuotedName("old " + field.name) + ", ";
    news +=
        (news.empty() ? "" : ", ") +
        (value == values.of_column.end() ? column : AssignedSql("(" + value->second + "\n)", field.type)) +
        " AS " + QuotedName("new " + field.name);
  }
  return "SELECT " + olds + news + from;
}

// The query's rows, the table's columns in their order, each written as one of that kind.
Result<ChangedRows> WriteRows(EngineInternals* engine, QuerySession* session, const Table& table,
                              const std::string& query, RowKind kind) {
  const std::vector<std::string> columns = table.schema->ColumnNames();
  HEADRACE_ASSIGN_OR_RETURN(RowWriter writer,
                            RowWriter::Open(engine, table, {columns.begin(), columns.end()}));
  ChangedRows changed;
  HEADRACE_RETURN_NOT_OK(ForEachBatch(session, query, [&](const arrow::RecordBatch& batch) {
    changed.rows += batch.num_rows();
    return writer.Write(batch, 0, kind);
  }));
  HEADRACE_ASSIGN_OR_RETURN(changed.snapshot, writer.Commit());
  return changed;
}

// All old keys go before any new row comes: one row's new key may be another's old one.
Result<int64_t> WriteMovedRows(QuerySession* session, const std::string& query, int columns,
                               RowWriter* writer) {
  constexpr char kMoved[] = "temp.headrace_moved_rows";
  const auto make = [&](const std::string& statement) {
    return ForEachBatch(session, statement, [](const arrow::RecordBatch&) { return Status::OK(); });
  };
  HEADRACE_RETURN_NOT_OK(make(std::string("CREATE OR REPLACE TEMP TABLE headrace_moved_rows AS ") + query));
  int64_t rows = 0;
  Status status = ForEachBatch(session, std::string("FROM ") + kMoved, [&](const arrow::RecordBatch& batch) {
    rows += batch.num_rows();
    return writer->Write(batch, 0, RowKind::kDelete);
  });
  if (status.ok()) {
    status = ForEachBatch(session, std::string("FROM ") + kMoved, [&](const arrow::RecordBatch& batch) {
      return writer->Write(batch, columns, RowKind::kInsert);
    });
  }
  (void)make(std::string("DROP TABLE ") + kMoved);
  HEADRACE_RETURN_NOT_OK(status);
  return rows;
}

}  // namespace

Result<ChangedRows> InsertRows(EngineInternals* engine, QuerySession* session, const InsertText& insert) {
  HEADRACE_ASSIGN_OR_RETURN(const Table table, engine->OpenForWriting(insert.name));
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<DataField> given, session->Describe(insert.query));
  HEADRACE_ASSIGN_OR_RETURN(const auto places, PlacesOf(table, insert.columns, given.size()));
  std::string values, names;
  for (size_t i = 0; i < given.size(); ++i) names += (i == 0 ? "c" : ", c") + std::to_string(i);
  for (const DataField& field : table.schema->fields) {
    const auto place = places.find(field.name);
    values += (values.empty() ? "" : ", ") +
              AssignedSql(place == places.end() ? "NULL" : "c" + std::to_string(place->second), field.type) +
              " AS " + QuotedName(field.name);
  }
  return WriteRows(engine, session, table,
                   "SELECT " + values + " FROM (" + insert.query + "\n) AS given(" + names + ")",
                   RowKind::kInsert);
}

Result<ChangedRows> DeleteRows(EngineInternals* engine, QuerySession* session, const DeleteText& deletion) {
  HEADRACE_ASSIGN_OR_RETURN(const Table table, engine->OpenForWriting(deletion.name));
  HEADRACE_RETURN_NOT_OK(CheckHasKey(table, "deleting from"));
  HEADRACE_RETURN_NOT_OK(CheckDeletes(table, "deleting from"));
  return WriteRows(engine, session, table,
                   "SELECT *" + FromTable(deletion.name, deletion.alias, deletion.condition),
                   RowKind::kDelete);
}

Result<ChangedRows> UpdateRows(EngineInternals* engine, QuerySession* session, const UpdateText& update) {
  HEADRACE_ASSIGN_OR_RETURN(const Table table, engine->OpenForWriting(update.name));
  HEADRACE_RETURN_NOT_OK(CheckHasKey(table, "updating"));
  HEADRACE_RETURN_NOT_OK(CheckReplaces(table, "updating"));
  HEADRACE_ASSIGN_OR_RETURN(const NewValues values, ReadNewValues(table, update));
  if (values.change_place) HEADRACE_RETURN_NOT_OK(CheckDeletes(table, "updating the key of"));
  const int columns = static_cast<int>(table.schema->fields.size());
  const std::string query =
      UpdateQuery(table, values, FromTable(update.name, update.alias, update.condition));
  std::set<std::string> assigned;
  for (const auto& [column, value] : values.of_column) assigned.insert(column);
  HEADRACE_ASSIGN_OR_RETURN(RowWriter writer, RowWriter::Open(engine, table, std::move(assigned)));
  ChangedRows changed;
  if (values.change_place) {
    HEADRACE_ASSIGN_OR_RETURN(changed.rows, WriteMovedRows(session, query, columns, &writer));
  } else {
    const bool images = table.options.changelog_producer == ChangelogProducer::kInput;
    HEADRACE_RETURN_NOT_OK(ForEachBatch(session, query, [&](const arrow::RecordBatch& batch) {
      changed.rows += batch.num_rows();
      if (images) HEADRACE_RETURN_NOT_OK(writer.Write(batch, 0, RowKind::kUpdateBefore));
      return writer.Write(batch, columns, RowKind::kUpdateAfter);
    }));
  }
  HEADRACE_ASSIGN_OR_RETURN(changed.snapshot, writer.Commit());
  return changed;
}

}  // namespace headrace
