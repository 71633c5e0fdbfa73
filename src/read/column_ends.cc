#include "read/column_ends.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "catalog/snapshots.h"
#include "file/evolve.h"

namespace headrace {
namespace {

constexpr int64_t kShare = 8;

struct FileEnd {
  Value bound;  // null: unknown
  int64_t rows = 0;
};

// Nothing for a file whose rows all have null.
Result<std::optional<FileEnd>> EndOfFile(const Table& table, const DataFileMeta& file, const DataField& field,
                                         bool greatest) {
  HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<const TableSchema> written,
                            table.schema_by_id(file.schema_id));
  FileEnd end{{}, file.row_count};
  const DataField* then = FindFieldById(written->fields, field.id);
  if (then == nullptr) return std::nullopt;
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<ColumnStats> columns,
                            ReadStats(file.value_stats, file.value_stats_columns, written->fields));
  const ColumnStats stats =
      EvolveStats(columns[static_cast<size_t>(then - written->fields.data())], then->type, field.type);
  if (stats.all_null(file.row_count)) return std::nullopt;
  end.bound = greatest ? stats.max : stats.min;
  return end;
}

}  // namespace

Result<std::optional<RowCondition>> EndOfColumn(const Table& table, const Snapshot& snapshot,
                                                const std::string& column, bool greatest) {
  const int place = table.schema->FieldIndex(column);
  if (place < 0) return NotFound("table ", table.name, " has no column ", column);
  const DataField& field = table.schema->fields[static_cast<size_t>(place)];
  if (!HasPlainOrder(field.type.root)) return std::nullopt;
  std::vector<FileEnd> ends;
  int64_t rows = 0;
  HEADRACE_RETURN_NOT_OK(VisitLiveFiles(table, snapshot, {}, [&](ManifestEntry&& entry) -> Status {
    rows += entry.file.row_count;
    HEADRACE_ASSIGN_OR_RETURN(std::optional<FileEnd> end, EndOfFile(table, entry.file, field, greatest));
    if (end) ends.push_back(*std::move(end));
    return Status::OK();
  }));
  // Unknown ends may be anywhere: first.
  std::sort(ends.begin(), ends.end(), [&](const FileEnd& a, const FileEnd& b) {
    if (IsNull(a.bound) || IsNull(b.bound)) return IsNull(a.bound) && !IsNull(b.bound);
    return greatest ? CompareValues(a.bound, b.bound) > 0 : CompareValues(a.bound, b.bound) < 0;
  });
  int64_t beyond = 0;
  for (size_t i = 0; i < ends.size(); ++i) {
    beyond += ends[i].rows;
    if (beyond <= rows / kShare) continue;
    const bool can_tell = i > 0 && !IsNull(ends[i].bound);
    if (!can_tell) return std::nullopt;
    return RowCondition{
        column, greatest ? RowCondition::Is::kGreater : RowCondition::Is::kLess, {ends[i].bound}};
  }
  return std::nullopt;
}

}  // namespace headrace
