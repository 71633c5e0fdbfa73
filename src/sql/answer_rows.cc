// DuckDB's chunks to batches: types of columns, putting together, casting.
#include "sql/answer_rows.h"

#include <utility>

#include <arrow/array.h>
#include <arrow/c/bridge.h>
#include <arrow/compute/cast.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>

namespace headrace {
namespace {

constexpr int64_t kBatchRows = 16384;

Result<std::shared_ptr<arrow::Schema>> ArrowSchemaOf(duckdb_arrow_options options,
                                                     const std::vector<DuckType>& types,
                                                     const std::vector<std::string>& names) {
  std::vector<duckdb_logical_type> raw_types;
  std::vector<const char*> raw_names;
  for (const DuckType& type : types) raw_types.push_back(type.get());
  for (const std::string& name : names) raw_names.push_back(name.c_str());
  struct ArrowSchema exported {};
  HEADRACE_RETURN_NOT_OK(FromDuckError(
      duckdb_to_arrow_schema(options, raw_types.data(), raw_names.data(), raw_types.size(), &exported),
      "reading the columns of a result"));
  return arrow::ImportSchema(&exported);
}

// TIME counts microseconds with DuckDB and milliseconds with Paimon; the cast of the values says when one is lost.
Result<DataType> PaimonTypeOf(const arrow::DataType& type) {
  if (type.id() == arrow::Type::TIME64) return ParseDataType("TIME(3)");
  // The type of a bare NULL.
  if (type.id() == arrow::Type::NA) return ParseDataType("INT");
  return FromArrowType(type);
}

class AnswerReader final : public arrow::RecordBatchReader {
 public:
  AnswerReader(std::unique_ptr<DuckResult> result, std::vector<DataField> fields,
               std::function<Status(const char*)> failure)
      : result_(std::move(result)),
        fields_(std::move(fields)),
        failure_(std::move(failure)),
        schema_(ToArrowSchema(fields_)) {}

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    *batch = nullptr;
    arrow::RecordBatchVector parts;
    int64_t rows = 0;
    while (!ended_ && rows < kBatchRows) {
      HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::RecordBatch> part, NextChunk());
      if (part == nullptr) break;
      rows += part->num_rows();
      parts.push_back(std::move(part));
    }
    if (parts.empty()) return Status::OK();
    HEADRACE_ASSIGN_OR_RETURN(const auto table, arrow::Table::FromRecordBatches(parts));
    HEADRACE_ASSIGN_OR_RETURN(const auto together, table->CombineChunksToBatch());
    HEADRACE_ASSIGN_OR_RETURN(*batch, InPaimonTypes(*together));
    return Status::OK();
  }

 private:
  Result<std::shared_ptr<arrow::RecordBatch>> NextChunk() {
    const DuckChunk chunk(duckdb_fetch_chunk(*result_->get()));
    if (chunk == nullptr) {
      ended_ = true;
      HEADRACE_RETURN_NOT_OK(failure_(duckdb_result_error(result_->get())));
      return nullptr;
    }
    const DuckArrowOptions options(duckdb_result_get_arrow_options(result_->get()));
    if (raw_schema_ == nullptr) HEADRACE_RETURN_NOT_OK(ReadRawSchema(options.get()));
    struct ArrowArray exported {};
    HEADRACE_RETURN_NOT_OK(FromDuckError(duckdb_data_chunk_to_arrow(options.get(), chunk.get(), &exported),
                                         "taking rows of a result"));
    return arrow::ImportRecordBatch(&exported, raw_schema_);
  }

  Status ReadRawSchema(duckdb_arrow_options options) {
    std::vector<DuckType> types;
    std::vector<std::string> names;
    for (idx_t i = 0; i < duckdb_column_count(result_->get()); ++i) {
      types.emplace_back(duckdb_column_logical_type(result_->get(), i));
      names.emplace_back(duckdb_column_name(result_->get(), i));
    }
    HEADRACE_ASSIGN_OR_RETURN(raw_schema_, ArrowSchemaOf(options, types, names));
    return Status::OK();
  }

  Result<std::shared_ptr<arrow::RecordBatch>> InPaimonTypes(const arrow::RecordBatch& batch) {
    arrow::ArrayVector columns;
    for (int i = 0; i < batch.num_columns(); ++i) {
      const std::shared_ptr<arrow::DataType>& type = schema_->field(i)->type();
      std::shared_ptr<arrow::Array> column = batch.column(i);
      if (!column->type()->Equals(*type)) {
        auto cast = arrow::compute::Cast(*column, type);
        if (!cast.ok()) {
          return Invalid("column ", fields_[static_cast<size_t>(i)].name, " of the result does not fit ",
                         ToSql(fields_[static_cast<size_t>(i)].type), ": ", cast.status().message());
        }
        column = std::move(cast).ValueUnsafe();
      }
      columns.push_back(std::move(column));
    }
    return arrow::RecordBatch::Make(schema_, batch.num_rows(), std::move(columns));
  }

  std::unique_ptr<DuckResult> result_;
  const std::vector<DataField> fields_;
  const std::function<Status(const char*)> failure_;
  const std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<arrow::Schema> raw_schema_;
  bool ended_ = false;
};

}  // namespace

Result<AnswerShape> ShapeOf(duckdb_connection connection, duckdb_prepared_statement statement) {
  std::vector<DuckType> types;
  std::vector<std::string> names;
  for (idx_t i = 0; i < duckdb_prepared_statement_column_count(statement); ++i) {
    types.emplace_back(duckdb_prepared_statement_column_logical_type(statement, i));
    const char* name = duckdb_prepared_statement_column_name(statement, i);
    names.emplace_back(name == nullptr ? "" : name);
    duckdb_free(const_cast<char*>(name));
  }
  AnswerShape shape;
  if (types.empty()) return shape;
  duckdb_arrow_options raw_options = nullptr;
  duckdb_connection_get_arrow_options(connection, &raw_options);
  const DuckArrowOptions options(raw_options);
  HEADRACE_ASSIGN_OR_RETURN(const auto schema, ArrowSchemaOf(options.get(), types, names));
  for (int i = 0; i < schema->num_fields(); ++i) {
    auto type = PaimonTypeOf(*schema->field(i)->type());
    shape.as_text.push_back(!type.ok());
    if (!type.ok()) type = ParseDataType("STRING");
    HEADRACE_RETURN_NOT_OK(type.status());
    shape.fields.push_back({i, names[static_cast<size_t>(i)], *type, {}, {}});
  }
  return shape;
}

std::unique_ptr<arrow::RecordBatchReader> OpenAnswerRows(std::unique_ptr<DuckResult> result,
                                                         std::vector<DataField> fields,
                                                         std::function<Status(const char*)> failure) {
  return std::make_unique<AnswerReader>(std::move(result), std::move(fields), std::move(failure));
}

}  // namespace headrace
