// One SELECT's parse tree to its outputs, its groups and its key.
#include "sql/query_shape.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/nearest.h"
#include "base/text.h"
#include "sql/branch_text.h"
#include "sql/from_clause.h"
#include "sql/lookup_text.h"
#include "sql/names.h"
#include "sql/parse_tree.h"
#include "sql/shape_check.h"
#include "sql/source_columns.h"
#include "sql/tokens.h"
#include "sql/tumbling_window.h"

namespace headrace {
namespace {

using Json = nlohmann::json;

Folds FoldsOf(const Json& item) {
  const Json& children = At(item, "children");
  const bool plain = TextAt(item, "class") == "FUNCTION" && At(item, "distinct") != Json(true) &&
                     IsEmpty(At(At(item, "order_bys"), "orders"));
  if (!plain) return Folds::kNot;
  const std::string name = TextAt(item, "function_name");
  if (name == "count_star" || (name == "count" && IsEmpty(children)))
    return IsEmpty(At(item, "filter")) ? Folds::kCountAll : Folds::kCount;
  if (children.size() != 1) return Folds::kNot;
  if (name == "count") return Folds::kCount;
  if (name == "sum") return Folds::kSum;
  if (name == "min") return Folds::kMin;
  return name == "max" ? Folds::kMax : Folds::kNot;
}

class BranchShaper {
 public:
  BranchShaper(duckdb_connection connection, const Json& tree, Json select, const std::string& used,
               const ColumnsOf& columns_of, const ShapeCheck& check, const std::set<size_t>& looked_up)
      : select_(std::move(select)),
        check_(check),
        names_(&branch_.sources),
        text_(connection, tree, select_, &branch_.sources),
        from_(&branch_, used, columns_of, check, looked_up, text_) {}

  Result<QueryBranch> Shape() {
    HEADRACE_RETURN_NOT_OK(CheckClauses());
    HEADRACE_RETURN_NOT_OK(from_.AddSources(At(select_, "from_table")));
    for (const Json& item : At(select_, "select_list")) {
      if (TextAt(item, "class") != "STAR") HEADRACE_RETURN_NOT_OK(check_.CheckExpressions(item));
    }
    for (const char* clause : {"where_clause", "group_expressions", "having", "qualify"})
      HEADRACE_RETURN_NOT_OK(check_.CheckExpressions(At(select_, clause)));
    from_.equal().JoinAll(from_.Equalities(At(select_, "where_clause")));
    HEADRACE_RETURN_NOT_OK(AddOutputs());
    HEADRACE_RETURN_NOT_OK(FindGroups());
    FindWindows(At(select_, "select_list"));
    FindWindows(At(select_, "qualify"));
    HEADRACE_RETURN_NOT_OK(branch_.is_lookup ? CheckLookups() : ChooseKey());
    branch_.folds = CanFold();
    std::vector<ShapeExpression> given;
    for (const auto& [name, expression] : outputs_) given.push_back(expression);
    HEADRACE_RETURN_NOT_OK(text_.Write(given, &branch_));
    return std::move(branch_);
  }

 private:
  Status CheckClauses() {
    if (!IsEmpty(At(At(select_, "cte_map"), "map")))
      return Unsupported(
          "WITH is not maintained; make each of its queries a table of its own by another INSERT");
    if (!IsEmpty(At(select_, "sample"))) return Unsupported("a sample is not maintained; leave SAMPLE out");
    for (const Json& modifier : At(select_, "modifiers")) {
      const std::string type = TextAt(modifier, "type");
      if (type == "DISTINCT_MODIFIER") {
        if (!IsEmpty(At(modifier, "distinct_on_targets")))
          return Unsupported(
              "DISTINCT ON is not maintained; write QUALIFY row_number() OVER (PARTITION BY … ORDER BY …) = "
              "1");
        branch_.is_distinct = true;
      } else if (type == "ORDER_MODIFIER") {
        return Unsupported(
            "a table has no order of rows; leave ORDER BY out, and order what is read from the table");
      } else {
        return Unsupported(
            "LIMIT without a group is not maintained; write QUALIFY row_number() OVER (PARTITION BY … ORDER "
            "BY …) <= n");
      }
    }
    const Json& sets = At(select_, "group_sets");
    if (sets.is_array() && sets.size() > 1)
      return Unsupported(
          "GROUPING SETS, ROLLUP and CUBE are not maintained; write one INSERT for each grouping");
    return Status::OK();
  }

