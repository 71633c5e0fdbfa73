// Files that other writers made, schemas that have moved on, and values that do not fit.
#include <cstring>

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>
#include <parquet/column_writer.h>
#include <parquet/file_writer.h>

#include "file/data_file_reader.h"
#include "file/evolve.h"
#include "file/json_lines.h"
#include "io/memory_store.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::shared_ptr<TableSchema> SchemaOf(const std::string& columns, int64_t id = 0) {
  auto schema = std::make_shared<TableSchema>();
  schema->id = SchemaId(id);
  schema->fields = ParseColumns(columns).ValueOrDie();
  return schema;
}

class ForeignFile : public testing::Test {
 protected:
  // As pypaimon and pandas write: no field ids, message name "schema", Arrow's own schema stored beside.
  void Write(const std::shared_ptr<arrow::Table>& table) {
    auto out = arrow::io::BufferOutputStream::Create().ValueOrDie();
    auto arrow_properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
    ASSERT_TRUE(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), out, 1000,
                                           parquet::default_writer_properties(), arrow_properties)
                    .ok());
    Put(out->Finish().ValueOrDie()->ToString());
    file_.row_count = table->num_rows();
  }

  // One INT96 column `t` with these (nanoseconds of day, Julian day).
  void WriteInt96(const std::vector<std::pair<int64_t, int32_t>>& values) {
    using parquet::schema::GroupNode;
    using parquet::schema::PrimitiveNode;
    auto node = PrimitiveNode::Make("t", parquet::Repetition::OPTIONAL, parquet::Type::INT96);
    auto root =
        std::static_pointer_cast<GroupNode>(GroupNode::Make("schema", parquet::Repetition::REQUIRED, {node}));
    auto out = arrow::io::BufferOutputStream::Create().ValueOrDie();
    auto writer = parquet::ParquetFileWriter::Open(out, root);
    auto* column = static_cast<parquet::Int96Writer*>(writer->AppendRowGroup()->NextColumn());
    for (const auto& [nanos, day] : values) {
      parquet::Int96 raw;
      std::memcpy(raw.value.data(), &nanos, sizeof(nanos));
      raw.value[2] = static_cast<uint32_t>(day);
      const int16_t defined = 1;
      column->WriteBatch(1, &defined, nullptr, &raw);
    }
    writer->Close();
    Put(out->Finish().ValueOrDie()->ToString());
    file_.row_count = static_cast<int64_t>(values.size());
  }

  void Put(const std::string& bytes) { ASSERT_TRUE(store_.Replace("/data-1.parquet", bytes).ok()); }

  // The rows as JSON lines.
  Result<std::string> Read(std::shared_ptr<const TableSchema> written,
                           std::shared_ptr<const TableSchema> wanted) {
    FileReadOptions read;
    read.table_schema = wanted;
    read.schema_by_id = [&](SchemaId) -> Result<std::shared_ptr<const TableSchema>> { return written; };
    for (const DataField& field : wanted->fields) read.columns.values.push_back(field.name);
    file_.schema_id = written->id;
    HEADRACE_ASSIGN_OR_RETURN(auto reader, OpenDataFile(&store_, "/data-1.parquet", file_, read));
    std::string lines;
    while (true) {
      HEADRACE_ASSIGN_OR_RETURN(const auto batch, reader->Next());
      if (batch == nullptr) return lines;
      HEADRACE_RETURN_NOT_OK(batch->ValidateFull());
      HEADRACE_RETURN_NOT_OK(JsonLines(wanted->fields).Append(*batch, &lines));
    }
  }

  MemoryStore store_;
  DataFileMeta file_;
};

