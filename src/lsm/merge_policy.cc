#include "lsm/merge_policy.h"

namespace headrace {

MergePolicy MergePolicyOf(const TableOptions& options, bool drop_deletes) {
  MergePolicy policy;
  policy.engine = options.merge_engine;
  policy.sequence_columns = options.sequence_fields;
  policy.sequence_descending = options.sequence_descending;
  policy.ignore_delete = options.ignore_delete;
  policy.drop_deletes = drop_deletes;
  policy.rules = options.merge_rules;
  // The newest row wins, or the oldest, whatever is merged with it; only what is put together must not be counted twice.
  policy.lowest_level_alone = options.needs_lookup() && policy.combines();
  return policy;
}

Result<KeyOrder> SequenceOrderOf(const TableSchema& schema, const MergePolicy& policy) {
  std::vector<KeyOrder::Column> columns;
  for (const std::string& name : policy.sequence_columns) {
    const int index = schema.FieldIndex(name);
    if (index < 0)
      return Invalid("sequence.field names the column '", name, "', which the table does not have");
    columns.push_back(
        {schema.fields[static_cast<size_t>(index)].type, policy.sequence_descending, /*nullable=*/true});
  }
  return KeyOrder::Make(std::move(columns));
}

}  // namespace headrace