  // A group or a key may be said by the name or the place of an output.
  ShapeExpression NamedOrOutput(const Json& node) const {
    const Json& value = At(At(node, "value"), "value");
    const auto& outputs = outputs_;
    if (TextAt(node, "class") == "CONSTANT" && value.is_number_integer() && value.get<int64_t>() >= 1 &&
        value.get<int64_t>() <= static_cast<int64_t>(outputs.size()))
      return outputs[static_cast<size_t>(value.get<int64_t>() - 1)].second;
    ShapeExpression named = names_.Named(node);
    const Json& names = At(node, "column_names");
    if (named.is_known || TextAt(node, "class") != "COLUMN_REF" || names.size() != 1) return named;
    for (const auto& [name, expression] : outputs) {
      if (IsSameName(name, names[0].get<std::string>())) return expression;
    }
    return named;
  }

  Status AddOutputs() {
    for (const Json& item : At(select_, "select_list")) {
      if (TextAt(item, "class") == "STAR") {
        HEADRACE_RETURN_NOT_OK(AddStar(item));
        continue;
      }
      const ShapeExpression expression = names_.Named(item);
      std::string name = TextAt(item, "alias");
      if (name.empty()) name = expression.column;
      AddOutput(std::move(name), expression);
    }
    return Status::OK();
  }

  void AddOutput(std::string name, ShapeExpression expression) {
    ShapeOutput output;
    output.source = expression.column_of;
    output.column = expression.column;
    output.folds = FoldsOf(expression.tree);
    if (output.folds != Folds::kNot && At(expression.tree, "children").size() == 1)
      output.folded = names_.Named(At(expression.tree, "children")[0]).column;
    branch_.outputs.push_back(std::move(output));
    outputs_.emplace_back(std::move(name), std::move(expression));
  }

  Status AddStar(const Json& star) {
    const bool plain = IsEmpty(At(star, "replace_list")) && IsEmpty(At(star, "rename_list")) &&
                       IsEmpty(At(star, "expr")) && IsEmpty(At(star, "qualified_exclude_list")) &&
                       IsEmpty(At(star, "exclude_list")) && At(star, "columns") != Json(true) &&
                       !from_.has_using();
    if (!plain)
      return Unsupported(
          "a * with EXCLUDE, REPLACE, RENAME or COLUMNS, or over a join with USING, is not taken apart here; "
          "name the columns");
    const std::string of = TextAt(star, "relation_name");
    if (!of.empty() && names_.FindAlias(of) < 0)
      return Unsupported(of, ".* is of no table in FROM and is not taken apart here; name the fields");
    for (size_t i = 0; i < branch_.sources.size(); ++i) {
      if (!of.empty() && !IsSameName(of, branch_.sources[i].alias)) continue;
      for (const std::string& column : branch_.sources[i].columns)
        AddOutput(column, names_.ColumnExpression(static_cast<int>(i), column));
    }
    return Status::OK();
  }

