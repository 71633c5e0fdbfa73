// Shapes of queries against what tables are: keys that tell rows apart, engines that can take rows back.
#include "pipeline/stage_plan.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <xxhash.h>

#include "base/text.h"
#include "pipeline/keyed_copies.h"
#include "pipeline/query_binding.h"
#include "sql/names.h"
#include "sql/watermark.h"

namespace headrace::pipeline {
namespace {

bool IsIn(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string HexHash(const std::string& text) {
  char digits[17];
  std::snprintf(digits, sizeof(digits), "%016llx",
                static_cast<unsigned long long>(XXH3_64bits(text.data(), text.size())));
  return digits;
}

// Checks one stage against its tables.
class StageCheck {
 public:
  // `given`: of each branch the columns that it gives.
  StageCheck(const StagePlan& plan, const Table& target, const std::vector<Table>& tables,
             const std::vector<std::vector<DataField>>& given, const UniqueColumns& known)
      : plan_(plan), target_(target), tables_(tables), given_(given), known_(known) {}

  Status Check() const {
    for (const Table& table : tables_) HEADRACE_RETURN_NOT_OK(CheckSource(table));
    for (const QueryBranch& branch : plan_.branches) {
      if (branch.is_lookup) HEADRACE_RETURN_NOT_OK(CheckLookups(branch));
      if (!target_.schema->has_primary_key()) {
        HEADRACE_RETURN_NOT_OK(CheckAppends(branch));
      } else if (branch.row_wise || branch.is_lookup) {
        HEADRACE_RETURN_NOT_OK(CheckRowWise(branch));
      } else if (Adds()) {
        HEADRACE_RETURN_NOT_OK(CheckTellsApart(branch));
      } else {
        HEADRACE_RETURN_NOT_OK(CheckReplaces());
        HEADRACE_RETURN_NOT_OK(CheckTellsApart(branch));
      }
    }
    return Status::OK();
  }

  // StagePlan::unique_columns: a row of the one source is one row of the target at most.
  std::vector<std::string> UniqueOfTarget() const {
    const QueryBranch& branch = plan_.branches[0];
    if (plan_.branches.size() != 1 || !branch.row_wise) return {};
    const auto known = known_.find(branch.sources[0].ToString());
    const std::vector<std::string>& key =
        known != known_.end() ? known->second : TableOf(branch.sources[0]).schema->primary_keys;
    const auto outputs = OutputsOf(branch, 0, key);
    std::vector<std::string> columns;
    if (outputs) {
      for (const size_t output : *outputs) columns.push_back(plan_.columns[output]);
    }
    return columns;
  }

  // Sources that only grow into a table whose engine puts the parts of each aggregate together.
  bool Adds() const {
    if (target_.options.merge_engine != MergeEngine::kAggregation || plan_.branches.size() != 1 ||
        plan_.closes)
      return false;
    const QueryBranch& branch = plan_.branches[0];
    if (!branch.folds || TableOf(branch.sources[0]).schema->has_primary_key()) return false;
    for (size_t i = 0; i < branch.outputs.size(); ++i) {
      if (!branch.outputs[i].is_group && !AddsUp(branch.outputs[i].folds, plan_.columns[i])) return false;
    }
    return true;
  }

 private:
  bool AddsUp(Folds folds, const std::string& column) const {
    if (IsIn(target_.schema->primary_keys, column)) return false;
    const auto& options = target_.schema->options;
    const auto own = options.find("fields." + column + ".aggregate-function");
    const auto all = options.find("fields.default-aggregate-function");
    const std::string function = own != options.end() ? own->second : all != options.end() ? all->second : "";
    if (folds == Folds::kMin || folds == Folds::kMax)
      return function == (folds == Folds::kMin ? "min" : "max");
    const TypeRoot root =
        target_.schema->fields[static_cast<size_t>(target_.schema->FieldIndex(column))].type.root;
    // Sums of floats depend on how they are split.
    return function == "sum" && root != TypeRoot::kFloat && root != TypeRoot::kDouble;
  }

  const Table& TableOf(const ShapeSource& source) const { return tables_[plan_.TableOf(source)]; }

  // Of a copy that of the table that the query names, which is all of its own but the first column.
  std::vector<std::string> PrimaryKeyOf(const ShapeSource& source) const {
    std::vector<std::string> key = TableOf(source).schema->primary_keys;
    if (plan_.CopyNamed(source.ToString()) != nullptr) key.erase(key.begin());
    return key;
  }

  Status CheckSource(const Table& table) const {
    if (table.path == target_.path)
      return Unsupported("the target ", target_.name, " is read by its own query; write into another table");
    if (plan_.LooksUp(table.name)) return Status::OK();  // its changes are not followed
    const bool by_lookup = table.options.changelog_producer == ChangelogProducer::kNone ||
                           table.options.changelog_producer == ChangelogProducer::kInput;
    if (table.schema->has_primary_key() && by_lookup && table.options.scans_skip_level_zero()) {
      return Unsupported("the source ", table.name,
                         " shows rows only once they are compacted, and its changelog does not tell when; "
                         "give it 'changelog-producer' = 'lookup'");
    }
    return Status::OK();
  }

  // Rows of an append table stay.
  Status CheckAppends(const QueryBranch& branch) const {
    const bool sources_append = std::none_of(
        branch.sources.begin(), branch.sources.end(),
        [&](const auto& source) { return !source.is_lookup && TableOf(source).schema->has_primary_key(); });
    if ((branch.row_wise || branch.is_lookup) && sources_append) return Status::OK();
    return Unsupported("the target ", target_.name,
                       " has no primary key, and rows of this query may change or go; give it a PRIMARY KEY "
                       "that tells the query's rows apart");
  }

  Status CheckRowWise(const QueryBranch& branch) const {
    const Table& source = TableOf(branch.sources[0]);
    if (!source.schema->has_primary_key()) return Status::OK();
    if (branch.is_lookup) HEADRACE_RETURN_NOT_OK(CheckTakenBack(branch));
    // Engines that merge rows of several source rows into one are told to.
    if (!branch.is_lookup && target_.options.merge_engine != MergeEngine::kDeduplicate) return Status::OK();
    HEADRACE_RETURN_NOT_OK(CheckReplaces());
    return CheckTellsApart(branch);
  }

  // A row looks its partners up by their primary keys, so that it has one answer.
  Status CheckLookups(const QueryBranch& branch) const {
    for (size_t i = 1; i < branch.sources.size(); ++i) {
      const ShapeSource& source = branch.sources[i];
      const std::vector<std::string>& key = TableOf(source).schema->primary_keys;
      const bool is_key = !key.empty() && std::all_of(key.begin(), key.end(), [&](const std::string& column) {
        return std::any_of(source.lookup_keys.begin(), source.lookup_keys.end(),
                           [&](const LookupKey& one) { return one.column == column; });
      });
      if (source.ToString() == branch.sources[0].ToString())
        return Unsupported(
            "table ", source.ToString(),
            " is looked up for its own rows; insert it into a table of its own, and look up there");
      if (is_key) continue;
      return Unsupported("table ", source.ToString(),
                         " is looked up (FOR SYSTEM_TIME AS OF), which goes by its primary key",
                         key.empty() ? std::string(", and it has none") : " (" + Joined(key) + ") alone",
                         ": ON must say for every column of it what of ", branch.sources[0].ToString(),
                         " it is equal to. Insert the table into one whose PRIMARY KEY is the columns of "
                         "this join by another "
                         "INSERT, and look up there");
    }
    return Status::OK();
  }

  // What was written for a row is found in the target again by what the row itself tells.
  Status CheckTakenBack(const QueryBranch& branch) const {
    for (size_t i = 0; i < branch.outputs.size(); ++i) {
      if (!IsIn(target_.schema->primary_keys, plan_.columns[i]) || !branch.outputs[i].text.empty()) continue;
      return Unsupported("column ", plan_.columns[i], " of the primary key of ", target_.name,
                         " is given what was looked up, by which the row could not be found again once the "
                         "other table has changed; make the key of what ",
                         branch.sources[0].ToString(), " tells alone");
    }
    if (target_.options.scans_skip_level_zero())
      return Unsupported(
          "the target ", target_.name,
          " shows rows only once they are compacted (deletion vectors), so what was written for "
          "a row that changes cannot be read again; leave 'deletion-vectors.enabled' out");
    return Status::OK();
  }

  Status CheckReplaces() const {
    if (target_.options.merge_engine != MergeEngine::kDeduplicate)
      return Unsupported("the target ", target_.name,
                         " has merge-engine=", target_.schema->options.at("merge-engine"),
                         ", which would merge the new answer with the old one; this query needs "
                         "merge-engine=deduplicate. (Counts, sums of exact numbers, min and max of a table "
                         "without primary key may go into merge-engine=aggregation with "
                         "the same functions, when the query gives count(*) too)");
    if (!target_.options.sequence_fields.empty())
      return Unsupported(
          "the target ", target_.name, " keeps of two rows of a key the one with the larger ",
          Joined(target_.options.sequence_fields),
          " (sequence.field), but the new answer counts whatever it holds; leave the option out");
    if (target_.options.ignore_delete)
      return Unsupported("the target ", target_.name,
                         " passes over deletes (ignore-delete), but rows of this query may go");
    return Status::OK();
  }

  Status CheckTellsApart(const QueryBranch& branch) const {
    const std::optional<std::set<size_t>> unique = UniqueOutputs(branch);
    const std::string key = Joined(target_.schema->primary_keys);
    if (!unique) {
      return Unsupported("nothing in the answer tells its rows apart for the primary key (", key, ") of ",
                         target_.name, "; ",
                         branch.is_grouped
                             ? "let the query give every column that it groups by, and group by what it "
                               "gives: by coalesce(a, '?') where that is given"
                             : "let the query give the primary key of each table that it reads",
                         ", and make these the target's primary key");
    }
    std::vector<std::string> missing;
    for (const size_t output : *unique) {
      if (!IsIn(target_.schema->primary_keys, plan_.columns[output]))
        missing.push_back(plan_.columns[output]);
    }
    if (!missing.empty())
      return Unsupported("the primary key (", key, ") of ", target_.name,
                         " does not tell the query's rows apart: two may differ in ", Joined(missing),
                         " alone; make that part of the key");
    for (const size_t output : *unique) HEADRACE_RETURN_NOT_OK(CheckKeepsApart(branch, output));
    return Status::OK();
  }

  // Of values that the column cuts to one, two groups would be one row.
  Status CheckKeepsApart(const QueryBranch& branch, size_t output) const {
    DataType given = GivenType(branch, output);
    DataType held =
        target_.schema->fields[static_cast<size_t>(target_.schema->FieldIndex(plan_.columns[output]))].type;
    if (KeepsApart(held, given)) return Status::OK();
    held.nullable = given.nullable = true;  // which is beside the matter
    const std::string by_cast = branch.is_grouped || branch.is_distinct
                                    ? ", or let the query " +
                                          std::string(branch.is_distinct ? "give" : "group by") +
                                          " a CAST to the column's type"
                                    : "";
    return Unsupported("the key column ", plan_.columns[output], " ", ToSql(held), " of ", target_.name,
                       " may make one of values that the query tells apart, which are ", ToSql(given),
                       "; give the column that type", by_cast);
  }

  // A column's own type: DuckDB's may be finer.
  DataType GivenType(const QueryBranch& branch, size_t output) const {
    const ShapeOutput& of = branch.outputs[output];
    if (of.source >= 0) {
      const TableSchema& schema = *TableOf(branch.sources[static_cast<size_t>(of.source)]).schema;
      const int field = schema.FieldIndex(of.column);
      if (field >= 0) return schema.fields[static_cast<size_t>(field)].type;
    }
    return given_[static_cast<size_t>(&branch - plan_.branches.data())][output].type;
  }

  // Outputs by which no two rows of the answer are the same; nothing: there are none.
  std::optional<std::set<size_t>> UniqueOutputs(const QueryBranch& branch) const {
    std::set<size_t> unique;
    if (branch.is_distinct) {
      for (size_t i = 0; i < branch.outputs.size(); ++i) unique.insert(i);
      return unique;
    }
    if (branch.is_grouped) return UniqueGroups(branch);
    size_t told_by_join = 0;
    for (size_t source = 0; source < branch.sources.size(); ++source) {
      const std::vector<std::string> key = PrimaryKeyOf(branch.sources[source]);
      if (key.empty()) return std::nullopt;
      if (branch.sources[source].is_lookup) continue;
      // Of such a table there is one row at most for a row of the others.
      if (IsJoinedByKey(branch, source) && ++told_by_join < branch.sources.size()) continue;
      std::optional<std::set<size_t>> own = OutputsOf(branch, source, key);
      // Row by row changes come in the order of the source's key: of a row that moved within the copy, the new place may come before the old.
      const auto known = known_.find(branch.sources[source].ToString());
      if (known != known_.end() && !branch.row_wise) {
        std::optional<std::set<size_t>> other = OutputsOf(branch, source, known->second);
        if (other && (!own || !AreInKey(*own))) own = std::move(other);
      }
      if (!own) return std::nullopt;
      unique.merge(*own);
    }
    return unique;
  }

  // The outputs that are these columns of a source; nothing: one of them is none.
  static std::optional<std::set<size_t>> OutputsOf(const QueryBranch& branch, size_t source,
                                                   const std::vector<std::string>& columns) {
    std::set<size_t> outputs;
    for (const std::string& column : columns) {
      const std::optional<size_t> output = OutputEqualTo(branch, source, column);
      if (!output) return std::nullopt;
      outputs.insert(*output);
    }
    return outputs;
  }

  bool AreInKey(const std::set<size_t>& outputs) const {
    return std::all_of(outputs.begin(), outputs.end(), [&](size_t output) {
      return IsIn(target_.schema->primary_keys, plan_.columns[output]);
    });
  }

  std::optional<std::set<size_t>> UniqueGroups(const QueryBranch& branch) const {
    std::set<size_t> groups;
    for (size_t i = 0; i < branch.outputs.size(); ++i) {
      if (branch.outputs[i].is_group) groups.insert(i);
    }
    // The key of the one source among the groups says all.
    if (branch.sources.size() == 1) {
      std::set<size_t> of_key;
      const std::vector<std::string> key = PrimaryKeyOf(branch.sources[0]);
      for (const std::string& column : key) {
        for (const size_t group : groups) {
          if (branch.outputs[group].column == column) of_key.insert(group);
        }
      }
      if (!key.empty() && of_key.size() >= key.size()) return of_key;
    }
    return groups.size() >= branch.groups ? std::optional(groups) : std::nullopt;
  }

  bool IsJoinedByKey(const QueryBranch& branch, size_t source) const {
    const std::vector<std::string> key = PrimaryKeyOf(branch.sources[source]);
    return branch.sources.size() > 1 && std::all_of(key.begin(), key.end(), [&](const std::string& column) {
             const auto& joined = branch.keys[source];
             return std::any_of(joined.begin(), joined.end(),
                                [&](const ShapeKey& one) { return one.column == column; });
           });
  }

  // The output that is that column, or one that is equal to it in every row by the join.
  static std::optional<size_t> OutputEqualTo(const QueryBranch& branch, size_t source,
                                             const std::string& column) {
    std::set<std::pair<int, std::string>> equal = {{static_cast<int>(source), column}};
    for (size_t k = 0; k < branch.keys[source].size(); ++k) {
      if (branch.keys[source][k].column != column) continue;
      for (size_t other = 0; other < branch.sources.size(); ++other) {
        if (branch.keys[other][k].column)
          equal.insert({static_cast<int>(other), *branch.keys[other][k].column});
      }
    }
    for (size_t i = 0; i < branch.outputs.size(); ++i) {
      if (equal.count({branch.outputs[i].source, branch.outputs[i].column}) != 0) return i;
    }
    return std::nullopt;
  }

  const StagePlan& plan_;
  const Table& target_;
  const std::vector<Table>& tables_;
  const std::vector<std::vector<DataField>>& given_;
  const UniqueColumns& known_;
};

Status CheckColumns(const StagePlan& plan, const Table& target) {
  std::set<std::string> seen;
  for (const std::string& column : plan.columns) {
    if (target.schema->FieldIndex(column) < 0)
      return NotFound("inserting into table ", target.name, ": it has no column ", column);
    if (!seen.insert(column).second)
      return Invalid("inserting into table ", target.name, ": column ", column, " is named twice");
  }
  for (const std::string& key : target.schema->primary_keys) {
    if (seen.count(key) == 0)
      return Invalid("inserting into table ", target.name, ": its primary key column ", key,
                     " gets no value");
  }
  for (const QueryBranch& branch : plan.branches) {
    if (branch.outputs.size() != plan.columns.size()) {
      return Invalid("inserting into table ", target.name, ": the query gives ", branch.outputs.size(),
                     " columns where ", plan.columns.size(), " are written to: ", Joined(plan.columns));
    }
  }
  return Status::OK();
}

TouchedRead ReadOf(const std::vector<ShapeKey>& keys, const TableSchema& schema, const KeyedCopy* copy) {
  const auto is_key = [&](const std::string& column) {
    const std::string& touched = copy != nullptr && column == kCopyKeyColumn ? copy->column : column;
    return std::any_of(keys.begin(), keys.end(), [&](const ShapeKey& key) { return key.column == touched; });
  };
  const std::vector<std::string>& partition = schema.partition_keys;
  if (std::any_of(partition.begin(), partition.end(), is_key)) return TouchedRead::kInPart;
  if (!schema.has_primary_key()) return TouchedRead::kWhole;
  const std::vector<std::string>& primary = schema.primary_keys;
  if (std::all_of(primary.begin(), primary.end(), is_key)) return TouchedRead::kByKey;
  return is_key(schema.TrimmedPrimaryKeys()[0]) ? TouchedRead::kInPart : TouchedRead::kWhole;
}

// What a step of touched keys reads of a branch's i-th source when another one has changed.
std::string ExplainRead(const StagePlan& plan, size_t branch, size_t i) {
  switch (plan.reads[branch][i]) {
    case TouchedRead::kByKey: return ", its primary key";
    case TouchedRead::kInPart: return ", read in part";
    case TouchedRead::kWhole: break;
  }
  const auto wanted = plan.copies_wanted.find(plan.branches[branch].sources[i].ToString());
  return wanted == plan.copies_wanted.end() ? ", read as a whole"
                                            : ", read as a whole: of a copy by " + wanted->second.column +
                                                  " a part would be read (SET 'copies' = 'true')";
}

// The tables that the branches read, each once, and how.
Status ReadTables(const StageRoom& room, StagePlan* plan, std::vector<Table>* tables) {
  plan->tables.clear();
  plan->reads.clear();
  tables->clear();
  for (const QueryBranch& branch : plan->branches) {
    std::vector<TouchedRead>& reads = plan->reads.emplace_back();
    for (size_t i = 0; i < branch.sources.size(); ++i) {
      const ShapeSource& source = branch.sources[i];
      if (!IsIn(plan->tables, source.ToString())) {
        plan->tables.push_back(source.ToString());
        HEADRACE_ASSIGN_OR_RETURN(Table table, room.open(source.ToString(), Access::kRead));
        tables->push_back(std::move(table));
      }
      reads.push_back(ReadOf(branch.keys[i], *(*tables)[plan->TableOf(source)].schema,
                             plan->CopyNamed(source.ToString())));
    }
  }
  return Status::OK();
}

// Of a branch's i-th source; nothing: no copy would be read in part.
std::optional<KeyedCopy> CopyToRead(const StagePlan& plan, size_t b, size_t i, const Table& table) {
  const QueryBranch& branch = plan.branches[b];
  const bool by_touched_keys = !branch.row_wise && !branch.is_lookup && !branch.folds;
  if (!by_touched_keys || plan.reads[b][i] != TouchedRead::kWhole) return std::nullopt;
  for (const ShapeKey& key : branch.keys[i]) {
    auto copy = key.column ? MakeKeyedCopy(table, *key.column) : std::nullopt;
    if (copy) return copy;
  }
  return std::nullopt;
}

// A table that is read in several ways has no copy: its changes and the copy's would be taken in one after the other, each half of one move.
void FindCopiesWanted(const std::vector<Table>& tables, StagePlan* plan) {
  std::map<std::string, std::optional<KeyedCopy>> copies;
  for (size_t b = 0; b < plan->branches.size(); ++b) {
    for (size_t i = 0; i < plan->branches[b].sources.size(); ++i) {
      const size_t table = plan->TableOf(plan->branches[b].sources[i]);
      const auto copy = CopyToRead(*plan, b, i, tables[table]);
      const auto known = copies.emplace(plan->tables[table], copy).first;
      if (!copy || (known->second && known->second->column != copy->column)) known->second = std::nullopt;
    }
  }
  plan->copies_wanted.clear();
  for (auto& [table, copy] : copies) {
    if (copy) plan->copies_wanted.emplace(table, *std::move(copy));
  }
}

// Puts copies in the place of the tables that the query names. Whether there are any.
bool ReadCopies(const std::vector<KeyedCopy>& copies, StagePlan* plan) {
  for (const KeyedCopy& copy : copies) {
    const auto wanted = plan->copies_wanted.find(copy.source);
    if (wanted != plan->copies_wanted.end() && wanted->second.name == copy.name) plan->copies.push_back(copy);
  }
  return !plan->copies.empty();
}

// " (of db.orders its copy …, which lacks …)", for messages about columns that a query could name in the table.
std::string ReadByCopies(const StageRoom& room, const StagePlan& plan) {
  std::string text;
  for (const KeyedCopy& copy : plan.copies) {
    const auto source = room.open(copy.source, Access::kRead);
    std::vector<std::string> missing;
    for (const std::string& column : source.ok() ? source->schema->ColumnNames() : copy.columns) {
      if (!IsIn(copy.columns, column)) missing.push_back(column);
    }
    if (!missing.empty())
      text += " (of " + copy.source + " by its copy " + copy.name + ", which was made without " +
              Joined(missing) + ": to read these, drop the copy and say --rebuild)";
  }
  return text;
}

// What the query reads, and how: of plan->copies what these have of the tables that it names.
Status ShapeQuery(QueryBinding* binding, const StageRoom& room, const std::string& query, StagePlan* plan,
                  std::vector<Table>* tables) {
  const auto copy_of = [&](const std::string& name) {
    return std::find_if(plan->copies.begin(), plan->copies.end(),
                        [&](const KeyedCopy& copy) { return copy.source == name; });
  };
  const auto columns_of = [&](const std::string& database,
                              const std::string& table) -> Result<std::vector<std::string>> {
    const auto copy = copy_of(database + "." + table);
    if (copy != plan->copies.end()) return copy->columns;
    HEADRACE_ASSIGN_OR_RETURN(const Table source, room.open(database + "." + table, Access::kRead));
    return source.schema->ColumnNames();
  };
  HEADRACE_ASSIGN_OR_RETURN(plan->branches, binding->session()->Shape(query, columns_of));
  for (QueryBranch& branch : plan->branches) {
    for (ShapeSource& source : branch.sources) {
      const auto copy = copy_of(source.ToString());
      if (copy != plan->copies.end()) source.table = copy->name.substr(source.database.size() + 1);
    }
  }
  HEADRACE_RETURN_NOT_OK(ReadTables(room, plan, tables));
  FindCopiesWanted(*tables, plan);
  return Status::OK();
}

// The window by which EMIT ON WINDOW CLOSE goes.
Result<WindowClose> PlanWindowClose(const StagePlan& plan, const std::vector<Table>& tables) {
  constexpr char kClause[] = "EMIT ON WINDOW CLOSE";
  const QueryBranch& branch = plan.branches[0];
  if (plan.branches.size() != 1 || branch.sources.size() != 1)
    return Unsupported(kClause,
                       " goes by the watermark of one table, and the query reads several or one twice; "
                       "insert these into a table of its own that declares a watermark, and group that");
  const Table& source = tables[0];
  const auto declared = WatermarkOf(source.schema->options);
  if (!declared.ok()) return WithContext("the watermark of " + source.name, declared.status());
  if (!*declared)
    return Unsupported(
        kClause, " needs the watermark of ", source.name,
        ", which declares none; declare it in CREATE TABLE by WATERMARK FOR made AS made - INTERVAL '5' "
        "SECOND of its column of time, or by its options ",
        kWatermarkRowtime, ", ", kWatermarkExpression, " and ", kWatermarkType);
  const int place = source.schema->FieldIndex((*declared)->rowtime);
  if (place < 0 || source.schema->fields[static_cast<size_t>(place)].type.root != TypeRoot::kTimestamp)
    return Unsupported(
        kClause, ": the watermark of ", source.name, " is of ", (*declared)->rowtime, ", which is ",
        place < 0 ? "no column" : "a " + ToSql(source.schema->fields[static_cast<size_t>(place)].type),
        ", and windows are of a TIMESTAMP; insert the table into one that declares its watermark "
        "of such a column");
  std::vector<ShapeWindow> windows;
  for (const ShapeWindow& window : branch.windows) {
    if (window.column == (*declared)->rowtime) windows.push_back(window);
  }
  if (windows.size() != 1)
    return Unsupported(kClause,
                       windows.empty() ? " needs a window" : " goes by one window, and there are several",
                       " of ", (*declared)->rowtime, ", the time of ", source.name,
                       "'s watermark, among the groups that the query gives: GROUP BY date_trunc('hour', ",
                       QuotedName((*declared)->rowtime), ") or time_bucket(INTERVAL '5 minutes', ",
                       QuotedName((*declared)->rowtime), ")");
  if (!windows[0].unfit.empty())
    return Unsupported(kClause, " closes a window a size after its beginning: ", windows[0].unfit);
  return WindowClose{std::move(windows[0]), (*declared)->delay_ms};
}

}  // namespace

const KeyedCopy* StagePlan::CopyNamed(const std::string& table) const {
  const auto copy =
      std::find_if(copies.begin(), copies.end(), [&](const KeyedCopy& one) { return one.name == table; });
  return copy == copies.end() ? nullptr : &*copy;
}

std::string StagePlan::SelectAll(const ShapeSource& source) const {
  const KeyedCopy* copy = CopyNamed(source.ToString());
  if (copy == nullptr) return "SELECT *";
  std::string columns;
  for (const std::string& column : copy->columns)
    columns += (columns.empty() ? "" : ", ") + QuotedName(column);
  return "SELECT " + columns;
}

size_t StagePlan::TableOf(const ShapeSource& source) const {
  return static_cast<size_t>(std::find(tables.begin(), tables.end(), source.ToString()) - tables.begin());
}

bool StagePlan::Follows(const std::string& table) const {
  return std::find(tables.begin(), tables.end(), table) != tables.end() && !LooksUp(table);
}

bool StagePlan::LooksUp(const std::string& table) const {
  return std::any_of(branches.begin(), branches.end(), [&](const QueryBranch& branch) {
    return std::any_of(branch.sources.begin(), branch.sources.end(), [&](const ShapeSource& source) {
      return source.is_lookup && source.ToString() == table;
    });
  });
}

Result<StagePlan> PlanStage(QueryBinding* binding, const InsertText& insert, std::string job,
                            const StageRoom& room, const UniqueColumns& known,
                            const std::vector<KeyedCopy>& copies) {
  const std::string doing = "planning INSERT INTO " + insert.name;
  StagePlan plan;
  plan.target = insert.name;
  plan.query = insert.query;
  plan.job = std::move(job);
  const auto opened = room.open(insert.name, Access::kWrite);
  if (!opened.ok()) return WithContext(doing, opened.status());
  const Table& target = *opened;
  plan.columns = insert.columns.empty() ? target.schema->ColumnNames() : insert.columns;
  std::vector<Table> tables;
  Status shaped = ShapeQuery(binding, room, insert.query, &plan, &tables);
  if (shaped.ok() && !insert.on_window_close && ReadCopies(copies, &plan))
    shaped = ShapeQuery(binding, room, insert.query, &plan, &tables);
  if (!shaped.ok()) return WithContext(doing, shaped);
  if (insert.on_window_close) {
    auto closes = PlanWindowClose(plan, tables);
    if (!closes.ok()) return WithContext(doing, closes.status());
    plan.closes = std::move(closes).ValueUnsafe();
    plan.copies_wanted.clear();  // windows go by times
  }
  Status checked = CheckColumns(plan, target);
  std::vector<std::vector<DataField>> given;
  for (const QueryBranch& branch : plan.branches) {
    if (!checked.ok()) break;
    auto bound = binding->Bind(plan, branch, tables, target);
    checked = bound.status();
    if (checked.ok()) given.push_back(std::move(bound).ValueUnsafe());
  }
  const StageCheck check(plan, target, tables, given, known);
  if (checked.ok()) checked = check.Check();
  if (!checked.ok()) return WithContext(doing + ReadByCopies(room, plan), checked);
  plan.adds = check.Adds();
  plan.unique_columns = check.UniqueOfTarget();
  std::string statement = plan.target + '\n' + Joined(plan.columns) + '\n' + plan.query;
  if (plan.closes) statement += "\nEMIT ON WINDOW CLOSE by " + plan.closes->window.column;
  for (const KeyedCopy& copy : plan.copies) statement += "\n" + copy.source + " by " + copy.name;
  plan.hash = HexHash(statement);
  return plan;
}

std::string Explain(const StagePlan& plan) {
  std::string text = "INSERT INTO " + plan.target + "  (job " + plan.job + ")\n";
  for (size_t b = 0; b < plan.branches.size(); ++b) {
    const QueryBranch& branch = plan.branches[b];
    if (branch.row_wise) {
      text += "  row by row: the changes of " + branch.sources[0].ToString() +
              " go through the query, kinds and order kept\n";
      continue;
    }
    if (branch.is_lookup) {
      text += "  by lookup: each change of " + branch.sources[0].ToString() +
              " is joined with the other tables as they stand then, whose own changes change nothing\n";
    } else if (plan.adds) {
      text += "  by parts: the answer to new rows is added to what the target has\n";
    } else if (branch.folds) {
      text +=
          "  by groups: what came and went is added to them; one whose least or greatest row went is "
          "answered "
          "again\n";
    } else if (branch.keys[0].empty()) {
      text += "  as a whole: any change makes the whole query run again\n";
    } else {
      text += "  by touched keys: what changed tells the keys, and the query runs again for these\n";
    }
    if (plan.closes)
      text += "  a window's row comes once " + plan.closes->window.column + " of " +
              branch.sources[0].ToString() + " has been seen " + std::to_string(plan.closes->delay_ms) +
              " ms past the window's end\n";
    for (size_t i = 0; i < branch.sources.size(); ++i) {
      text += "    " + branch.sources[i].ToString();
      for (size_t k = 0; k < branch.keys[i].size(); ++k)
        text += (k == 0 ? "  by " : ", ") + branch.keys[i][k].text;
      for (const LookupKey& key : branch.sources[i].lookup_keys)
        text += (&key == branch.sources[i].lookup_keys.data() ? "  looked up by " : ", ") + key.column +
                " = " + key.text;
      if (plan.closes)
        text += ", its rows of these times";
      else if (!branch.is_lookup && !plan.adds && !branch.folds && !branch.keys[i].empty())
        text += ExplainRead(plan, b, i);
      text += "\n";
    }
  }
  return text;
}

}  // namespace headrace::pipeline
