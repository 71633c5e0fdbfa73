// Binding, opening and filling: what DuckDB calls back while it runs a query over relations.
//
// A batch is cut into pieces of a vector's size, exported, taken over by DuckDB as a chunk and referenced by the output: no row is copied.
#include "sql/scan_function.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arrow/c/bridge.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "sql/duckdb_handle.h"

namespace headrace {

Result<std::shared_ptr<Relation>> RelationBoard::Open(const RelationName& name) {
  const std::lock_guard lock(mutex_);
  for (const auto& [known, relation] : open_) {
    if (known == name) return relation;
  }
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<Relation> relation, relations_->Open(name));
  open_.emplace_back(name, relation);
  return relation;
}

void RelationBoard::Forget() {
  const std::lock_guard lock(mutex_);
  open_.clear();
  conditions_.clear();
}

void RelationBoard::Expect(const RelationName& name, std::vector<ColumnCondition> conditions) {
  const std::lock_guard lock(mutex_);
  conditions_.emplace_back(name, std::move(conditions));
}

std::vector<ColumnCondition> RelationBoard::ConditionsOf(const RelationName& name) {
  const std::lock_guard lock(mutex_);
  for (const auto& [known, conditions] : conditions_) {
    if (known == name) return conditions;
  }
  return {};
}

void RelationBoard::Fail(const Status& status) {
  const std::lock_guard lock(mutex_);
  if (failure_.ok()) failure_ = status;
}

Status RelationBoard::TakeFailure() {
  const std::lock_guard lock(mutex_);
  return std::exchange(failure_, Status::OK());
}

namespace {

// What a bound call reads.
struct Bound {
  RelationName name;
  std::shared_ptr<Relation> relation;
};

// What the threads of one scan share.
struct Scan {
  std::shared_ptr<arrow::Schema> schema;
  std::vector<RelationPiece> pieces;
  std::atomic<size_t> next = 0;
};

// What one thread of a scan has: its connection, by which DuckDB converts, and where it is in its piece.
struct ScanThread {
  DuckConnection connection;
  DuckArrowSchema converted;
  std::unique_ptr<arrow::RecordBatchReader> reader;
  std::shared_ptr<arrow::RecordBatch> batch;
  int64_t row = 0;
};

template <typename T>
void DeleteAs(void* pointer) {
  delete static_cast<T*>(pointer);
}

RelationBoard* BoardOf(void* extra_info) { return static_cast<RelationBoard*>(extra_info); }

Result<DuckArrowSchema> ConvertSchema(duckdb_connection connection, const arrow::Schema& schema) {
  struct ArrowSchema exported {};
  HEADRACE_RETURN_NOT_OK(arrow::ExportSchema(schema, &exported));
  duckdb_arrow_converted_schema converted = nullptr;
  const Status status = FromDuckError(duckdb_schema_from_arrow(connection, &exported, &converted),
                                      "taking over the columns of a table");
  if (exported.release != nullptr) exported.release(&exported);
  DuckArrowSchema owned(converted);
  if (!status.ok()) return status;
  return owned;
}

Result<DuckChunk> ConvertBatch(duckdb_connection connection, duckdb_arrow_converted_schema converted,
                               const arrow::RecordBatch& batch) {
  struct ArrowArray exported {};
  HEADRACE_RETURN_NOT_OK(arrow::ExportRecordBatch(batch, &exported));
  duckdb_data_chunk chunk = nullptr;
  const Status status = FromDuckError(duckdb_data_chunk_from_arrow(connection, &exported, converted, &chunk),
                                      "taking over rows");
  if (exported.release != nullptr) exported.release(&exported);
  DuckChunk owned(chunk);
  if (!status.ok()) return status;
  return owned;
}

// Declares the relation's columns in the types that its batches will have once DuckDB has taken them over.
Status AddColumns(RelationBoard* board, const Relation& relation, duckdb_bind_info info) {
  HEADRACE_ASSIGN_OR_RETURN(const DuckConnection connection, ConnectDuck(board->database()));
  HEADRACE_ASSIGN_OR_RETURN(const DuckArrowSchema converted,
                            ConvertSchema(connection.get(), *relation.schema()));
  HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::RecordBatch> none,
                            arrow::RecordBatch::MakeEmpty(relation.schema()));
  HEADRACE_ASSIGN_OR_RETURN(const DuckChunk chunk, ConvertBatch(connection.get(), converted.get(), *none));
  for (int i = 0; i < relation.schema()->num_fields(); ++i) {
    const DuckType type(duckdb_vector_get_column_type(duckdb_data_chunk_get_vector(chunk.get(), i)));
    duckdb_bind_add_result_column(info, relation.schema()->field(i)->name().c_str(), type.get());
  }
  return Status::OK();
}

