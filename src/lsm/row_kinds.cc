#include "lsm/row_kinds.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "file/physical_columns.h"
#include "lsm/gather.h"

namespace headrace {

Result<std::shared_ptr<arrow::Array>> KindsOrInserts(const std::shared_ptr<arrow::Array>& kinds, int64_t rows,
                                                     arrow::MemoryPool* pool) {
  if (kinds == nullptr) {
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> bytes, arrow::AllocateBuffer(rows, pool));
    std::fill_n(bytes->mutable_data(), rows, static_cast<uint8_t>(RowKind::kInsert));
    return std::make_shared<arrow::Int8Array>(rows, std::move(bytes));
  }
  if (kinds->type_id() != arrow::Type::INT8 || kinds->length() != rows || kinds->null_count() > 0) {
    return Invalid("row kinds must be one int8 without null for each of the ", rows, " rows; found ",
                   kinds->length(), " of type ", kinds->type()->ToString(), " with ", kinds->null_count(),
                   " nulls");
  }
  const int8_t* bytes = static_cast<const arrow::Int8Array&>(*kinds).raw_values();
  const int8_t* wrong = std::find_if(bytes, bytes + rows, [](int8_t kind) { return kind < 0 || kind > 3; });
  if (wrong == bytes + rows) return kinds;
  return Invalid("row ", wrong - bytes, " has the row kind ", static_cast<int>(*wrong),
                 "; allowed are 0 to 3 (+I, -U, +U, -D)");
}

Status LeaveOutRetractions(std::shared_ptr<arrow::RecordBatch>* rows, std::shared_ptr<arrow::Array>* kinds,
                           arrow::MemoryPool* pool) {
  const int8_t* bytes = static_cast<const arrow::Int8Array&>(**kinds).raw_values();
  std::vector<RowRef> kept;
  for (uint32_t row = 0; row < (*kinds)->length(); ++row) {
    if (!IsRetract(bytes[row])) kept.push_back({0, row});
  }
  if (static_cast<int64_t>(kept.size()) == (*kinds)->length()) return Status::OK();
  if (kept.empty()) {
    *rows = (*rows)->Slice(0, 0);
    *kinds = (*kinds)->Slice(0, 0);
    return Status::OK();
  }
  HEADRACE_ASSIGN_OR_RETURN(*rows, GatherRows({*rows}, kept, pool));
  const std::vector<std::shared_ptr<arrow::Array>> sources = {*kinds};
  HEADRACE_ASSIGN_OR_RETURN(*kinds, GatherColumn(sources, kept, pool));
  return Status::OK();
}

}  // namespace headrace
