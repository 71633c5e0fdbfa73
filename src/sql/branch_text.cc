#include "sql/branch_text.h"

#include <string_view>
#include <utility>

#include "sql/duckdb_handle.h"
#include "sql/names.h"
#include "sql/parse_tree.h"
#include "sql/shape_check.h"

namespace headrace {

using Json = nlohmann::json;

Status BranchText::Write(const std::vector<ShapeExpression>& outputs, QueryBranch* branch) const {
  Json select = select_;
  size_t source = 0;
  ReadSources(&select["from_table"], &source);
  ShortenNames(&select);
  for (const char* clause : {"select_list", "having", "qualify"}) OrderWhole(&select[clause]);
  HEADRACE_ASSIGN_OR_RETURN(branch->text, TextOfSelect(select));
  if (!branch->row_wise && !branch->is_lookup) return Status::OK();
  // A * would take the kind in as well.
  Json items = Json::array();
  size_t output = 0;
  for (const Json& item : At(select, "select_list")) {
    const bool is_star = TextAt(item, "class") == "STAR";
    const size_t end = output + (is_star ? ColumnsOfStar(item) : 1);
    if (!is_star) items.push_back(item);
    for (size_t i = output; is_star && i < end; ++i) items.push_back(outputs[i].tree);
    output = end;
  }
  items.push_back(names_.ColumnExpression(0, kChangeKindColumn).tree);
  if (branch->is_lookup) items.push_back(names_.ColumnExpression(0, kChangePlaceColumn).tree);
  select["select_list"] = std::move(items);
  HEADRACE_ASSIGN_OR_RETURN(branch->text_over_changes, TextOfSelect(std::move(select)));
  return Status::OK();
}

size_t BranchText::ColumnsOfStar(const Json& star) const {
  const std::string of = TextAt(star, "relation_name");
  size_t columns = 0;
  for (const ShapeSource& source : sources_) {
    if (of.empty() || IsSameName(of, source.alias)) columns += source.columns.size();
  }
  return columns;
}

// The tables of FROM by the names that the branch's own text has for them.
void BranchText::ReadSources(Json* from, size_t* source) const {
  if (TextAt(*from, "type") == "JOIN") {
    ReadSources(&(*from)["left"], source);
    ReadSources(&(*from)["right"], source);
    return;
  }
  (*from)["alias"] = sources_[*source].alias;
  (*from)["schema_name"] = kSourceDatabase;
  (*from)["table_name"] = "source " + std::to_string((*source)++);
}

// shop.orders.id is orders.id, since the table has another name now.
void BranchText::ShortenNames(Json* node) const {
  if (node->is_object() && TextAt(*node, "class") == "COLUMN_REF") {
    std::vector<std::string> names = At(*node, "column_names").get<std::vector<std::string>>();
    const int source = names.size() > 2 && names_.FindAlias(names[0]) < 0 ? names_.FindAlias(names[1]) : -1;
    if (source >= 0 && IsSameName(names[0], sources_[static_cast<size_t>(source)].database)) {
      names.erase(names.begin());
      (*node)["column_names"] = names;
    }
  }
  if (!node->is_structured()) return;
  for (Json& each : *node) ShortenNames(&each);
}

// Of rows that an ORDER BY leaves equal DuckDB takes any, and the query over some of them again could take another than it took: behind what is
// said, rows are ordered by all that they hold.
void BranchText::OrderWhole(Json* node) const {
  if (node->is_object()) {
    const ShapeCheck::Choice choice = ShapeCheck::ChoiceOf(*node);
    const bool is_window = TextAt(*node, "class") == "WINDOW";
    if (choice.by_arguments && is_window) {
      // First by the window's order, whose peers stay what they are in the frame.
      Json& orders = (*node)["arg_orders"];
      if (IsEmpty(orders)) orders = (*node)["orders"];
      AddAllColumns(&orders);
    } else if (choice.by_arguments) {
      AddAllColumns(&(*node)["order_bys"]["orders"]);
    } else if (choice.by_window && !IsEmpty(At(*node, "arg_orders"))) {
      AddAllColumns(&(*node)["arg_orders"]);
    }
    if (choice.by_window) AddAllColumns(&(*node)["orders"]);
  }
  if (!node->is_structured()) return;
  for (Json& each : *node) OrderWhole(&each);
}

void BranchText::AddAllColumns(Json* orders) const {
  for (size_t i = 0; i < sources_.size(); ++i) {
    for (const std::string& column : sources_[i].columns)
      orders->push_back({{"type", "ORDER_DEFAULT"},
                         {"null_order", "ORDER_DEFAULT"},
                         {"expression", names_.ColumnExpression(static_cast<int>(i), column).tree}});
  }
}

Result<std::string> BranchText::TextOf(const Json& expression) const {
  Json select = select_;
  select["modifiers"] = Json::array();
  select["select_list"] = Json::array({expression});
  select["from_table"] = {{"type", "EMPTY"}, {"alias", ""}, {"sample", nullptr}, {"query_location", 0}};
  for (const char* clause : {"where_clause", "having", "sample", "qualify"}) select[clause] = nullptr;
  for (const char* clause : {"group_expressions", "group_sets"}) select[clause] = Json::array();
  select["aggregate_handling"] = "STANDARD_HANDLING";
  HEADRACE_ASSIGN_OR_RETURN(const std::string text, TextOfSelect(std::move(select)));
  return text.substr(std::string_view("SELECT ").size());
}

bool BranchText::IsTrue(const std::string& query) const {
  DuckResult result;
  return duckdb_query(connection_, query.c_str(), result.get()) == DuckDBSuccess &&
         duckdb_row_count(result.get()) == 1 && duckdb_value_boolean(result.get(), 0, 0);
}

Result<std::string> BranchText::TextOfSelect(Json select) const {
  Json tree = tree_;
  tree["statements"][0]["node"] = std::move(select);
  return SqlOfTree(connection_, tree);
}

}  // namespace headrace
