// DuckDB's C handles with owners, and its errors as ours.
//
// The C API is the only door to DuckDB: no exception of its comes through. A connection is used by one thread at a time, but for
// duckdb_interrupt.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include <duckdb.h>

#include "base/error.h"

namespace headrace {

// Owner of a C handle: a pointer type with a function that destroys it through its address.
template <typename Handle, void (*Destroy)(Handle*)>
struct DuckDeleter {
  void operator()(std::remove_pointer_t<Handle>* handle) const {
    Handle owned = handle;
    Destroy(&owned);
  }
};
template <typename Handle, void (*Destroy)(Handle*)>
using DuckOwner = std::unique_ptr<std::remove_pointer_t<Handle>, DuckDeleter<Handle, Destroy>>;

using DuckDatabase = DuckOwner<duckdb_database, duckdb_close>;
using DuckConnection = DuckOwner<duckdb_connection, duckdb_disconnect>;
using DuckPrepared = DuckOwner<duckdb_prepared_statement, duckdb_destroy_prepare>;
using DuckExtracted = DuckOwner<duckdb_extracted_statements, duckdb_destroy_extracted>;
using DuckPending = DuckOwner<duckdb_pending_result, duckdb_destroy_pending>;
using DuckValue = DuckOwner<duckdb_value, duckdb_destroy_value>;
using DuckType = DuckOwner<duckdb_logical_type, duckdb_destroy_logical_type>;
using DuckChunk = DuckOwner<duckdb_data_chunk, duckdb_destroy_data_chunk>;
using DuckArrowOptions = DuckOwner<duckdb_arrow_options, duckdb_destroy_arrow_options>;
using DuckArrowSchema = DuckOwner<duckdb_arrow_converted_schema, duckdb_destroy_arrow_converted_schema>;
using DuckTableFunction = DuckOwner<duckdb_table_function, duckdb_destroy_table_function>;

// A result, which is a struct that is destroyed in place.
class DuckResult {
 public:
  DuckResult() = default;
  ~DuckResult() { duckdb_destroy_result(&result_); }
  DuckResult(const DuckResult&) = delete;
  DuckResult& operator=(const DuckResult&) = delete;
  duckdb_result* get() { return &result_; }

 private:
  duckdb_result result_{};
};

Result<DuckConnection> ConnectDuck(duckdb_database database);

// Runs a statement whose rows are of no interest.
Status RunDuck(duckdb_connection connection, const std::string& sql);

// OK for null or an error that says nothing; destroys it.
Status FromDuckError(duckdb_error_data error, std::string_view doing);

}  // namespace headrace