  Status FindGroups() {
    const Json& groups = At(select_, "group_expressions");
    for (const Json& group : groups) groups_.push_back(NamedOrOutput(group));
    const bool by_all = TextAt(select_, "aggregate_handling") == "FORCE_AGGREGATES";
    const bool aggregates =
        check_.HasAggregate(At(select_, "select_list")) || check_.HasAggregate(At(select_, "having"));
    branch_.is_grouped = !groups_.empty() || by_all || aggregates;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const ShapeExpression& output = outputs_[i].second;
      if (by_all && !check_.HasAggregate(output.tree)) groups_.push_back(output);
      branch_.outputs[i].is_group =
          std::any_of(groups_.begin(), groups_.end(),
                      [&](const ShapeExpression& group) { return group.Canonical() == output.Canonical(); });
    }
    branch_.groups = groups_.size();
    for (const ShapeExpression& group : groups_) {
      if (group.is_known) continue;
      const std::string unknown = UnknownColumnIn(group.tree);
      return Invalid("GROUP BY names ", unknown.empty() ? "a column" : unknown,
                     ", which no table of FROM has, and no column of the answer");
    }
    return Status::OK();
  }

  void FindWindows(const Json& node) {
    if (node.is_array()) {
      for (const Json& each : node) FindWindows(each);
    } else if (node.is_object()) {
      if (TextAt(node, "class") == "WINDOW") {
        std::vector<ShapeExpression> partitions;
        for (const Json& each : At(node, "partitions")) partitions.push_back(names_.Named(each));
        windows_.push_back(std::move(partitions));
      }
      for (const Json& each : node) FindWindows(each);
    }
  }

  // The expressions by which the answer falls apart, apart from joins: of groups, windows and DISTINCT. Nothing: there are none of these.
  Result<std::optional<std::vector<ShapeExpression>>> PartsOfAnswer() const {
    const int kinds =
        (branch_.is_grouped ? 1 : 0) + (windows_.empty() ? 0 : 1) + (branch_.is_distinct ? 1 : 0);
    if (kinds == 0) return std::nullopt;
    if (kinds > 1)
      return Unsupported(
          "GROUP BY, window functions and DISTINCT together are not maintained; make a table of its own of "
          "each by another INSERT");
    if (branch_.is_grouped) return groups_;
    std::vector<ShapeExpression> parts;
    if (branch_.is_distinct) {
      for (const auto& [name, expression] : outputs_) parts.push_back(expression);
      return parts;
    }
    // Where a side of the join is missing its columns are null, in rows of different keys.
    const auto may_be_missing = [this](const ShapeExpression& part) {
      return std::any_of(part.sources.begin(), part.sources.end(),
                         [this](int source) { return !branch_.linear[static_cast<size_t>(source)]; });
    };
    for (const ShapeExpression& partition : windows_[0]) {
      const bool in_all = std::all_of(windows_.begin(), windows_.end(), [&](const auto& window) {
        return std::any_of(window.begin(), window.end(), [&](const ShapeExpression& other) {
          return other.Canonical() == partition.Canonical();
        });
      });
      if (in_all && !may_be_missing(partition)) parts.push_back(partition);
    }
    return parts;
  }

  // One table's rows each look their partners up, and give a row of the answer at most.
  Status CheckLookups() {
    const std::vector<ShapeSource>& sources = branch_.sources;
    if (sources[0].is_lookup)
      return Unsupported("table ", sources[0].ToString(),
                         " stands FOR SYSTEM_TIME AS OF before the table whose rows it is looked up for; "
                         "write that one first");
    for (size_t i = 1; i < sources.size(); ++i) {
      if (!sources[i].is_lookup)
        return Unsupported("a lookup join (FOR SYSTEM_TIME AS OF) is driven by one table, and here are ",
                           sources[0].ToString(), " and ", sources[i].ToString(),
                           "; insert their join into a table of its own, and look up for its rows");
    }
    if (branch_.is_grouped || branch_.is_distinct || !windows_.empty())
      return Unsupported(
          "GROUP BY, DISTINCT and window functions of a lookup join (FOR SYSTEM_TIME AS OF) are not "
          "maintained in one step; insert the join into a table of its own, and group that by another "
          "INSERT");
    branch_.keys.resize(sources.size());
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const ShapeExpression& output = outputs_[i].second;
      const bool of_first = output.is_known && (output.sources.empty() || output.sources == std::set<int>{0});
      if (!of_first) continue;
      HEADRACE_ASSIGN_OR_RETURN(branch_.outputs[i].text, text_.TextOf(output.tree));
    }
    return Status::OK();
  }

