// Queries that give rows in a table's own types, and the writes that they feed.
#include "api/row_changes.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/compute/cast.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "base/text.h"
#include "file/physical_columns.h"
#include "sql/duck_type.h"
#include "sql/duckdb_handle.h"

namespace headrace {
namespace {

Result<std::vector<DataField>> FieldsOf(const TableInfo& info) {
  std::vector<DataField> fields;
  for (const ColumnInfo& column : info.columns) {
    DataField field;
    field.id = column.id;
    field.name = column.name;
    HEADRACE_ASSIGN_OR_RETURN(field.type, ParseDataType(column.type));
    fields.push_back(std::move(field));
  }
  return fields;
}

std::string CastTo(const DataField& field, const std::string& expression) {
  return "CAST(" + expression + " AS " + DuckTypeOf(field.type) + ") AS " + QuotedName(field.name);
}

std::string OptionOr(const TableInfo& info, const std::string& key, const std::string& otherwise) {
  const auto found = info.options.find(key);
  return found == info.options.end() ? otherwise : found->second;
}

bool IsOn(const TableInfo& info, const std::string& key) { return OptionOr(info, key, "false") == "true"; }

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
  static Result<RowWriter> Open(TableHandle* table, const std::vector<DataField>& fields) {
    HEADRACE_ASSIGN_OR_RETURN(std::unique_ptr<TableWriter> writer, table->OpenWriter());
    return RowWriter(std::move(writer), ToArrowSchema(fields), fields);
  }

  // `first` is the place of the table's first column in the batch.
  Status Write(const arrow::RecordBatch& batch, int first, RowKind kind) {
    arrow::ArrayVector columns;
    for (int i = 0; i < schema_->num_fields(); ++i) {
      std::shared_ptr<arrow::Array> column = batch.column(first + i);
      if (!column->type()->Equals(*schema_->field(i)->type())) {
        auto cast = arrow::compute::Cast(*column, schema_->field(i)->type());
        if (!cast.ok()) {
          return Invalid("a value does not fit column ", fields_[static_cast<size_t>(i)].name, " ",
                         ToSql(fields_[static_cast<size_t>(i)].type), ": ", cast.status().message());
        }
        column = std::move(cast).ValueUnsafe();
      }
      columns.push_back(std::move(column));
    }
    HEADRACE_ASSIGN_OR_RETURN(const auto kinds, Kinds(kind, batch.num_rows()));
    return writer_->Write(arrow::RecordBatch::Make(schema_, batch.num_rows(), std::move(columns)), kinds);
  }

  Result<std::optional<int64_t>> Commit() { return writer_->Commit(); }

 private:
  RowWriter(std::unique_ptr<TableWriter> writer, std::shared_ptr<arrow::Schema> schema,
            std::vector<DataField> fields)
      : writer_(std::move(writer)), schema_(std::move(schema)), fields_(std::move(fields)) {}

