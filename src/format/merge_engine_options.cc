#include "format/merge_engine_options.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "format/option_reader.h"

namespace headrace {
namespace {

using Options = std::map<std::string, std::string>;

struct NamedFunction {
  std::string_view name;
  AggregateFunction function;
};
constexpr std::array<NamedFunction, 17> kBuilt = {
    {{"sum", AggregateFunction::kSum},
     {"product", AggregateFunction::kProduct},
     {"max", AggregateFunction::kMax},
     {"min", AggregateFunction::kMin},
     {"last_value", AggregateFunction::kLastValue},
     {"last_non_null_value", AggregateFunction::kLastNonNullValue},
     {"first_value", AggregateFunction::kFirstValue},
     {"first_non_null_value", AggregateFunction::kFirstNonNullValue},
     {"first_not_null_value", AggregateFunction::kFirstNonNullValue},
     {"listagg", AggregateFunction::kListagg},
     {"bool_and", AggregateFunction::kBoolAnd},
     {"bool_or", AggregateFunction::kBoolOr},
     {"collect", AggregateFunction::kCollect},
     {"merge_map", AggregateFunction::kMergeMap},
     {"nested_update", AggregateFunction::kNestedUpdate},
     {"rbm32", AggregateFunction::kRbm32},
     {"rbm64", AggregateFunction::kRbm64}}};
constexpr std::array<std::string_view, 4> kNotBuilt = {"theta_sketch", "hll_sketch", "nested_partial_update",
                                                       "merge_map_with_keytime"};

const std::string* Find(const Options& options, const std::string& key) {
  const auto option = options.find(key);
  return option == options.end() ? nullptr : &option->second;
}

Status ReadBool(const Options& options, const std::string& key, bool* out) {
  return OptionReader(options).Bool(key, out);
}

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const DataType& TypeOf(const TableSchema& schema, const std::string& column) {
  return schema.fields[static_cast<size_t>(schema.FieldIndex(column))].type;
}

bool IsNumeric(const DataType& type) {
  return type.root >= TypeRoot::kTinyInt && type.root <= TypeRoot::kDecimal;
}

// The types a function takes, and how a refusal calls them.
std::pair<bool, std::string_view> Takes(AggregateFunction function, const DataType& type) {
  switch (function) {
    case AggregateFunction::kSum:
    case AggregateFunction::kProduct: return {IsNumeric(type), "a numeric type"};
    case AggregateFunction::kMax:
    case AggregateFunction::kMin: return {!type.is_nested(), "a type with an order"};
    case AggregateFunction::kListagg:
      return {type.root == TypeRoot::kVarChar && type.length == kMaxLength, "STRING"};
    case AggregateFunction::kBoolAnd:
    case AggregateFunction::kBoolOr: return {type.root == TypeRoot::kBoolean, "BOOLEAN"};
    case AggregateFunction::kCollect: return {type.root == TypeRoot::kArray, "an ARRAY"};
    case AggregateFunction::kMergeMap: return {type.root == TypeRoot::kMap, "a MAP"};
    case AggregateFunction::kNestedUpdate:
      return {type.root == TypeRoot::kArray && type.element->root == TypeRoot::kRow, "an ARRAY of ROW"};
    case AggregateFunction::kRbm32:
    case AggregateFunction::kRbm64: return {type.root == TypeRoot::kVarBinary, "VARBINARY"};
    case AggregateFunction::kLastValue:
    case AggregateFunction::kLastNonNullValue:
    case AggregateFunction::kFirstValue:
    case AggregateFunction::kFirstNonNullValue:
    case AggregateFunction::kNotBuilt: return {true, ""};
  }
  return {true, ""};
}

Result<AggregateFunction> FunctionOf(const std::string& option, const std::string& name, Access access) {
  for (const NamedFunction& built : kBuilt) {
    if (built.name == name) return built.function;
  }
  if (std::find(kNotBuilt.begin(), kNotBuilt.end(), name) != kNotBuilt.end()) {
    if (access == Access::kRead) return AggregateFunction::kNotBuilt;
    return Unsupported("table option '", option, "' = '", name,
                       "': this function is not built, so the table cannot be written");
  }
  std::string known;
  for (const NamedFunction& built : kBuilt) known += (known.empty() ? "" : ", ") + std::string(built.name);
  return Invalid("table option '", option, "' = '", name, "': there is no such function; there are ", known);
}

Status CheckNestedKey(const std::string& column, const DataType& type, const AggregateRule& rule) {
  for (const std::string& key : rule.nested_key) {
    const std::vector<DataField>& fields = type.element->fields;
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&](const DataField& candidate) { return candidate.name == key; });
    if (field == fields.end()) {
      return Invalid("table option 'fields.", column, ".nested-key' names '", key, "', which the rows of '",
                     column, "' do not have");
    }
    if (field->type.is_nested()) {
      return Unsupported("table option 'fields.", column, ".nested-key': field '", key,
                         "' has a nested type");
    }
  }
  return Status::OK();
}