Status BindTo(RelationBoard* board, RelationName name, duckdb_bind_info info) {
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<Relation> relation, board->Open(name));
  HEADRACE_RETURN_NOT_OK(AddColumns(board, *relation, info));
  if (const std::optional<int64_t> rows = relation->row_count())
    duckdb_bind_set_cardinality(info, static_cast<idx_t>(*rows), false);
  duckdb_bind_set_bind_data(info, new Bound{std::move(name), std::move(relation)}, DeleteAs<Bound>);
  return Status::OK();
}

std::string TextOf(duckdb_value value) {
  if (duckdb_is_null_value(value)) return "";
  char* text = duckdb_get_varchar(value);
  std::string copy(text == nullptr ? "" : text);
  duckdb_free(text);
  return copy;
}

std::optional<int64_t> NamedNumber(duckdb_bind_info info, const char* name) {
  const DuckValue value(duckdb_bind_get_named_parameter(info, name));
  if (value == nullptr || duckdb_is_null_value(value.get())) return std::nullopt;
  return duckdb_get_int64(value.get());
}

// 'db.t' to its two names.
Status SplitName(std::string_view function, const std::string& text, RelationName* name) {
  const size_t dot = text.find('.');
  if (dot == std::string::npos || dot == 0 || dot + 1 == text.size())
    return Invalid(function, "('", text, "'): a table is named 'database.table'");
  name->database = text.substr(0, dot);
  name->table = text.substr(dot + 1);
  return Status::OK();
}

Status BindPaimon(RelationBoard* board, duckdb_bind_info info) {
  const DuckValue table(duckdb_bind_get_parameter(info, 0));
  RelationName name;
  HEADRACE_RETURN_NOT_OK(SplitName("paimon", TextOf(table.get()), &name));
  name.snapshot = NamedNumber(info, "snapshot");
  return BindTo(board, std::move(name), info);
}

Status BindChanges(RelationBoard* board, duckdb_bind_info info) {
  const DuckValue table(duckdb_bind_get_parameter(info, 0));
  RelationName name;
  name.of = RelationName::Of::kChanges;
  HEADRACE_RETURN_NOT_OK(SplitName("changes", TextOf(table.get()), &name));
  name.from_snapshot = NamedNumber(info, "from_snapshot");
  name.to_snapshot = NamedNumber(info, "to_snapshot");
  return BindTo(board, std::move(name), info);
}

template <Status (*Bind)(RelationBoard*, duckdb_bind_info)>
void OnBind(duckdb_bind_info info) {
  RelationBoard* board = BoardOf(duckdb_bind_get_extra_info(info));
  const Status status = Bind(board, info);
  if (status.ok()) return;
  board->Fail(status);
  duckdb_bind_set_error(info, status.message().c_str());
}

Status OpenScan(RelationBoard* board, duckdb_init_info info) {
  const auto& bound = *static_cast<const Bound*>(duckdb_init_get_bind_data(info));
  Relation& relation = *bound.relation;
  std::vector<int> columns;
  for (idx_t i = 0; i < duckdb_init_get_column_count(info); ++i) {
    // Past the table's columns is the number of the row, which none of ours has: any column has as many rows.
    const auto column = static_cast<int64_t>(duckdb_init_get_column_index(info, i));
    columns.push_back(column < relation.schema()->num_fields() ? static_cast<int>(column) : 0);
  }
  auto scan = std::make_unique<Scan>();
  arrow::FieldVector fields;
  for (const int column : columns) fields.push_back(relation.schema()->field(column));
  scan->schema = arrow::schema(std::move(fields));
  HEADRACE_ASSIGN_OR_RETURN(scan->pieces, relation.Pieces(columns, board->ConditionsOf(bound.name)));
  duckdb_init_set_max_threads(
      info, std::clamp<idx_t>(scan->pieces.size(), 1, static_cast<idx_t>(std::max(1, board->threads()))));
  duckdb_init_set_init_data(info, scan.release(), DeleteAs<Scan>);
  return Status::OK();
}

void OnInit(duckdb_init_info info) {
  RelationBoard* board = BoardOf(duckdb_init_get_extra_info(info));
  const Status status = OpenScan(board, info);
  if (status.ok()) return;
  board->Fail(status);
  duckdb_init_set_error(info, status.message().c_str());
}

