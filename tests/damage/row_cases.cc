// Damage that only the rows tell: with --data.
#include <cstdlib>
#include <memory>
#include <utility>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>

#include "damage_cases.h"

namespace headrace {
namespace {

using Table = const ForgedTable&;
using Entries = std::vector<ManifestEntry>;

// An entry of the latest delta with at least three rows.
size_t Large(Table t) {
  const Entries entries = t.Delta(t.LatestId());
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].kind == EntryKind::kAdd && entries[i].file.row_count >= 3) return i;
  }
  std::abort();
}

std::function<void(Table)> Entry(std::function<void(ManifestEntry*)> edit) {
  return [edit = std::move(edit)](Table t) {
    const size_t index = Large(t);
    t.EditDelta(t.LatestId(), [&](Entries* entries) { edit(&entries->at(index)); });
  };
}

// Row 1 of a column holds what row 0 holds.
std::shared_ptr<arrow::RecordBatch> Repeated(const arrow::RecordBatch& rows, const std::string& column) {
  const int index = rows.schema()->GetFieldIndex(column);
  const auto old = rows.column(index);
  std::unique_ptr<arrow::ArrayBuilder> builder;
  if (!arrow::MakeBuilder(arrow::default_memory_pool(), old->type(), &builder).ok()) std::abort();
  for (int64_t row = 0; row < old->length(); ++row) {
    if (!builder->AppendScalar(**old->GetScalar(row == 1 ? 0 : row)).ok()) std::abort();
  }
  return *rows.SetColumn(index, rows.schema()->field(index), *builder->Finish());
}

std::shared_ptr<arrow::RecordBatch> WithText(const arrow::RecordBatch& rows, const std::string& column,
                                             const std::string& text) {
  const int index = rows.schema()->GetFieldIndex(column);
  arrow::StringBuilder builder;
  for (int64_t row = 0; row < rows.num_rows(); ++row) {
    if (!builder.Append(text).ok()) std::abort();
  }
  return *rows.SetColumn(index, rows.schema()->field(index), *builder.Finish());
}

// Row 0 gets another kind; it is no delete.
std::shared_ptr<arrow::RecordBatch> WithKind(const arrow::RecordBatch& rows, int8_t kind) {
  const int index = rows.schema()->GetFieldIndex("_VALUE_KIND");
  const auto& old = static_cast<const arrow::Int8Array&>(*rows.column(index));
  arrow::Int8Builder builder;
  for (int64_t row = 0; row < old.length(); ++row) {
    if (!builder.Append(row == 0 ? kind : old.Value(row)).ok()) std::abort();
  }
  return *rows.SetColumn(index, rows.schema()->field(index), *builder.Finish());
}

std::function<void(Table)> Rows(ForgedTable::EditRowsFunction edit) {
  return [edit = std::move(edit)](Table t) { t.RewriteRows(Large(t), edit); };
}

void AddPageCases(std::vector<DamageCase>* cases) {
  for (const char* table : {"keyed", "append", "append-bucketed/t", "lsm-compacted/t", "types-parquet/pk"}) {
    std::string name = "FlippedBitIn_" + std::string(table);
    for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    cases->push_back({std::move(name),
                      table,
                      {"data-file-unreadable"},
                      [](Table t) {
                        const std::string file = t.FileOf(t.Live().at(0));
                        t.FlipBit(file, 4 + 50);  // behind the magic and a page's head
                      },
                      /*data=*/true});
  }
  cases->push_back({"FlippedBitThatIsNotLookedFor", "keyed", {}, [](Table t) {
                      t.FlipBit(t.FileOf(t.Live().at(0)), 54);
                    }});
  cases->push_back({"WrongRowCount",
                    "keyed",
                    {"delta-record-count-wrong", "row-count-wrong", "total-record-count-wrong"},
                    Entry([](ManifestEntry* entry) { entry->file.row_count += 1; }),
                    /*data=*/true});
  cases->push_back({"WrongRowCountWithoutALook",
                    "append",
                    {"delta-record-count-wrong", "total-record-count-wrong"},
                    Entry([](ManifestEntry* entry) { entry->file.row_count += 1; })});
}

