#include "tests/laws/harness/shape.h"

#include <cstdio>

namespace headrace::laws {
namespace {

using scenario::Cell;
using scenario::Row;
using scenario::Statement;

template <typename... Args>
std::string Formatted(const char* format, Args... args) {
  char text[96];
  std::snprintf(text, sizeof(text), format, args...);
  return text;
}

}  // namespace

Shape::Shape(Random* random, Buckets buckets) : random_(random), buckets_(buckets) {
  create_.verb = scenario::Verb::kCreate;
  create_.name = "t";
  DrawColumns();
  DrawOptions();
  for (const auto& [name, type] : columns_)
    create_.text += (create_.text.empty() ? "" : ", ") + name + " " + type;
}

void Shape::DrawColumns() {
  const bool keyed = buckets_ != Buckets::kAny || !random_->OneIn(8);
  keys_ = random_->OneIn(3) ? random_->Between(2, 6) : random_->Between(6, 80);
  if (buckets_ == Buckets::kCrossPartition || random_->OneIn(3)) {
    partitions_ = random_->Between(1, 3);
    number_partition_ = random_->OneIn(3);
    cross_partition_ =
        buckets_ == Buckets::kCrossPartition || (keyed && buckets_ == Buckets::kAny && random_->OneIn(3));
    if (cross_partition_) ++partitions_;
  }
  const bool partition_first = random_->OneIn(2);
  const auto add_partition = [&] { AddColumn("p", number_partition_ ? "INT" : "STRING"); };
  if (partitioned() && partition_first) add_partition();
  key_type_ = static_cast<KeyType>(random_->Below(8));
  std::vector<std::string> key;
  switch (key_type_) {
    case KeyType::kInt: AddColumn("id", "INT"), key = {"id"}; break;
    case KeyType::kBigInt: AddColumn("id", "BIGINT"), key = {"id"}; break;
    case KeyType::kString: AddColumn("id", "STRING"), key = {"id"}; break;
    case KeyType::kDouble: AddColumn("id", "DOUBLE"), key = {"id"}; break;
    case KeyType::kPair: AddColumn("a", "INT"), AddColumn("b", "STRING"), key = {"b", "a"}; break;
    case KeyType::kDateAndFlag:
      AddColumn("day", "DATE"), AddColumn("flag", "BOOLEAN"), key = {"flag", "day"};
      break;
    case KeyType::kTimestamp: AddColumn("at_time", "TIMESTAMP(3)"), key = {"at_time"}; break;
    case KeyType::kDecimal: AddColumn("id", "DECIMAL(20, 2)"), key = {"id"}; break;
  }
  if (partitioned() && !cross_partition_)
    key.insert(key.begin() + static_cast<int64_t>(random_->Below(key.size() + 1)), "p");
  AddColumn("v", "INT");
  if (random_->OneIn(2)) AddColumn("s", "STRING");
  if (random_->OneIn(4)) AddColumn("x", "DOUBLE");
  if (keyed && !cross_partition_ && random_->OneIn(4)) {
    sequenced_ = true;
    AddColumn("seq", "INT");
    create_.options["sequence.field"] = "seq";
  }
  if (keyed && !sequenced_) DrawEngine();
  if (partitioned() && !partition_first) add_partition();
  if (keyed) create_.primary_key = key;
  if (partitioned()) create_.partition_by = {"p"};
}

// Half of the tables have another engine than deduplicate. They have no retractions: what one takes away depends on
// what a flush or a compaction has merged before, as in Java; scenarios of their own tell how.
void Shape::DrawEngine() {
  auto& options = create_.options;
  const uint64_t choice = random_->Below(6);
  if (choice > 2 || (cross_partition_ && choice > 0)) return;
  deletes_ = false;
  if (choice == 0) {
    options["merge-engine"] = "first-row";
  } else if (choice == 1) {
    options["merge-engine"] = "aggregation";
    options["fields.v.aggregate-function"] = "sum";
    if (random_->OneIn(2)) options["fields.default-aggregate-function"] = "last_non_null_value";
    for (const auto& [name, type] : columns_)
      if (name == "x") options["fields.x.aggregate-function"] = "max";
  } else {
    options["merge-engine"] = "partial-update";
    grouped_ = random_->OneIn(2);
    if (grouped_) {
      AddColumn("seq", "INT");
      options["fields.seq.sequence-group"] =
          columns_.end()[-2].first == "v" ? "v" : "v," + columns_.end()[-2].first;
    }
  }
}

// What a stream is told and how; deletion vectors, which depend on it.
void Shape::DrawChanges() {
  auto& options = create_.options;
  const bool first_row = options.contains("merge-engine") && options["merge-engine"] == "first-row";
  const uint64_t choice = random_->Below(6);
  if (choice < 2 && !first_row) options["changelog-producer"] = "input";
  if (choice == 2 || (choice == 3 && first_row)) options["changelog-producer"] = "lookup";
  if (choice == 3 && !first_row) options["changelog-producer"] = "full-compaction";
  if ((choice == 2 || choice == 3) && random_->OneIn(3))
    options["changelog-producer.row-deduplicate"] = "true";
  if (choice != 3 && !first_row && random_->OneIn(4)) {
    options["deletion-vectors.enabled"] = "true";
    if (random_->OneIn(3)) options["deletion-vectors.bitmap64"] = "true";
    if (random_->OneIn(3)) options["deletion-vectors.merge-on-read"] = "true";
  }
  if (random_->OneIn(4)) options["lookup-compact"] = random_->OneIn(2) ? "gentle" : "radical";
}

void Shape::DrawOptions() {
  auto& options = create_.options;
  const auto maybe = [&](uint64_t n, const std::string& key, const std::string& value) {
    if (random_->OneIn(n)) options[key] = value;
  };
  const std::string buckets = std::to_string(random_->Between(1, 3));
  if (keyed()) {
    options["bucket"] = buckets;
    if (!options.contains("merge-engine")) {
      deletes_ = !random_->OneIn(4);
      if (!cross_partition_) maybe(8, "ignore-delete", "true");
    }
    DrawBuckets();
    // A late row after a dropped delete is an exception of its own.
    if (sequenced_ && deletes_) writers_ = 1;
    DrawChanges();
    maybe(5, "data-file.thin-mode", "true");
    maybe(5, "full-compaction.delta-commits", std::to_string(random_->Between(1, 4)));
  } else {
    deletes_ = false;
    options["bucket"] = random_->OneIn(2) ? "-1" : buckets;
    if (options["bucket"] != "-1")
      options["bucket-key"] = columns_[partitioned() && columns_[0].first == "p"].first;
    maybe(2, "compaction.min.file-num", "2");
  }
  options["num-sorted-run.compaction-trigger"] = std::to_string(random_->Between(2, 5));
  maybe(6, "num-levels", std::to_string(random_->Between(2, 4)));
  maybe(5, "compaction.size-ratio", std::to_string(random_->Between(0, 60)));
  maybe(5, "compaction.max-size-amplification-percent", std::to_string(random_->Between(0, 400)));
  maybe(3, "target-file-size", random_->OneIn(2) ? "1 kb" : "4 kb");
  maybe(3, "write-buffer-size", random_->OneIn(2) ? "1 kb" : "8 kb");
  maybe(6, "write-only", "true");
  if (random_->OneIn(3)) DrawRetention();
  options["manifest.merge-min-count"] = std::to_string(random_->Between(2, 12));
  maybe(4, "manifest.full-compaction-threshold-size", "4 kb");
  maybe(6, "manifest.target-file-size", "2 kb");
  maybe(6, "manifest.delete-file-drop-stats", "true");
  maybe(6, "metadata.stats-mode", random_->OneIn(2) ? "none" : "truncate(2)");
  maybe(6, "file.compression", random_->OneIn(2) ? "none" : "snappy");
  maybe(8, "parquet.enable.dictionary", "false");
}

void Shape::DrawBuckets() {
  auto& options = create_.options;
  const uint64_t choice = buckets_ == Buckets::kPostponed ? 1 : random_->Below(6);
  if (cross_partition_ || choice == 0) {
    options["bucket"] = "-1";
    if (random_->OneIn(2)) options["dynamic-bucket.target-row-num"] = std::to_string(random_->Between(2, 20));
    // Its index belongs to one writer.
    writers_ = 1;
  } else if (choice == 1) {
    options["bucket"] = "-2";
    if (random_->OneIn(2))
      options["postpone.default-bucket-num"] = std::to_string(random_->Between(1, 3));
    else
      options["postpone.target-row-num-per-bucket"] = std::to_string(random_->Between(4, 20));
  }
}

// A statement makes fewer snapshots than are always kept: each can be looked at before it ends.
void Shape::DrawRetention() {
  auto& options = create_.options;
  const int64_t least = random_->Between(6, 10);
  options["snapshot.num-retained.min"] = std::to_string(least);
  options["snapshot.num-retained.max"] = std::to_string(least + random_->Between(0, 4));
  if (random_->OneIn(2)) options["snapshot.time-retained"] = "1 min";
  if (!random_->OneIn(2)) return;
  options["changelog.num-retained.min"] = std::to_string(least + 5);
  options["changelog.num-retained.max"] = std::to_string(least + 20);
}

void Shape::ChangeOption(Statement* alter) {
  switch (random_->Below(7)) {
    case 0:
      alter->options["num-sorted-run.compaction-trigger"] = std::to_string(random_->Between(2, 6));
      break;
    case 1: alter->options["write-only"] = random_->OneIn(2) ? "true" : "false"; break;
    case 2: alter->options["target-file-size"] = random_->OneIn(2) ? "1 kb" : "1 mb"; break;
    case 3: alter->options["write-buffer-size"] = random_->OneIn(2) ? "1 kb" : "1 mb"; break;
    case 4: alter->options["data-file.thin-mode"] = random_->OneIn(2) ? "true" : "false"; break;
    case 5: alter->options["file.compression"] = random_->OneIn(2) ? "zstd" : "none"; break;
    default: alter->options["manifest.merge-min-count"] = std::to_string(random_->Between(2, 20)); break;
  }
}

std::string Shape::Partition() {
  const auto number = random_->Below(static_cast<uint64_t>(partitions_));
  return number_partition_ ? std::to_string(number) : "p=" + std::to_string(number);
}

std::vector<Cell> Shape::KeyCells(int64_t n) const {
  switch (key_type_) {
    case KeyType::kInt: return {std::to_string(n - 3)};
    case KeyType::kBigInt: return {std::to_string(n % 2 == 0 ? n : -n * 1'000'000'000'000)};
    case KeyType::kString:
      return {n == 0       ? ""
              : n % 3 == 0 ? "a long beginning shared by many " + std::to_string(n)
                           : "k" + std::to_string(n)};
    case KeyType::kDouble: {
      static constexpr const char* kSpecial[] = {"NaN", "-0.0", "0.0", "Infinity", "-Infinity"};
      return {n < 5 ? kSpecial[n] : Formatted("%lld.5", static_cast<long long>(n - 9))};
    }
    case KeyType::kPair: return {std::to_string(n % 7), "b" + std::to_string(n / 7)};
    case KeyType::kDateAndFlag:
      return {Formatted("19%02d-01-%02d", n % 4 < 2 ? 69 : 70, static_cast<int>(n / 4 % 28) + 1),
              n % 2 == 0 ? "true" : "false"};
    case KeyType::kTimestamp:
      return {Formatted("19%02d-12-31T23:59:59.%03d", n % 2 == 0 ? 69 : 99, static_cast<int>(n))};
    case KeyType::kDecimal:
      return {Formatted("%lld.%02d", static_cast<long long>(n % 5 - 2) * 1'000'000'000'000'000LL,
                        static_cast<int>(n))};
  }
  return {};
}

Cell Shape::SequenceCell() {
  // A lone row whose group has no sequence is an exception of its own.
  if (grouped_) return std::to_string(random_->OneIn(3) ? random_->Between(0, value_) : value_);
  if (deletes_) return std::to_string(value_);
  if (random_->OneIn(12)) return std::nullopt;
  return std::to_string(random_->OneIn(3) ? random_->Between(0, value_) : value_);
}

Row Shape::MakeRow(int8_t kind, int64_t number, const std::string& partition) {
  ++value_;
  const std::vector<Cell> key = KeyCells(number);
  Row row;
  row.kind = kind;
  size_t next_key = 0;
  for (const auto& [name, type] : columns_) {
    if (name == "p") {
      row.cells.emplace_back(partition);
    } else if (next_key < key.size()) {
      row.cells.push_back(key[next_key++]);
    } else if (name == "v") {
      row.cells.emplace_back(std::to_string(value_));
    } else if (name == "s") {
      row.cells.push_back(random_->OneIn(6) ? Cell()
                                            : Cell("s" + std::to_string(random_->Below(4)) +
                                                   std::string(random_->Below(20), 'x')));
    } else if (name == "x") {
      row.cells.push_back(random_->OneIn(6) ? Cell() : Cell(std::to_string(random_->Below(9)) + ".25"));
    } else {
      row.cells.push_back(SequenceCell());
    }
  }
  return row;
}

std::vector<Row> Shape::Rows(int count, const std::string* partition) {
  std::vector<Row> rows;
  for (int i = 0; i < count; ++i) {
    const auto number = static_cast<int64_t>(random_->Below(static_cast<uint64_t>(keys_)));
    const std::string where = partition != nullptr ? *partition : partitioned() ? Partition() : "";
    const uint64_t choice = keyed() ? random_->Below(20) : 0;
    if (deletes_ && choice < 4) {
      rows.push_back(MakeRow(3, number, where));
    } else if (deletes_ && choice < 6) {
      rows.push_back(MakeRow(1, number, where));
      if (!random_->OneIn(4)) rows.push_back(MakeRow(2, number, where));
    } else {
      rows.push_back(MakeRow(choice < 10 && keyed() ? 2 : 0, number, where));
    }
  }
  return rows;
}

}  // namespace headrace::laws