// The rule of a column that has a function by `option`.
Result<AggregateRule> RuleOf(const Options& options, const TableSchema& schema, const std::string& column,
                             const std::string& option, const std::string& name, Access access) {
  AggregateRule rule;
  rule.name = name;
  HEADRACE_ASSIGN_OR_RETURN(rule.function, FunctionOf(option, name, access));
  const DataType& type = TypeOf(schema, column);
  const auto [takes, wanted] = Takes(rule.function, type);
  if (!takes) {
    return Invalid("table option '", option, "' = '", name, "': column '", column, "' must have ", wanted,
                   "; it is ", ToSql(type));
  }
  const std::string prefix = "fields." + column + ".";
  HEADRACE_RETURN_NOT_OK(ReadBool(options, prefix + "ignore-retract", &rule.ignore_retract));
  HEADRACE_RETURN_NOT_OK(ReadBool(options, prefix + "distinct", &rule.distinct));
  if (const std::string* text = Find(options, prefix + "list-agg-delimiter")) rule.delimiter = *text;
  if (const std::string* text = Find(options, prefix + "nested-key")) rule.nested_key = SplitList(*text);
  HEADRACE_RETURN_NOT_OK(OptionReader(options).Int(prefix + "count-limit", &rule.count_limit, 0));
  if (rule.function == AggregateFunction::kNestedUpdate) {
    HEADRACE_RETURN_NOT_OK(CheckNestedKey(column, type, rule));
  }
  return rule;
}

// The function that a column has by its own option or the default, and the option that says so.
std::optional<std::pair<std::string, std::string>> FunctionOption(const Options& options,
                                                                  const std::string& column) {
  for (std::string key :
       {"fields." + column + ".aggregate-function", std::string("fields.default-aggregate-function")}) {
    if (const std::string* name = Find(options, key)) return std::pair(std::move(key), *name);
  }
  return std::nullopt;
}

Status ReadAggregation(const Options& options, const TableSchema& schema, Access access, TableOptions* out) {
  constexpr const char* kRemove = "aggregation.remove-record-on-delete";
  HEADRACE_RETURN_NOT_OK(ReadBool(options, kRemove, &out->merge_rules.remove_on_delete));
  for (const DataField& field : schema.fields) {
    if (!IsMerged(schema, field.name)) continue;
    std::pair<std::string, std::string> function = {"merge-engine", "last_non_null_value"};
    if (Contains(out->sequence_fields, field.name)) {
      function.second = "last_value";
    } else if (auto chosen = FunctionOption(options, field.name)) {
      function = *std::move(chosen);
    }
    HEADRACE_ASSIGN_OR_RETURN(AggregateRule rule,
                              RuleOf(options, schema, field.name, function.first, function.second, access));
    if (out->merge_rules.remove_on_delete && rule.ignore_retract) {
      return Invalid("table options '", kRemove, "' and 'fields.", field.name,
                     ".ignore-retract' contradict each other");
    }
    out->merge_rules.aggregates[field.name] = std::move(rule);
  }
  return Status::OK();
}