void OnLocalInit(duckdb_init_info info) {
  duckdb_init_set_init_data(info, new ScanThread, DeleteAs<ScanThread>);
}

// Makes `thread` stand before a row; false at the end of all pieces.
Result<bool> Advance(const RelationBoard& board, Scan* scan, ScanThread* thread) {
  while (thread->batch == nullptr || thread->row == thread->batch->num_rows()) {
    if (board.interrupted()) return Cancelled("the query was interrupted");
    if (thread->reader == nullptr) {
      const size_t next = scan->next.fetch_add(1);
      if (next >= scan->pieces.size()) return false;
      HEADRACE_ASSIGN_OR_RETURN(thread->reader, scan->pieces[next]());
    }
    thread->row = 0;
    HEADRACE_RETURN_NOT_OK(thread->reader->ReadNext(&thread->batch));
    if (thread->batch == nullptr) thread->reader.reset();
  }
  return true;
}

Status Fill(RelationBoard* board, duckdb_function_info info, duckdb_data_chunk output) {
  auto* scan = static_cast<Scan*>(duckdb_function_get_init_data(info));
  auto* thread = static_cast<ScanThread*>(duckdb_function_get_local_init_data(info));
  HEADRACE_ASSIGN_OR_RETURN(const bool more, Advance(*board, scan, thread));
  if (!more) {
    duckdb_data_chunk_set_size(output, 0);
    return Status::OK();
  }
  if (thread->connection == nullptr) {
    HEADRACE_ASSIGN_OR_RETURN(thread->connection, ConnectDuck(board->database()));
    HEADRACE_ASSIGN_OR_RETURN(thread->converted, ConvertSchema(thread->connection.get(), *scan->schema));
  }
  const int64_t rows =
      std::min<int64_t>(static_cast<int64_t>(duckdb_vector_size()), thread->batch->num_rows() - thread->row);
  const auto slice = thread->batch->Slice(thread->row, rows);
  thread->row += rows;
  HEADRACE_ASSIGN_OR_RETURN(const DuckChunk chunk,
                            ConvertBatch(thread->connection.get(), thread->converted.get(), *slice));
  for (int i = 0; i < scan->schema->num_fields(); ++i) {
    duckdb_vector_reference_vector(duckdb_data_chunk_get_vector(output, i),
                                   duckdb_data_chunk_get_vector(chunk.get(), i));
  }
  duckdb_data_chunk_set_size(output, static_cast<idx_t>(rows));
  return Status::OK();
}

void OnFill(duckdb_function_info info, duckdb_data_chunk output) {
  RelationBoard* board = BoardOf(duckdb_function_get_extra_info(info));
  const Status status = Fill(board, info, output);
  if (status.ok()) return;
  board->Fail(status);
  duckdb_function_set_error(info, status.message().c_str());
}

struct Function {
  const char* name;
  duckdb_table_function_bind_t bind;
  std::vector<const char*> numbers;  // named parameters
};

Status Register(duckdb_connection connection, RelationBoard* board, const Function& described) {
  const DuckTableFunction function(duckdb_create_table_function());
  const DuckType table(duckdb_create_logical_type(DUCKDB_TYPE_VARCHAR));
  const DuckType number(duckdb_create_logical_type(DUCKDB_TYPE_BIGINT));
  duckdb_table_function_set_name(function.get(), described.name);
  duckdb_table_function_add_parameter(function.get(), table.get());
  for (const char* name : described.numbers)
    duckdb_table_function_add_named_parameter(function.get(), name, number.get());
  duckdb_table_function_set_extra_info(function.get(), board, nullptr);
  duckdb_table_function_set_bind(function.get(), described.bind);
  duckdb_table_function_set_init(function.get(), OnInit);
  duckdb_table_function_set_local_init(function.get(), OnLocalInit);
  duckdb_table_function_set_function(function.get(), OnFill);
  duckdb_table_function_supports_projection_pushdown(function.get(), true);
  if (duckdb_register_table_function(connection, function.get()) != DuckDBSuccess)
    return Invalid("making the table function ", described.name, " known to DuckDB failed");
  return Status::OK();
}

}  // namespace

Status RegisterScanFunctions(duckdb_connection connection, RelationBoard* board) {
  HEADRACE_RETURN_NOT_OK(Register(connection, board, {"paimon", OnBind<BindPaimon>, {"snapshot"}}));
  return Register(connection, board, {"changes", OnBind<BindChanges>, {"from_snapshot", "to_snapshot"}});
}

}  // namespace headrace
