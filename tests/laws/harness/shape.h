// The shape of a random table: columns, keys, partitions, options; and its rows.
//
// Named exceptions are drawn around, each being a scenario of its own: a late row after a dropped delete (sequence.field with deletes has
// one writer and rising values). Pure, given the generator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/scenarios/scenario.h"

namespace headrace::laws {

// How rows find their buckets.
enum class Buckets {
  kAny,
  kPostponed,       // rows wait until a compaction assigns their buckets
  kCrossPartition,  // the key lacks the partition column: a row takes its key along
};

class Shape {
 public:
  // With another kind than kAny all tables have that one.
  explicit Shape(Random* random, Buckets buckets = Buckets::kAny);

  const scenario::Statement& create() const { return create_; }
  bool keyed() const { return !create_.primary_key.empty(); }
  bool partitioned() const { return partitions_ > 0; }
  // Writers that may be open at the same time.
  int writers() const { return writers_; }

  // Two jobs would give one key two buckets: the later one would fail, by name.
  bool one_job() const { return keyed() && create_.options.at("bucket") == "-1"; }

  // Whether a prepared commit may be left alone: not where the next one builds on it.
  bool may_forget_commits() const { return !cross_partition_; }

  // Some rows for one write; with `partition` all of them in it.
  std::vector<scenario::Row> Rows(int count, const std::string* partition = nullptr);
  std::string Partition();
  // Options that may change while the table lives.
  void ChangeOption(scenario::Statement* alter);

 private:
  enum class KeyType { kInt, kBigInt, kString, kDouble, kPair, kDateAndFlag, kTimestamp, kDecimal };

  void DrawColumns();
  void DrawOptions();
  void DrawEngine();
  void DrawChanges();
  void DrawRetention();
  void AddColumn(const std::string& name, const std::string& type) { columns_.emplace_back(name, type); }
  std::vector<scenario::Cell> KeyCells(int64_t number) const;
  scenario::Row MakeRow(int8_t kind, int64_t number, const std::string& partition);
  scenario::Cell SequenceCell();

  void DrawBuckets();

  Random* random_;
  Buckets buckets_;
  scenario::Statement create_;
  std::vector<std::pair<std::string, std::string>> columns_;
  KeyType key_type_ = KeyType::kInt;
  int64_t keys_ = 10;
  int64_t partitions_ = 0;
  bool cross_partition_ = false;
  bool number_partition_ = false;
  bool sequenced_ = false;
  bool grouped_ = false;  // `seq` protects other columns of a partial update
  bool deletes_ = true;
  int writers_ = 3;
  int64_t value_ = 0;
};

}  // namespace headrace::laws