  std::unique_ptr<TableWriter> writer_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<DataField> fields_;
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
Result<std::map<std::string, size_t>> PlacesOf(const TableInfo& info, const std::vector<std::string>& named,
                                               size_t given) {
  std::vector<std::string> columns = named;
  if (columns.empty()) {
    for (const ColumnInfo& column : info.columns) columns.push_back(column.name);
  }
  if (given != columns.size()) {
    return Invalid("inserting into table ", info.name, ": the query gives ", given, " columns where ",
                   columns.size(), " are written to: ", Joined(columns));
  }
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < columns.size(); ++i) {
    const bool known = std::any_of(info.columns.begin(), info.columns.end(),
                                   [&](const ColumnInfo& column) { return column.name == columns[i]; });
    if (!known) return NotFound("inserting into table ", info.name, ": it has no column ", columns[i]);
    if (!places.emplace(columns[i], i).second)
      return Invalid("inserting into table ", info.name, ": column ", columns[i], " is named twice");
  }
  return places;
}

// Whether a key's newest row stands for it, so that rows can be deleted and written anew.
Status CheckReplaceable(const TableInfo& info, std::string_view doing, bool deleting) {
  if (info.primary_key.empty())
    return Unsupported(doing, " table ", info.name,
                       ": it has no primary key; rows of an append table stay as they were written");
  const std::string engine = OptionOr(info, "merge-engine", "deduplicate");
  if (IsOn(info, "ignore-delete") && deleting)
    return Unsupported(doing, " table ", info.name, ": its option ignore-delete passes over deletes");
  if (engine == "deduplicate") return Status::OK();
  const bool removes = IsOn(info, engine + ".remove-record-on-delete");
  if (deleting && removes) return Status::OK();
  return Unsupported(
      doing, " table ", info.name, ": with merge-engine=", engine,
      deleting ? " a delete does not remove a row" : " a row that is written is merged with what is there",
      "; write the rows that lead to what you want by INSERT");
}

std::string FromTable(const std::string& name, const std::string& alias, const std::string& condition) {
  const size_t dot = name.find('.');
  std::string from = " FROM " + QuotedName(name.substr(0, dot)) + "." + QuotedName(name.substr(dot + 1));
  if (!alias.empty()) from += " AS " + QuotedName(alias);
  // A line of its own, so that a comment at the end of the condition hides nothing.
  return condition.empty() ? from : from + " WHERE (" + condition + "\n)";
}

struct Update {
  std::vector<DataField> fields;
  std::map<std::string, std::string> values;
  bool changes_key = false;
};

Result<Update> ReadUpdate(const TableInfo& info, const UpdateText& text) {
  Update update;
  HEADRACE_ASSIGN_OR_RETURN(update.fields, FieldsOf(info));
  for (const auto& [column, value] : text.values) {
    const bool known = std::any_of(info.columns.begin(), info.columns.end(),
                                   [&, name = column](const ColumnInfo& each) { return each.name == name; });
    if (!known) return NotFound("updating table ", info.name, ": it has no column ", column);
    if (!update.values.emplace(column, value).second)
      return Invalid("updating table ", info.name, ": column ", column, " is set twice");
    update.changes_key |= IsIn(info.primary_key, column) || IsIn(info.partition_by, column);
  }
  return update;
}

// The old row, then the new one, side by side.
std::string UpdateQuery(const Update& update, const std::string& from) {
  std::string olds, news;
  for (const DataField& field : update.fields) {
    const auto value = update.values.find(field.name);
    const std::string column = QuotedName(field.name);
    olds += column + " AS " + QuotedName("old " + field.name) + ", ";
    news += (news.empty() ? "" : ", ") +
            CastTo({field.id, "new " + field.name, field.type, {}, {}},
                   value == update.values.end() ? column : "(" + value->second + "\n)");
  }
  return "SELECT " + olds + news + from;
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

std::shared_ptr<arrow::Schema> PublicSchemaOf(const std::vector<DataField>& fields) {
  arrow::FieldVector annotated;
  for (const DataField& field : fields) {
    annotated.push_back(ToArrowField(field)->WithMergedMetadata(
        arrow::key_value_metadata({kTypeMetadataKey}, {ToSql(field.type)})));
  }
  return arrow::schema(std::move(annotated));
}

Result<ChangedRows> InsertRows(QuerySession* session, TableHandle* table,
                               const std::vector<std::string>& columns, const std::string& query) {
  const TableInfo& info = table->info();
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<DataField> fields, FieldsOf(info));
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<DataField> given, session->Describe(query));
  HEADRACE_ASSIGN_OR_RETURN(const auto places, PlacesOf(info, columns, given.size()));
  std::string values, names;
  for (size_t i = 0; i < given.size(); ++i) names += (i == 0 ? "c" : ", c") + std::to_string(i);
  for (const DataField& field : fields) {
    const auto place = places.find(field.name);
    values += (values.empty() ? "" : ", ") +
              CastTo(field, place == places.end() ? "NULL" : "c" + std::to_string(place->second));
  }
  HEADRACE_ASSIGN_OR_RETURN(RowWriter writer, RowWriter::Open(table, fields));
  ChangedRows changed;
  HEADRACE_RETURN_NOT_OK(ForEachBatch(session,
                                      "SELECT " + values + " FROM (" + query + "\n) AS given(" + names + ")",
                                      [&](const arrow::RecordBatch& batch) {
                                        changed.rows += batch.num_rows();
                                        return writer.Write(batch, 0, RowKind::kInsert);
                                      }));
  HEADRACE_ASSIGN_OR_RETURN(changed.snapshot, writer.Commit());
  return changed;
}

Result<ChangedRows> DeleteRows(QuerySession* session, TableHandle* table, const std::string& name,
                               const DeleteText& text) {
  const TableInfo& info = table->info();
  HEADRACE_RETURN_NOT_OK(CheckReplaceable(info, "deleting from", true));
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<DataField> fields, FieldsOf(info));
  HEADRACE_ASSIGN_OR_RETURN(RowWriter writer, RowWriter::Open(table, fields));
  ChangedRows changed;
  HEADRACE_RETURN_NOT_OK(ForEachBatch(session, "SELECT *" + FromTable(name, text.alias, text.condition),
                                      [&](const arrow::RecordBatch& batch) {
                                        changed.rows += batch.num_rows();
                                        return writer.Write(batch, 0, RowKind::kDelete);
                                      }));
  HEADRACE_ASSIGN_OR_RETURN(changed.snapshot, writer.Commit());
  return changed;
}

Result<ChangedRows> UpdateRows(QuerySession* session, TableHandle* table, const std::string& name,
                               const UpdateText& text) {
  const TableInfo& info = table->info();
  HEADRACE_RETURN_NOT_OK(CheckReplaceable(info, "updating", false));
  HEADRACE_ASSIGN_OR_RETURN(const Update update, ReadUpdate(info, text));
  const int columns = static_cast<int>(update.fields.size());
  HEADRACE_ASSIGN_OR_RETURN(RowWriter writer, RowWriter::Open(table, update.fields));
  const std::string query = UpdateQuery(update, FromTable(name, text.alias, text.condition));
  ChangedRows changed;
  if (update.changes_key) {
    HEADRACE_ASSIGN_OR_RETURN(changed.rows, WriteMovedRows(session, query, columns, &writer));
  } else {
    const bool images = OptionOr(info, "changelog-producer", "none") == "input";
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
