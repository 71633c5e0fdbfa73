// Any bytes as messages of pgoutput, two bytes of length before each, and their changes as rows of one table.
#include "ingest/pgoutput_decoder.h"
#include "ingest/pgoutput_rows.h"
#include "tests/fuzz/feed_lines.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace::ingest;
  static const TableShape table = EveryType();
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  UncommittedRows current(
      &table,
      [](const std::vector<headrace::Value>&, RowBuffer*) -> headrace::Result<bool> { return false; });
  PgoutputRows decoder(&table);
  RowBuffer rows(table.fields);
  while (bytes.size() > 2) {
    const size_t length = std::min<size_t>(
        static_cast<uint8_t>(bytes[0]) << 8 | static_cast<uint8_t>(bytes[1]), bytes.size() - 2);
    const auto message = pgoutput::Decode(bytes.substr(2, length));
    bytes.remove_prefix(2 + length);
    if (!message.ok()) continue;
    const int64_t before = rows.rows();
    LineOutcome outcome;
    if (const auto* relation = std::get_if<pgoutput::Relation>(&*message)) decoder.SetRelation(*relation);
    if (const auto* insert = std::get_if<pgoutput::Insert>(&*message))
      outcome = decoder.Insert(*insert, &rows);
    if (const auto* update = std::get_if<pgoutput::Update>(&*message))
      outcome = decoder.Update(*update, &current, &rows);
    if (const auto* deleted = std::get_if<pgoutput::Delete>(&*message))
      outcome = decoder.Delete(*deleted, &rows);
    if ((outcome.fate == LineFate::kApplied) != (rows.rows() > before)) std::abort();
    if (outcome.fate == LineFate::kBad && outcome.reason.empty()) std::abort();
    for (int i = 0; i < rows.num_columns(); ++i) {
      if (rows.column(i).size() != rows.rows()) std::abort();
    }
    current.Add(rows, before);
  }
  if (!rows.Finish().ValueOrDie().rows->ValidateFull().ok()) std::abort();
  return 0;
}
