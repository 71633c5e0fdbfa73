// The public lookup: keys as text or as batches, in terms of read/table_lookup.h.
#include <algorithm>
#include <string_view>
#include <utility>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "api/open_table.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "base/uuid.h"
#include "catalog/snapshots.h"
#include "catalog/tags.h"
#include "read/scan.h"
#include "read/table_lookup.h"

namespace headrace {
namespace {

// A consumer that never moves: what every expiry leaves alone, with the snapshots after it.
class HeldSnapshot {
 public:
  static Result<std::unique_ptr<HeldSnapshot>> Take(const Table& table, SnapshotId snapshot) {
    auto held = std::make_unique<HeldSnapshot>(table.store, ConsumerPath(table, "lookup-" + NewUuid()));
    JsonWriter out;
    out.BeginObject().Field("nextSnapshot", snapshot.value).EndObject();
    const Status written = table.store->Replace(held->path_, std::move(out).Finish());
    if (!written.ok())
      return WithContext("holding snapshot " + std::to_string(snapshot.value) + " of table " + table.name,
                         written);
    return held;
  }

  HeldSnapshot(std::shared_ptr<Store> store, std::string path)
      : store_(std::move(store)), path_(std::move(path)) {}
  ~HeldSnapshot() { (void)store_->Delete(path_); }
  HeldSnapshot(const HeldSnapshot&) = delete;
  HeldSnapshot& operator=(const HeldSnapshot&) = delete;

 private:
  const std::shared_ptr<Store> store_;
  const std::string path_;
};

class PinnedLookup final : public Lookup {
 public:
  PinnedLookup(std::shared_ptr<SharedState> state, Table table, std::shared_ptr<arrow::Schema> schema,
               std::optional<int64_t> snapshot, std::unique_ptr<HeldSnapshot> held,
               std::unique_ptr<TableLookup> rows)
      : state_(std::move(state)),
        table_(std::move(table)),
        schema_(std::move(schema)),
        snapshot_(snapshot),
        held_(std::move(held)),
        rows_(std::move(rows)) {}

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }
  std::optional<int64_t> snapshot() const override { return snapshot_; }

  Result<std::shared_ptr<arrow::RecordBatch>> Get(
      const std::vector<std::pair<std::string, std::string>>& key) override {
    HEADRACE_ASSIGN_OR_RETURN(const std::vector<Value> values, KeyValues(table_, key));
    if (rows_ == nullptr) return nullptr;
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::RecordBatch> row, rows_->Find(values));
    if (row == nullptr) return nullptr;
    return arrow::RecordBatch::Make(schema_, row->num_rows(), row->column_data());
  }

  Result<LookupResult> GetMany(const arrow::RecordBatch& keys) override {
    HEADRACE_ASSIGN_OR_RETURN(const auto columns, KeyColumns(keys));
    LookupResult result;
    if (rows_ == nullptr || keys.num_rows() == 0) {
      result.row_of_key.assign(static_cast<size_t>(keys.num_rows()), -1);
      HEADRACE_ASSIGN_OR_RETURN(result.rows, arrow::RecordBatch::MakeEmpty(schema_));
      return result;
    }
    HEADRACE_ASSIGN_OR_RETURN(KeyedRows found, rows_->FindAll(columns));
    result.row_of_key = std::move(found.row_of_key);
    result.rows = arrow::RecordBatch::Make(schema_, found.rows->num_rows(), found.rows->column_data());
    return result;
  }