TEST_F(ForeignFile, WithoutFieldIdsIsReadByTheNamesOfItsSchema) {
  arrow::StringDictionaryBuilder texts;
  arrow::LargeStringBuilder large;
  arrow::TimestampBuilder times(arrow::timestamp(arrow::TimeUnit::MICRO), arrow::default_memory_pool());
  arrow::Decimal128Builder decimals(arrow::decimal128(9, 2));
  for (const int i : {1, 2, 1}) {
    ASSERT_TRUE(texts.Append("text " + std::to_string(i)).ok());
    ASSERT_TRUE(large.Append("large " + std::to_string(i)).ok());
    ASSERT_TRUE(times.Append(i * 1'000'000).ok());
    ASSERT_TRUE(decimals.Append(arrow::Decimal128(i * 5)).ok());
  }
  const auto dictionary = texts.Finish().ValueOrDie();
  Write(arrow::Table::Make(
      arrow::schema({arrow::field("s", dictionary->type()), arrow::field("old", arrow::large_utf8()),
                     arrow::field("t", times.type()), arrow::field("d", decimals.type())}),
      arrow::ArrayVector{dictionary, large.Finish().ValueOrDie(), times.Finish().ValueOrDie(),
                         decimals.Finish().ValueOrDie()}));
  const auto written = SchemaOf("s STRING, old STRING, t TIMESTAMP(3), d DECIMAL(9, 2)");
  auto wanted = SchemaOf("s STRING, old STRING, t TIMESTAMP(3), d DECIMAL(9, 2)", 1);
  wanted->fields[1].name = "renamed";
  std::swap(wanted->fields[0], wanted->fields[3]);
  EXPECT_EQ(Read(written, wanted).ValueOrDie(),
            "{\"d\":\"0.05\",\"renamed\":\"large 1\",\"t\":\"1970-01-01T00:00:01.000\",\"s\":\"text 1\"}\n"
            "{\"d\":\"0.10\",\"renamed\":\"large 2\",\"t\":\"1970-01-01T00:00:02.000\",\"s\":\"text 2\"}\n"
            "{\"d\":\"0.05\",\"renamed\":\"large 1\",\"t\":\"1970-01-01T00:00:01.000\",\"s\":\"text 1\"}\n");
}

TEST_F(ForeignFile, GivesNullsForAColumnThatWasReAddedUnderAnOldName) {
  arrow::Int32Builder ints;
  ASSERT_TRUE(ints.AppendValues({1, 2}).ok());
  Write(arrow::Table::Make(arrow::schema({arrow::field("a", arrow::int32())}), {ints.Finish().ValueOrDie()}));
  const auto written = SchemaOf("a INT");
  auto wanted = SchemaOf("a STRING, b ARRAY<INT>", 3);
  wanted->fields[0].id = 7;
  wanted->fields[1].id = 8;
  EXPECT_EQ(Read(written, wanted).ValueOrDie(), "{\"a\":null,\"b\":null}\n{\"a\":null,\"b\":null}\n");
}

TEST_F(ForeignFile, LackingAColumnOfItsSchemaIsCorrupt) {
  arrow::Int32Builder ints;
  ASSERT_TRUE(ints.Append(1).ok());
  Write(arrow::Table::Make(arrow::schema({arrow::field("a", arrow::int32())}), {ints.Finish().ValueOrDie()}));
  for (const char* columns : {"a INT, b INT NOT NULL", "a INT, b INT"}) {
    const auto lines = Read(SchemaOf(columns), SchemaOf(columns));
    EXPECT_EQ(KindOf(lines.status()), ErrorKind::kCorruption);
    EXPECT_THAT(lines.status().ToString(), HasSubstr("\"b\""));
  }
}

TEST_F(ForeignFile, WithAColumnOfAnotherTypeThanItsSchemaIsCorruptAndNamesIt) {
  arrow::StringBuilder texts;
  ASSERT_TRUE(texts.Append("x").ok());
  Write(arrow::Table::Make(arrow::schema({arrow::field("a", arrow::utf8())}), {texts.Finish().ValueOrDie()}));
  for (const char* type : {"a INT", "a ARRAY<INT>", "a ROW<x INT>", "a MAP<INT, INT>"}) {
    const auto lines = Read(SchemaOf(type), SchemaOf(type));
    EXPECT_EQ(KindOf(lines.status()), ErrorKind::kCorruption) << lines.status();
    EXPECT_THAT(lines.status().ToString(), HasSubstr("column a"));
  }
}