  Status ChooseKey() {
    HEADRACE_ASSIGN_OR_RETURN(const auto parts, PartsOfAnswer());
    branch_.keys.resize(branch_.sources.size());
    if (parts) branch_.linear.assign(branch_.sources.size(), false);
    if (branch_.sources.size() == 1) {
      branch_.row_wise = !parts;
      for (const ShapeExpression& part : parts.value_or(std::vector<ShapeExpression>{})) {
        // A constant tells no parts of the answer apart.
        if (!part.is_known || part.sources.empty()) continue;
        if (branch_.is_grouped) HEADRACE_RETURN_NOT_OK(AddWindow(part));
        HEADRACE_RETURN_NOT_OK(AddKey(0, part));
      }
      return Status::OK();
    }
    bool found = false;
    for (const auto& members : from_.equal().classes()) {
      if (!Covers(members) || (parts && !HoldsOneOf(members, *parts))) continue;
      found = true;
      for (size_t i = 0; i < branch_.sources.size(); ++i) {
        const auto of = std::find_if(members.begin(), members.end(), [&](const ShapeExpression& member) {
          return member.sources.count(static_cast<int>(i)) != 0;
        });
        HEADRACE_RETURN_NOT_OK(AddKey(i, *of));
      }
    }
    if (!found) return NoKey(parts.has_value());
    for (size_t i = 0; i < outputs_.size(); ++i) TakeCoalesced(outputs_[i].second.tree, &branch_.outputs[i]);
    return Status::OK();
  }

  // COALESCE of columns that are equal by the join is that column, wherever a side of the join is missing.
  void TakeCoalesced(const Json& tree, ShapeOutput* output) const {
    const Json& children = At(tree, "children");
    if (TextAt(tree, "type") != "OPERATOR_COALESCE" || children.empty()) return;
    std::vector<ShapeExpression> columns;
    for (const Json& child : children) columns.push_back(names_.Named(child));
    const auto is_key = [&](const auto& members) {
      return Covers(members) &&
             std::all_of(columns.begin(), columns.end(), [&](const ShapeExpression& column) {
               return column.column_of >= 0 && HoldsOneOf(members, {column});
             });
    };
    if (!std::any_of(from_.equal().classes().begin(), from_.equal().classes().end(), is_key)) return;
    output->source = columns[0].column_of;
    output->column = columns[0].column;
  }

  // The first column that neither a source nor the answer has, as it is written and with what was meant; empty: there is none.
  std::string UnknownColumnIn(const Json& node) const {
    if (node.is_object() && TextAt(node, "class") == "LAMBDA") return {};  // whose own names are no columns
    if (node.is_object() && TextAt(node, "class") == "COLUMN_REF") {
      if (NamedOrOutput(node).is_known) return {};
      const std::vector<std::string> names = At(node, "column_names").get<std::vector<std::string>>();
      const int source = names.size() > 1 ? names_.FindAlias(names[0]) : -1;
      std::vector<std::string> there;
      for (size_t i = 0; i < branch_.sources.size(); ++i) {
        const std::vector<std::string>& columns = branch_.sources[i].columns;
        if (source < 0 || source == static_cast<int>(i))
          there.insert(there.end(), columns.begin(), columns.end());
      }
      std::string written = Joined(names, ".");
      const std::string nearest = NearestName(there, source < 0 ? names.back() : names[1]);
      if (!nearest.empty())
        written += " (did you mean " + (source < 0 ? std::string() : names[0] + ".") + nearest + "?)";
      return written;
    }
    if (!node.is_structured()) return {};
    for (const Json& each : node) {
      std::string unknown = UnknownColumnIn(each);
      if (!unknown.empty()) return unknown;
    }
    return {};
  }

