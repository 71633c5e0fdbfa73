// DuckDB's parse tree of a query, which it gives and takes as JSON.
//
// The only files that know the tree's names are the ones that include this. A member that is not there reads as null or empty: trees of other
// shapes than expected are not understood, never an error of access. One thread a connection.
#pragma once

#include <string>

#include <duckdb.h>

#include "base/error.h"
#include "base/json.h"

namespace headrace {

// The tree of one SELECT; kInvalid with DuckDB's message where it does not parse, kUnsupported for another kind of statement.
// `with_defaults` keeps what is not said in the query, which is needed to make SQL of the tree again.
Result<nlohmann::json> ParseTreeOf(duckdb_connection connection, const std::string& query,
                                   bool with_defaults);

// The SQL of a tree that was made with its defaults.
Result<std::string> SqlOfTree(duckdb_connection connection, const nlohmann::json& tree);

std::string TextAt(const nlohmann::json& node, const char* key);
const nlohmann::json& At(const nlohmann::json& node, const char* key);
// Nothing, or a list or an object of nothing.
bool IsEmpty(const nlohmann::json& node);

}  // namespace headrace
