// For tests of whole ingests: a folder for inputs, tables in a memory store, and their rows and changes as text.
//
// Header only, included by tests alone. Rows are "a=1|b=x" with columns by name, sorted.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <gtest/gtest.h>

#include "catalog/snapshots.h"
#include "catalog/test_tables.h"
#include "ingest/decoder_test_kit.h"
#include "ingest/ingest.h"
#include "read/changes.h"
#include "read/scan.h"

namespace headrace::ingest {

inline constexpr const char* kCustomers =
    "customer_id BIGINT NOT NULL, name STRING NOT NULL, email STRING, plan STRING, address STRING";
inline constexpr const char* kCustomer =
    R"({"before":null,"after":{"customer_id":%d,"name":"%s","email":null,"plan":"x","address":"y"},"op":"c"})";

// librdkafka starts its threads by C11's thrd_create, which the thread sanitizer does not see: it crashes at their first allocation.
#ifdef __SANITIZE_THREAD__
inline constexpr bool kKafkaThreadsAreSeen = false;
#else
inline constexpr bool kKafkaThreadsAreSeen = true;
#endif

inline std::string Fixture(const std::string& name) {
  return std::string(HEADRACE_FIXTURES) + "/cdc/" + name;
}

class IngestTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("headrace-ingest-" + std::to_string(::getpid()) + "-" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& bytes) {
    const std::string path = folder_ / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  static std::string Customer(int id, const std::string& name) {
    char text[300];
    std::snprintf(text, sizeof(text), kCustomer, id, name.c_str());
    return std::string(text) + "\n";
  }
  IngestOptions OptionsFor(const std::string& input) {
    IngestOptions options;
    options.inputs = {input};
    options.budget = &budget_;
    return options;
  }
  static std::vector<std::string> RowsOf(const Table& table, const std::vector<std::string>& leave_out = {}) {
    std::vector<std::string> texts;
    const std::optional<Snapshot> snapshot = testing::Must(ReadLatestSnapshot(table));
    if (!snapshot) return texts;
    const auto reader = testing::Must(OpenScan(table, *snapshot, {}));
    RowBuffer rows(table.schema->fields);
    while (true) {
      std::shared_ptr<arrow::RecordBatch> batch;
      EXPECT_TRUE(reader->ReadNext(&batch).ok());
      if (batch == nullptr) break;
      for (int64_t i = 0; i < batch->num_rows(); ++i)
        EXPECT_TRUE(rows.AppendArrowRow(*batch, i, RowKind::kInsert).ok());
    }
    for (int64_t i = 0; i < rows.rows(); ++i) {
      std::map<std::string, std::string> row;
      for (size_t c = 0; c < table.schema->fields.size(); ++c)
        row[table.schema->fields[c].name] = CellText(rows.column(static_cast<int>(c)), i);
      std::string text;
      for (const auto& [name, value] : row) {
        if (std::find(leave_out.begin(), leave_out.end(), name) == leave_out.end())
          text += (text.empty() ? "" : "|") + name + "=" + value;
      }
      texts.push_back(std::move(text));
    }
    std::sort(texts.begin(), texts.end());
    return texts;
  }
  static std::vector<std::string> ChangesOf(const Table& table) {
    std::vector<std::string> changes;
    const auto stream = testing::Must(ChangeStream::Open(table, {}));
    while (true) {
      std::optional<SnapshotChanges> next = testing::Must(stream->Next());
      if (!next) return changes;
      if (next->rows == nullptr) continue;
      while (true) {
        std::shared_ptr<arrow::RecordBatch> batch;
        EXPECT_TRUE(next->rows->ReadNext(&batch).ok());
        if (batch == nullptr) break;
        const auto& kinds = static_cast<const arrow::Int8Array&>(*batch->GetColumnByName("_VALUE_KIND"));
        RowBuffer rows(table.schema->fields);
        for (int64_t i = 0; i < batch->num_rows(); ++i) {
          EXPECT_TRUE(rows.AppendArrowRow(*batch, i, static_cast<RowKind>(kinds.Value(i))).ok());
          changes.push_back(RowText(rows, i));
        }
      }
    }
  }
  static testing::TestTable Customers(std::map<std::string, std::string> options = {{"bucket", "2"}}) {
    return testing::MakeTestTable(kCustomers, {"customer_id"}, std::move(options));
  }

  std::filesystem::path folder_;
  MemoryBudget budget_{256 << 20};
};

}  // namespace headrace::ingest