TEST_F(ForeignFile, OfInt96ReadsNegativeNanosOfDayAndFarDatesExactly) {
  constexpr int32_t kEpoch = 2440588;
  WriteInt96({{0, kEpoch}, {-999'995, kEpoch}, {5, kEpoch - 1}, {86'399'999'999'999, 2932896 + kEpoch}});
  const auto micros = SchemaOf("t TIMESTAMP(6)");
  EXPECT_EQ(Read(micros, micros).ValueOrDie(),
            "{\"t\":\"1970-01-01T00:00:00.000000\"}\n{\"t\":\"1969-12-31T23:59:59.999000\"}\n"
            "{\"t\":\"1969-12-31T00:00:00.000000\"}\n{\"t\":\"9999-12-31T23:59:59.999999\"}\n");
  const auto nanos = SchemaOf("t TIMESTAMP(9)");
  const auto lines = Read(nanos, nanos);
  EXPECT_EQ(KindOf(lines.status()), ErrorKind::kCorruption);
  EXPECT_THAT(lines.status().ToString(), HasSubstr("column t"));
  WriteInt96({{-999'995, kEpoch}});
  EXPECT_EQ(Read(nanos, nanos).ValueOrDie(), "{\"t\":\"1969-12-31T23:59:59.999000005\"}\n");
}

// Type pairs: what widens without loss, and what is refused naming the column and both types.
TEST(Widening, IsLosslessOrRefusedByName) {
  const auto widens = [](const char* from, const char* to) {
    return CheckWidening("c", ParseDataType(from).ValueOrDie(), ParseDataType(to).ValueOrDie());
  };
  for (const auto& [from, to] :
       std::vector<std::pair<const char*, const char*>>{{"TINYINT", "SMALLINT"},
                                                        {"TINYINT", "FLOAT"},
                                                        {"SMALLINT", "BIGINT"},
                                                        {"INT", "BIGINT"},
                                                        {"INT", "DOUBLE"},
                                                        {"INT", "DECIMAL(12, 2)"},
                                                        {"BIGINT", "STRING"},
                                                        {"BOOLEAN", "STRING"},
                                                        {"FLOAT", "DOUBLE"},
                                                        {"DECIMAL(8, 2)", "DECIMAL(12, 4)"},
                                                        {"CHAR(3)", "VARCHAR(3)"},
                                                        {"VARCHAR(3)", "STRING"},
                                                        {"BINARY(3)", "BYTES"},
                                                        {"DATE", "TIMESTAMP(3)"},
                                                        {"TIMESTAMP(3)", "TIMESTAMP(6)"},
                                                        {"INT NOT NULL", "INT"},
                                                        {"ARRAY<INT>", "ARRAY<BIGINT>"},
                                                        {"MAP<STRING, INT>", "MAP<STRING, BIGINT>"}}) {
    EXPECT_TRUE(widens(from, to).ok()) << from << " to " << to;
  }
  for (const auto& [from, to] :
       std::vector<std::pair<const char*, const char*>>{{"BIGINT", "INT"},
                                                        {"INT", "FLOAT"},
                                                        {"BIGINT", "DOUBLE"},
                                                        {"INT", "DECIMAL(10, 2)"},
                                                        {"DOUBLE", "FLOAT"},
                                                        {"DOUBLE", "STRING"},
                                                        {"STRING", "INT"},
                                                        {"VARCHAR(5)", "VARCHAR(3)"},
                                                        {"DECIMAL(8, 2)", "DECIMAL(8, 3)"},
                                                        {"TIMESTAMP(6)", "TIMESTAMP(3)"},
                                                        {"TIMESTAMP(3)", "TIMESTAMP_LTZ(3)"},
                                                        {"TIMESTAMP(3)", "DATE"},
                                                        {"INT", "ARRAY<INT>"},
                                                        {"ARRAY<BIGINT>", "ARRAY<INT>"}}) {
    const Status status = widens(from, to);
    EXPECT_EQ(KindOf(status), ErrorKind::kUnsupported) << from << " to " << to;
    EXPECT_THAT(status.ToString(), HasSubstr("column c"));
  }
}

TEST_F(ForeignFile, IsWidenedColumnByColumn) {
  arrow::Int8Builder tiny;
  arrow::Date32Builder days;
  arrow::FloatBuilder floats;
  ASSERT_TRUE(tiny.AppendValues({-128, 7}).ok());
  ASSERT_TRUE(days.AppendValues({-1, 19782}).ok());
  ASSERT_TRUE(floats.AppendValues({0.1f, -0.0f}).ok());
  const auto numbers = tiny.Finish().ValueOrDie();
  Write(arrow::Table::Make(
      arrow::schema({arrow::field("a", arrow::int8()), arrow::field("b", arrow::int8()),
                     arrow::field("c", arrow::int8()), arrow::field("d", arrow::date32()),
                     arrow::field("e", arrow::float32())}),
      {numbers, numbers, numbers, days.Finish().ValueOrDie(), floats.Finish().ValueOrDie()}));
  EXPECT_EQ(Read(SchemaOf("a TINYINT, b TINYINT, c TINYINT, d DATE, e FLOAT"),
                 SchemaOf("a BIGINT, b STRING, c DECIMAL(5, 2), d TIMESTAMP(6), e DOUBLE", 1))
                .ValueOrDie(),
            "{\"a\":-128,\"b\":\"-128\",\"c\":\"-128.00\",\"d\":\"1969-12-31T00:00:00.000000\",\"e\":0."
            "10000000149011612}\n"
            "{\"a\":7,\"b\":\"7\",\"c\":\"7.00\",\"d\":\"2024-02-29T00:00:00.000000\",\"e\":-0.0}\n");
}

TEST_F(ForeignFile, OfRowsInsideArraysAndMapsEvolvesByFieldId) {
  const auto inner = arrow::struct_({arrow::field("x", arrow::int32()), arrow::field("y", arrow::utf8())});
  auto rows = std::make_shared<arrow::StructBuilder>(
      inner, arrow::default_memory_pool(),
      std::vector<std::shared_ptr<arrow::ArrayBuilder>>{std::make_shared<arrow::Int32Builder>(),
                                                        std::make_shared<arrow::StringBuilder>()});
  arrow::ListBuilder lists(arrow::default_memory_pool(), rows);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE((i == 1 ? lists.AppendNull() : lists.Append()).ok());
    for (int j = 0; i != 1 && j < 2; ++j) {
      ASSERT_TRUE(rows->Append().ok());
      ASSERT_TRUE(static_cast<arrow::Int32Builder*>(rows->field_builder(0))->Append(i * 10 + j).ok());
      ASSERT_TRUE(static_cast<arrow::StringBuilder*>(rows->field_builder(1))->Append("y").ok());
    }
  }
  const auto list = lists.Finish().ValueOrDie();
  Write(arrow::Table::Make(arrow::schema({arrow::field("r", list->type())}), {list}));
  const auto written = SchemaOf("r ARRAY<ROW<x INT, y STRING>>");
  auto wanted = SchemaOf("r ARRAY<ROW<x INT, y STRING>>", 1);
  DataType element = *wanted->fields[0].type.element;
  DataField added = element.fields[1];
  added.id = 99;
  added.name = "z";
  element.fields[0].type = ParseDataType("BIGINT").ValueOrDie();
  element.fields[0].name = "wide";
  element.fields[1] = added;
  wanted->fields[0].type.element = std::make_shared<const DataType>(element);
  EXPECT_EQ(Read(written, wanted).ValueOrDie(),
            "{\"r\":[{\"wide\":0,\"z\":null},{\"wide\":1,\"z\":null}]}\n{\"r\":null}\n"
            "{\"r\":[{\"wide\":20,\"z\":null},{\"wide\":21,\"z\":null}]}\n");
}

TEST_F(ForeignFile, AValueBeyondItsDictionaryIsCorruption) {
  arrow::StringBuilder values;
  for (int i = 0; i < 24; ++i)
    ASSERT_TRUE(values.Append(std::string(1, static_cast<char>('a' + i % 3))).ok());
  const auto field = arrow::field("s", arrow::utf8(), /*nullable=*/false);
  auto out = arrow::io::BufferOutputStream::Create().ValueOrDie();
  const auto properties = parquet::WriterProperties::Builder().disable_page_checksum()->build();
  ASSERT_TRUE(
      parquet::arrow::WriteTable(*arrow::Table::Make(arrow::schema({field}), {values.Finish().ValueOrDie()}),
                                 arrow::default_memory_pool(), out, 1000, properties)
          .ok());
  std::string bytes = out->Finish().ValueOrDie()->ToString();
  file_.row_count = 24;
  const auto schema = SchemaOf("s STRING");
  Put(bytes);
  ASSERT_TRUE(Read(schema, schema).ok());
  // Three entries, so two bits a code: 0 1 2 0, 1 2 0 1, … behind the width and the head of a run of three groups.
  const size_t codes = bytes.find("\x02\x07\x24\x49\x92");
  ASSERT_NE(codes, std::string::npos);
  bytes[codes + 3] = '\xff';
  Put(bytes);
  const Status status = Read(schema, schema).status();
  EXPECT_TRUE(IsKind(status, ErrorKind::kCorruption)) << status;
  EXPECT_THAT(status.message(), HasSubstr("/data-1.parquet"));
  EXPECT_THAT(status.message(), HasSubstr("entry 3 of a dictionary of 3"));
}

}  // namespace
}  // namespace headrace