  Status NoKey(bool has_parts) const {
    // A column that there is not is no key, and the matter itself.
    for (const char* clause : {"from_table", "where_clause"}) {
      const std::string unknown = UnknownColumnIn(At(select_, clause));
      if (!unknown.empty())
        return Invalid(clause[0] == 'f' ? "ON" : "WHERE", " names ", unknown, ", which no table of FROM has");
    }
    const bool joined = std::any_of(from_.equal().classes().begin(), from_.equal().classes().end(),
                                    [this](const auto& members) { return Covers(members); });
    if (joined && has_parts)
      return Unsupported(
          "a join that is grouped by, partitioned by or made distinct in other columns than those it is "
          "joined by is not maintained in one step; "
          "insert the join into a table of its own, and group that by another INSERT");
    if (from_.equal().classes().empty())
      return Unsupported(
          "a join without columns that must be equal is not maintained: every row would concern every other; "
          "say by "
          "ON a.x = b.y or USING what must be equal, and put the other conditions beside it");
    return Unsupported(
        "a join whose tables do not all share one key is not maintained in one step; "
        "join two tables into a table of its own, and join that with the next by another INSERT");
  }

  bool Covers(const std::vector<ShapeExpression>& members) const {
    std::set<int> seen;
    for (const ShapeExpression& member : members) seen.insert(*member.sources.begin());
    return seen.size() == branch_.sources.size();
  }

  static bool HoldsOneOf(const std::vector<ShapeExpression>& members,
                         const std::vector<ShapeExpression>& parts) {
    return std::any_of(members.begin(), members.end(), [&](const ShapeExpression& member) {
      return std::any_of(parts.begin(), parts.end(),
                         [&](const ShapeExpression& part) { return part.Canonical() == member.Canonical(); });
    });
  }

  // The group whose key is added next, if it is a window.
  Status AddWindow(const ShapeExpression& group) {
    HEADRACE_ASSIGN_OR_RETURN(std::optional<ShapeWindow> window, WindowOf(group, names_, text_));
    if (!window) return Status::OK();
    window->key = branch_.keys[0].size();
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (outputs_[i].second.Canonical() != group.Canonical()) continue;
      window->output = i;
      branch_.windows.push_back(std::move(*window));
      break;
    }
    return Status::OK();
  }

  Status AddKey(size_t source, const ShapeExpression& expression) {
    ShapeKey key;
    HEADRACE_ASSIGN_OR_RETURN(key.text, text_.TextOf(expression.tree));
    if (expression.column_of >= 0) key.column = expression.column;
    branch_.keys[source].push_back(std::move(key));
    return Status::OK();
  }

  bool CanFold() const {
    const auto& outputs = branch_.outputs;
    const auto is_told = [](const ShapeOutput& output) {
      return output.is_group || output.folds != Folds::kNot;
    };
    const auto counts = [](const ShapeOutput& output) { return output.folds == Folds::kCountAll; };
    const auto shown = static_cast<size_t>(std::count_if(
        outputs.begin(), outputs.end(), [](const ShapeOutput& output) { return output.is_group; }));
    return branch_.is_grouped && branch_.sources.size() == 1 && branch_.groups > 0 &&
           shown >= branch_.groups && IsEmpty(At(select_, "having")) &&
           std::all_of(outputs.begin(), outputs.end(), is_told) &&
           std::any_of(outputs.begin(), outputs.end(), counts);
  }

  const Json select_;
  const ShapeCheck& check_;
  QueryBranch branch_;
  const SourceColumns names_;
  const BranchText text_;
  FromClause from_;
  std::vector<std::pair<std::string, ShapeExpression>> outputs_;  // by name
  std::vector<ShapeExpression> groups_;
  std::vector<std::vector<ShapeExpression>> windows_;  // the PARTITION BY of each
};