Status CheckGroupColumn(const TableSchema& schema, const std::string& option, const std::string& column) {
  if (schema.FieldIndex(column) < 0)
    return Invalid("table option '", option, "': column '", column, "' does not exist");
  if (Contains(schema.primary_keys, column)) {
    return Invalid("table option '", option, "': column '", column,
                   "' belongs to the primary key, which no sequence group may name");
  }
  return Status::OK();
}

Status ReadGroups(const Options& options, const TableSchema& schema, MergeRules* rules) {
  constexpr std::string_view kPrefix = "fields.";
  constexpr std::string_view kSuffix = ".sequence-group";
  std::set<std::string> taken;
  for (const auto& [key, value] : options) {
    if (!key.starts_with(kPrefix) || !key.ends_with(kSuffix) || key.size() <= kPrefix.size() + kSuffix.size())
      continue;
    SequenceGroup group;
    group.order = SplitList(key.substr(kPrefix.size(), key.size() - kPrefix.size() - kSuffix.size()));
    group.columns = SplitList(value);
    std::vector<std::string> all = group.order;
    all.insert(all.end(), group.columns.begin(), group.columns.end());
    for (const std::string& column : all) {
      HEADRACE_RETURN_NOT_OK(CheckGroupColumn(schema, key, column));
      if (!taken.insert(column).second) {
        return Invalid("table option '", key, "': column '", column,
                       "' is named by more than one sequence group");
      }
    }
    std::erase_if(group.columns, [&](const std::string& column) { return !IsMerged(schema, column); });
    for (const std::string& column : group.order) {
      if (!TypeOf(schema, column).is_nested()) continue;
      return Unsupported("table option '", key, "': column '", column,
                         "' has a nested type and cannot order a sequence group");
    }
    rules->groups.push_back(std::move(group));
  }
  return Status::OK();
}

Status ReadRemovingGroups(const Options& options, bool ignore_delete, MergeRules* rules) {
  constexpr const char* kKey = "partial-update.remove-record-on-sequence-group";
  const std::string* text = Find(options, kKey);
  if (text == nullptr) return Status::OK();
  if (ignore_delete) return Invalid("table options 'ignore-delete' and '", kKey, "' contradict each other");
  for (const std::string& column : SplitList(*text)) {
    const auto group =
        std::find_if(rules->groups.begin(), rules->groups.end(),
                     [&](const SequenceGroup& candidate) { return Contains(candidate.order, column); });
    if (group == rules->groups.end()) {
      return Invalid("table option '", kKey, "': column '", column, "' orders no sequence group");
    }
    group->removes_row = true;
  }
  return Status::OK();
}

Status ReadPartialUpdate(const Options& options, const TableSchema& schema, Access access,
                         TableOptions* out) {
  constexpr const char* kRemove = "partial-update.remove-record-on-delete";
  MergeRules& rules = out->merge_rules;
  HEADRACE_RETURN_NOT_OK(ReadBool(options, kRemove, &rules.remove_on_delete));
  HEADRACE_RETURN_NOT_OK(ReadGroups(options, schema, &rules));
  HEADRACE_RETURN_NOT_OK(ReadRemovingGroups(options, out->ignore_delete, &rules));
  if (rules.remove_on_delete && out->ignore_delete)
    return Invalid("table options 'ignore-delete' and '", kRemove, "' contradict each other");
  if (rules.remove_on_delete && !rules.groups.empty())
    return Invalid("table option '", kRemove,
                   "' does not go with sequence groups; name the groups whose deletes remove a row by "
                   "'partial-update.remove-record-on-sequence-group'");
  std::vector<std::string> guarded;
  std::vector<std::string> ordering;
  for (const SequenceGroup& group : rules.groups) {
    guarded.insert(guarded.end(), group.columns.begin(), group.columns.end());
    ordering.insert(ordering.end(), group.order.begin(), group.order.end());
  }
  for (const DataField& field : schema.fields) {
    if (!IsMerged(schema, field.name) || Contains(ordering, field.name)) continue;
    const auto function = FunctionOption(options, field.name);
    if (!function.has_value()) continue;
    if (function->second != "last_non_null_value" && !Contains(guarded, field.name)) {
      return Invalid("table option '", function->first, "' = '", function->second, "': column '", field.name,
                     "' is in no sequence group, where alone partial-update aggregates; protect it by "
                     "'fields.<order column>.sequence-group' = '",
                     field.name, "'");
    }
    HEADRACE_ASSIGN_OR_RETURN(rules.aggregates[field.name],
                              RuleOf(options, schema, field.name, function->first, function->second, access));
  }
  return Status::OK();
}

