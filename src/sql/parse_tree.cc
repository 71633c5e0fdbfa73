// json_serialize_sql and json_deserialize_sql, called as functions of SQL: the C interface has no other door to the parser.
#include "sql/parse_tree.h"

#include "sql/duckdb_handle.h"
#include "sql/names.h"

namespace headrace {
namespace {

// The one text that a query gives.
Result<std::string> AskText(duckdb_connection connection, const std::string& query) {
  DuckResult result;
  if (duckdb_query(connection, query.c_str(), result.get()) != DuckDBSuccess)
    return Invalid(duckdb_result_error(result.get()));
  char* text = duckdb_value_varchar(result.get(), 0, 0);
  std::string told = text == nullptr ? "" : text;
  duckdb_free(text);
  return told;
}

}  // namespace

Result<nlohmann::json> ParseTreeOf(duckdb_connection connection, const std::string& query,
                                   bool with_defaults) {
  const std::string leave_out =
      with_defaults ? "" : ", skip_null := true, skip_empty := true, skip_default := true";
  HEADRACE_ASSIGN_OR_RETURN(
      const std::string text,
      AskText(connection, "SELECT json_serialize_sql(" + QuotedText(query) + leave_out + ")"));
  HEADRACE_ASSIGN_OR_RETURN(nlohmann::json tree, ParseJson(text, "a parse tree"));
  if (At(tree, "error") == nlohmann::json(false)) return tree;
  const std::string message = TextAt(tree, "error_message");
  return TextAt(tree, "error_type") == "parser" ? Invalid(message) : Unsupported(message);
}

Result<std::string> SqlOfTree(duckdb_connection connection, const nlohmann::json& tree) {
  return AskText(connection, "SELECT json_deserialize_sql(" + QuotedText(tree.dump()) + ")");
}

std::string TextAt(const nlohmann::json& node, const char* key) {
  const auto found = node.find(key);
  return found != node.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const nlohmann::json& At(const nlohmann::json& node, const char* key) {
  static const nlohmann::json none;
  const auto found = node.find(key);
  return found == node.end() ? none : *found;
}

bool IsEmpty(const nlohmann::json& node) {
  return node.is_null() || ((node.is_array() || node.is_object()) && node.empty());
}

}  // namespace headrace