// The SELECTs that UNION ALL puts together.
Status SelectsOf(const Json& node, std::vector<Json>* selects) {
  if (TextAt(node, "type") == "SELECT_NODE") {
    selects->push_back(node);
    return Status::OK();
  }
  if (TextAt(node, "type") != "SET_OPERATION_NODE")
    return Unsupported("only SELECT, and SELECTs put together by UNION ALL, are maintained");
  if (TextAt(node, "setop_type") != "UNION" || At(node, "setop_all") != Json(true))
    return Unsupported(
        "UNION, EXCEPT and INTERSECT are not maintained; UNION ALL is, into a table whose primary key tells "
        "its rows apart");
  if (!IsEmpty(At(node, "modifiers")))
    return Unsupported("ORDER BY and LIMIT of a UNION ALL are not maintained; leave them out");
  HEADRACE_RETURN_NOT_OK(SelectsOf(At(node, "left"), selects));
  return SelectsOf(At(node, "right"), selects);
}

// A clause that stands behind no joined table would be passed over without a word.
Status CheckEachIsLookedUp(const std::vector<QueryBranch>& branches, size_t clauses) {
  size_t looked_up = 0;
  for (const QueryBranch& branch : branches) {
    for (size_t i = 1; i < branch.sources.size(); ++i)
      looked_up += branch.is_lookup && branch.sources[i].is_lookup ? 1 : 0;
  }
  if (looked_up == clauses) return Status::OK();
  return Invalid(
      "FOR SYSTEM_TIME AS OF belongs behind the name of a table that is joined, before its alias: FROM "
      "orders AS o "
      "LEFT JOIN customers FOR SYSTEM_TIME AS OF PROCTIME() AS c ON o.customer_id = c.customer_id");
}

bool HasWord(const std::string& query, std::string_view word) {
  const auto tokens = Tokenize(query, "reading SQL");
  return tokens.ok() &&
         std::any_of(tokens->begin(), tokens->end(), [&](const Token& token) { return token.IsWord(word); });
}

}  // namespace

std::string SourceRelation(size_t source) {
  return QuotedName(kSourceDatabase) + "." + QuotedName("source " + std::to_string(source));
}

Result<std::vector<QueryBranch>> ShapeOfQuery(duckdb_connection connection, const std::string& query,
                                              const std::string& used, const ColumnsOf& columns_of) {
  HEADRACE_ASSIGN_OR_RETURN(const LookupText text, TakeLookups(query));
  auto parsed = ParseTreeOf(connection, text.query, /*with_defaults=*/true);
  // DuckDB makes several statements of a PIVOT whose columns its values tell, and has no tree of them.
  if (IsKind(parsed.status(), ErrorKind::kUnsupported) && HasWord(query, "PIVOT"))
    return FromClause::PivotIsNotMaintained();
  HEADRACE_ASSIGN_OR_RETURN(const Json tree, std::move(parsed));
  HEADRACE_ASSIGN_OR_RETURN(const ShapeCheck check, ShapeCheck::Open(connection));
  const Json& statements = At(tree, "statements");
  if (!statements.is_array() || statements.size() != 1) return Invalid("one SELECT is expected");
  std::vector<Json> selects;
  HEADRACE_RETURN_NOT_OK(SelectsOf(At(statements[0], "node"), &selects));
  std::vector<QueryBranch> branches;
  for (Json& select : selects) {
    BranchShaper shaper(connection, tree, std::move(select), used, columns_of, check, text.tables);
    HEADRACE_ASSIGN_OR_RETURN(QueryBranch branch, shaper.Shape());
    if (branch.is_lookup && selects.size() > 1)
      return Unsupported(
          "a lookup join (FOR SYSTEM_TIME AS OF) in a UNION ALL is not maintained; insert it into a table of "
          "its own");
    branches.push_back(std::move(branch));
  }
  HEADRACE_RETURN_NOT_OK(CheckEachIsLookedUp(branches, text.tables.size()));
  return branches;
}

}  // namespace headrace