Status CheckFirstRow(const TableOptions& options) {
  if (!options.sequence_fields.empty())
    return Invalid("table option 'sequence.field' does not go with 'merge-engine' = 'first-row'");
  return Status::OK();
}

Status ReadKindField(const Options& options, const TableSchema& schema, TableOptions* out) {
  const std::string* column = Find(options, "rowkind.field");
  if (column == nullptr) return Status::OK();
  if (schema.FieldIndex(*column) < 0)
    return Invalid("table option 'rowkind.field': column '", *column, "' does not exist");
  const DataType& type = TypeOf(schema, *column);
  if (type.root != TypeRoot::kVarChar && type.root != TypeRoot::kChar)
    return Invalid("table option 'rowkind.field': column '", *column, "' is ", ToSql(type),
                   "; it must hold text");
  out->kind_column = *column;
  return Status::OK();
}

Result<MergeEngine> EngineOf(const std::string& text) {
  const std::string name = LowerAscii(TrimAscii(text));
  if (name == "deduplicate") return MergeEngine::kDeduplicate;
  if (name == "partial-update") return MergeEngine::kPartialUpdate;
  if (name == "aggregation") return MergeEngine::kAggregation;
  if (name == "first-row") return MergeEngine::kFirstRow;
  return Invalid("table option 'merge-engine' = '", text,
                 "'; allowed are deduplicate, partial-update, aggregation, first-row");
}

}  // namespace

bool IsMerged(const TableSchema& schema, const std::string& column) {
  return !Contains(schema.primary_keys, column) && !Contains(schema.partition_keys, column);
}

bool CanRetract(AggregateFunction function) {
  switch (function) {
    case AggregateFunction::kSum:
    case AggregateFunction::kProduct:
    case AggregateFunction::kLastValue:
    case AggregateFunction::kLastNonNullValue:
    case AggregateFunction::kCollect:
    case AggregateFunction::kMergeMap:
    case AggregateFunction::kNestedUpdate: return true;
    case AggregateFunction::kMax:
    case AggregateFunction::kMin:
    case AggregateFunction::kFirstValue:
    case AggregateFunction::kFirstNonNullValue:
    case AggregateFunction::kListagg:
    case AggregateFunction::kBoolAnd:
    case AggregateFunction::kBoolOr:
    case AggregateFunction::kRbm32:
    case AggregateFunction::kRbm64:
    case AggregateFunction::kNotBuilt: return false;
  }
  return false;
}

Status ReadMergeEngine(const Options& options, const TableSchema& schema, Access access, TableOptions* out) {
  if (const std::string* engine = Find(options, "merge-engine")) {
    HEADRACE_ASSIGN_OR_RETURN(out->merge_engine, EngineOf(*engine));
  }
  HEADRACE_RETURN_NOT_OK(ReadBool(options, "ignore-update-before", &out->ignore_update_before));
  HEADRACE_RETURN_NOT_OK(ReadKindField(options, schema, out));
  if (!schema.has_primary_key()) return Status::OK();
  switch (out->merge_engine) {
    case MergeEngine::kDeduplicate: return Status::OK();
    case MergeEngine::kFirstRow: return CheckFirstRow(*out);
    case MergeEngine::kPartialUpdate: return ReadPartialUpdate(options, schema, access, out);
    case MergeEngine::kAggregation: return ReadAggregation(options, schema, access, out);
  }
  return Status::OK();
}

}  // namespace headrace