void AddFactCases(std::vector<DamageCase>* cases) {
  const auto add = [&](const char* name, const char* table, const char* kind,
                       std::function<void(ManifestEntry*)> edit) {
    cases->push_back({name, table, {kind}, Entry(std::move(edit)), /*data=*/true});
  };
  add("FalseDeleteCount", "keyed", "delete-count-wrong",
      [](ManifestEntry* entry) { *entry->file.delete_row_count += 1; });
  add("FalseLargestSequenceNumber", "keyed", "sequence-range-wrong",
      [](ManifestEntry* entry) { entry->file.max_sequence -= 1; });
  add("FalseSmallestSequenceNumber", "keyed", "sequence-range-wrong",
      [](ManifestEntry* entry) { entry->file.min_sequence += 1; });
  add("FalseSmallestKey", "keyed", "key-range-wrong",
      [](ManifestEntry* entry) { entry->file.min_key = entry->file.max_key; });
  add("FalseLargestKey", "keyed", "key-range-wrong",
      [](ManifestEntry* entry) { entry->file.max_key = entry->file.min_key; });
  add("FalseKeyStatistics", "keyed", "key-stats-wrong",
      [](ManifestEntry* entry) { entry->file.key_stats.max_values = entry->file.key_stats.min_values; });
  add("FalseValueStatistics", "keyed", "value-stats-wrong",
      [](ManifestEntry* entry) { entry->file.value_stats.max_values = entry->file.value_stats.min_values; });
  add("FalseValueStatisticsOfAnAppendTable", "append", "value-stats-wrong",
      [](ManifestEntry* entry) { entry->file.value_stats.min_values = entry->file.value_stats.max_values; });
  add("FalseValueStatisticsOfJava", "append-bucketed/t", "value-stats-wrong",
      [](ManifestEntry* entry) { entry->file.value_stats.max_values = entry->file.value_stats.min_values; });
  add("FalseNullCount", "keyed", "null-count-wrong",
      [](ManifestEntry* entry) { *entry->file.value_stats.null_counts.at(2) += 1; });
  add("FalseNullCountOfAnAppendTable", "append", "null-count-wrong",
      [](ManifestEntry* entry) { *entry->file.value_stats.null_counts.at(2) -= 1; });
  cases->push_back({"FalseDeleteCountOfAChangelogFile",
                    "keyed",
                    {"delete-count-wrong"},
                    [](Table t) {
                      t.EditChangelog(2, [](Entries* entries) {
                        int64_t& deletes = *entries->at(0).file.delete_row_count;
                        deletes = deletes == 0 ? 1 : 0;
                      });
                    },
                    /*data=*/true});
}

void AddValueCases(std::vector<DamageCase>* cases) {
  const auto add = [&](const char* name, const char* table, std::vector<std::string> kinds,
                       ForgedTable::EditRowsFunction edit) {
    cases->push_back({name, table, std::move(kinds), Rows(std::move(edit)), /*data=*/true});
  };
  add("KeyThatComesTwice", "keyed", {"key-order-wrong"},
      [](const arrow::RecordBatch& rows) { return Repeated(*Repeated(rows, "_KEY_id"), "id"); });
  add("KeyColumnThatDiffersFromItsValue", "keyed", {"key-column-differs"},
      [](const arrow::RecordBatch& rows) { return Repeated(rows, "id"); });
  add("UnknownRowKind", "keyed", {"row-kind-unknown"},
      [](const arrow::RecordBatch& rows) { return WithKind(rows, 8); });
  add("NegativeRowKind", "keyed", {"row-kind-unknown"},
      [](const arrow::RecordBatch& rows) { return WithKind(rows, -128); });
  add("RowsOfAnotherPartition", "keyed", {"row-in-wrong-partition", "value-stats-wrong"},
      [](const arrow::RecordBatch& rows) { return WithText(rows, "day", "wed"); });
  add("FileReplacedByOneOfEqualSize", "keyed", {"key-range-wrong", "null-count-wrong", "row-count-wrong"},
      [](const arrow::RecordBatch& rows) { return rows.Slice(1); });
  cases->push_back({"FilesSwappedBetweenBuckets",
                    "append",
                    {"key-in-wrong-bucket"},
                    [](Table t) {
                      t.EditDelta(2, [&](Entries* entries) {
                        ManifestEntry& one = entries->at(0);
                        for (ManifestEntry& other : *entries) {
                          if (other.partition != one.partition || other.bucket == one.bucket) continue;
                          const std::string bytes = t.Read(t.FileOf(one));
                          t.Write(t.FileOf(one), t.Read(t.FileOf(other)));
                          t.Write(t.FileOf(other), bytes);
                          // Everything that is said of them goes along, but for names and buckets.
                          std::swap(one.file, other.file);
                          std::swap(one.file.name, other.file.name);
                          return;
                        }
                        std::abort();
                      });
                    },
                    /*data=*/true});
}

}  // namespace

void AddRowCases(std::vector<DamageCase>* cases) {
  AddPageCases(cases);
  AddFactCases(cases);
  AddValueCases(cases);
}

}  // namespace headrace