 private:
  // In primary-key order.
  Result<std::vector<std::shared_ptr<arrow::Array>>> KeyColumns(const arrow::RecordBatch& keys) const {
    const std::vector<std::string>& names = table_.schema->primary_keys;
    if (keys.num_columns() != static_cast<int>(names.size())) {
      return Invalid("looking up keys in table ", table_.name, ": the batch has ", keys.num_columns(),
                     " columns, the primary key is ", Joined(names));
    }
    std::vector<std::shared_ptr<arrow::Array>> columns;
    for (const std::string& name : names) {
      std::shared_ptr<arrow::Array> column = keys.GetColumnByName(name);
      if (column == nullptr) {
        return Invalid("looking up keys in table ", table_.name, ": the batch has no column ", name,
                       "; the primary key is ", Joined(names));
      }
      const auto wanted = ToArrowType(table_.schema->fields[table_.schema->FieldIndex(name)].type);
      if (!column->type()->Equals(*wanted)) {
        return Invalid("looking up keys in table ", table_.name, ", column ", name, ": found ",
                       column->type()->ToString(), ", the table has ", wanted->ToString());
      }
      columns.push_back(std::move(column));
    }
    return columns;
  }

  const std::shared_ptr<SharedState> state_;  // holds the cache
  const Table table_;
  const std::shared_ptr<arrow::Schema> schema_;
  const std::optional<int64_t> snapshot_;
  const std::unique_ptr<HeldSnapshot> held_;  // null: not asked for
  const std::unique_ptr<TableLookup> rows_;   // null: the table has no snapshot
};

using KeyText = std::vector<std::pair<std::string, std::string>>;

Result<KeyText> KeyOfJson(std::string_view line) {
  const Result<nlohmann::json> parsed = ParseJson(line, "the key");
  if (!parsed.ok()) return Invalid(parsed.status().message());
  if (!parsed->is_object()) return Invalid("the key ", line, " is not a JSON object");
  KeyText key;
  for (const auto& [column, value] : parsed->items()) {
    if (value.is_null() || value.is_structured())
      return Invalid("the key ", line, ": the value of ", column,
                     " is neither text nor a number nor a boolean");
    key.emplace_back(column, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return key;
}

}  // namespace

Result<KeyText> ParseKeyLine(std::string_view line) {
  constexpr std::string_view kSpace = " \t\r";
  const size_t begin = line.find_first_not_of(kSpace);
  if (begin != std::string_view::npos && line[begin] == '{') return KeyOfJson(line);
  KeyText key;
  for (size_t at = begin; at < line.size();) {
    const size_t end = std::min(line.find_first_of(kSpace, at), line.size());
    const std::string_view pair = line.substr(at, end - at);
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return Invalid("the key ", line, ": ", pair, " is not of the form column=value");
    key.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
    at = line.find_first_not_of(kSpace, end);
  }
  if (key.empty()) return Invalid("the key is empty; write column=value, or a JSON object");
  return key;
}

Result<std::unique_ptr<Lookup>> OpenTableLookup(std::shared_ptr<SharedState> state, const Table& table,
                                                const LookupOptions& options) {
  HEADRACE_ASSIGN_OR_RETURN(const std::optional<Snapshot> snapshot, SnapshotFor(table, options.snapshot));
  Table then = table;
  if (options.snapshot && snapshot) {
    HEADRACE_ASSIGN_OR_RETURN(then, TableAsOf(table, *snapshot));
  }
  if (!then.schema->has_primary_key())
    return Invalid("looking up keys in table ", table.name, ": it has no primary key; use read");
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Schema> schema, PublicSchema(then, options.columns));
  std::unique_ptr<TableLookup> rows;
  std::unique_ptr<HeldSnapshot> held;
  std::optional<int64_t> id;
  if (snapshot) {
    id = snapshot->id.value;
    if (options.hold_snapshot) {
      HEADRACE_ASSIGN_OR_RETURN(held, HeldSnapshot::Take(table, snapshot->id));
      // An expiry that began before may have ended it.
      HEADRACE_ASSIGN_OR_RETURN(const auto there, FindSnapshot(table, snapshot->id));
      if (!there.has_value())
        return SnapshotExpired("looking up keys in table ", table.name, ": snapshot ", *id,
                               " expired before it could be held; open the lookup again");
    }
    HEADRACE_ASSIGN_OR_RETURN(rows,
                              TableLookup::Open(then, *snapshot, options.columns, &state->lookup_cache));
  }
  return std::make_unique<PinnedLookup>(std::move(state), std::move(then), std::move(schema), id,
                                        std::move(held), std::move(rows));
}

}  // namespace headrace
