#include "sql/source_columns.h"

#include <utility>

#include "sql/names.h"
#include "sql/parse_tree.h"

namespace headrace {

using Json = nlohmann::json;

std::string SourceColumns::FindColumn(int source, const std::string& name) const {
  for (const std::string& column : sources_[static_cast<size_t>(source)].columns) {
    if (IsSameName(column, name)) return column;
  }
  return {};
}

ShapeExpression SourceColumns::ColumnExpression(int source, const std::string& column) const {
  ShapeExpression made;
  made.tree = {{"class", "COLUMN_REF"},
               {"type", "COLUMN_REF"},
               {"alias", ""},
               {"query_location", 0},
               {"column_names", {sources_[static_cast<size_t>(source)].alias, column}}};
  made.sources = {source};
  made.column_of = source;
  made.column = column;
  return made;
}

int SourceColumns::FindAlias(const std::string& name) const {
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (IsSameName(sources_[i].alias, name)) return static_cast<int>(i);
  }
  return -1;
}

// Puts the source before the column's name. What follows a column is a part of it.
void SourceColumns::NameColumn(Json* node, ShapeExpression* whole) const {
  std::vector<std::string> names = At(*node, "column_names").get<std::vector<std::string>>();
  size_t at = 0;  // of the column
  int source = names.size() > 1 ? FindAlias(names[0]) : -1;
  if (source >= 0) {
    at = 1;
  } else if (names.size() > 2 && (source = FindAlias(names[1])) >= 0 &&
             IsSameName(names[0], sources_[static_cast<size_t>(source)].database)) {
    at = 2;
  } else {
    source = -1;
    for (size_t i = 0; i < sources_.size() && source < 0; ++i) {
      if (!FindColumn(static_cast<int>(i), names[0]).empty()) source = static_cast<int>(i);
    }
  }
  const std::string column = source < 0 ? "" : FindColumn(source, names[at]);
  if (column.empty()) {
    whole->is_known = false;
    return;
  }
  whole->sources.insert(source);
  std::vector<std::string> named = {sources_[static_cast<size_t>(source)].alias, column};
  named.insert(named.end(), names.begin() + static_cast<std::ptrdiff_t>(at) + 1, names.end());
  (*node)["column_names"] = named;
}

void SourceColumns::NameColumns(Json* node, ShapeExpression* whole) const {
  if (node->is_array()) {
    for (Json& each : *node) NameColumns(&each, whole);
  } else if (node->is_object()) {
    if (node->contains("query_location")) (*node)["query_location"] = 0;
    if (TextAt(*node, "class") == "COLUMN_REF") NameColumn(node, whole);
    for (Json& each : *node) {
      if (each.is_structured()) NameColumns(&each, whole);
    }
  }
}

ShapeExpression SourceColumns::Named(Json node) const {
  ShapeExpression made;
  if (node.is_object() && node.contains("alias")) node["alias"] = "";
  NameColumns(&node, &made);
  const Json& names = At(node, "column_names");
  if (TextAt(node, "class") == "COLUMN_REF" && made.is_known && names.size() == 2) {
    made.column_of = *made.sources.begin();
    made.column = names[1].get<std::string>();
  }
  made.tree = std::move(node);
  return made;
}

}  // namespace headrace
