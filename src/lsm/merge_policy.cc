#include "lsm/merge_policy.h"

namespace headrace {

MergePolicy MergePolicyOf(const TableOptions& options, bool drop_deletes) {
  MergePolicy policy;
  policy.engine = options.merge_engine;
  policy.sequence_columns = options.sequence_fields;
  policy.sequence_descending = options.sequence_descending;
  policy.ignore_delete = options.ignore_delete;
  policy.drop_deletes = drop_deletes;
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
