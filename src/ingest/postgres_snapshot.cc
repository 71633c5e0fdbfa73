#include "ingest/postgres_snapshot.h"

#include <arrow/record_batch.h>

#include "catalog/snapshots.h"
#include "ingest/live_rows.h"
#include "ingest/pgoutput_rows.h"
#include "read/scan.h"

namespace headrace::ingest {
namespace {

constexpr int64_t kRowsAtOnce = 4096;
constexpr int64_t kBytesAtOnce = 16LL << 20;
constexpr int64_t kRowsBetweenProgress = 1024;

// A line of COPY's text form into cells: tabs part them, \N is null, and a backslash stands before what would be read otherwise. `text` holds
// what the cells refer to.
bool SplitLine(std::string_view line, std::string* text, pgoutput::Tuple* tuple) {
  struct Span {
    bool null = false;
    size_t begin = 0, end = 0;
  };
  text->clear();
  std::vector<Span> spans(1);
  bool begins = true;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\t') {
      spans.back().end = text->size();
      spans.push_back({false, text->size(), 0});
      begins = true;
      continue;
    }
    if (c != '\\') {
      text->push_back(c);
    } else {
      if (++i == line.size()) return false;
      switch (line[i]) {
        case 'N':
          if (!begins || (i + 1 < line.size() && line[i + 1] != '\t')) return false;
          spans.back().null = true;
          break;
        case 'b': text->push_back('\b'); break;
        case 'f': text->push_back('\f'); break;
        case 'n': text->push_back('\n'); break;
        case 'r': text->push_back('\r'); break;
        case 't': text->push_back('\t'); break;
        case 'v': text->push_back('\v'); break;
        default: text->push_back(line[i]); break;
      }
    }
    begins = false;
  }
  spans.back().end = text->size();
  tuple->clear();
  for (const Span& span : spans) {
    pgoutput::Cell cell;
    cell.kind = span.null ? pgoutput::CellKind::kNull : pgoutput::CellKind::kText;
    cell.text = std::string_view(*text).substr(span.begin, span.end - span.begin);
    tuple->push_back(cell);
  }
  return true;
}

std::string DescribeKey(const SourceTable& source, const pgoutput::Tuple& tuple) {
  std::string text;
  for (size_t i = 0; i < source.relation.columns.size() && i < tuple.size(); ++i) {
    if (!source.relation.columns[i].identity || source.key.empty()) continue;
    text += (text.empty() ? "" : ", ") + source.relation.columns[i].name + "=" +
            std::string(tuple[i].text.substr(0, 60));
  }
  return text.empty() ? "a row" : "the row " + text;
}

}  // namespace

Status UseSnapshot(PostgresConnection* connection, const ExportedSnapshot& snapshot) {
  HEADRACE_RETURN_NOT_OK(connection->Run("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"));
  return connection->Run("SET TRANSACTION SNAPSHOT " + connection->Literal(snapshot.snapshot));
}

// Appends row after row to `out`; `each` may take them out.
Status PostgresCopy::EachRow(RowBuffer* out, const std::function<Status()>& each) {
  if (source_.relation.columns.empty()) return Status::OK();
  std::string columns;
  for (const pgoutput::RelationColumn& column : source_.relation.columns)
    columns += (columns.empty() ? "" : ", ") + connection_->Quoted(column.name);
  PgoutputRows decoder(&table_->shape());
  decoder.SetRelation(source_.relation);
  pgoutput::Insert insert;
  std::string text;
  int64_t rows = 0;
  return connection_->CopyOut(
      "COPY (SELECT " + columns + " FROM " + connection_->Quoted(source_.relation.schema) + "." +
          connection_->Quoted(source_.relation.name) + ") TO STDOUT",
      [&](std::string_view line) -> Status {
        if (!SplitLine(line, &text, &insert.row)) {
          return Corruption("copying ", source_.name(), " from ", connection_->name(), ": line ", rows + 1,
                            " is not in COPY's text form");
        }
        const LineOutcome outcome = decoder.Insert(insert, out);
        if (outcome.fate == LineFate::kBad) {
          return Invalid("copying ", source_.name(), " from ", connection_->name(), ": ",
                         DescribeKey(source_, insert.row), ", column ", outcome.field, " ", outcome.reason,
                         ". Make ", table_->target(),
                         " yourself with a column that takes it (STRING takes all)");
        }
        if (++rows % kRowsBetweenProgress == 0) progress_(rows);
        return each();
      });
}

Status PostgresCopy::CopyAll() {
  return EachRow(table_->rows(), [this] {
    ++added_;
    return table_->CopiedRows();
  });
}

// The row as it is in the table, before the +U that replaces it.
Status PostgresCopy::WriteUpdateBefore(const Snapshot& view, const arrow::RecordBatch& rows, int64_t row) {
  RowBuffer key_row(table_->shape().fields);
  HEADRACE_RETURN_NOT_OK(key_row.AppendArrowRow(rows, row, RowKind::kInsert));
  std::vector<Value> key;
  for (const int column : table_->shape().key_columns) key.push_back(key_row.column(column).ValueAt(0));
  HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::RecordBatch> old,
                            FindByKey(table_->table(), view, key, {}));
  if (old == nullptr || old->num_rows() == 0) return Status::OK();
  return table_->rows()->AppendArrowRow(*old, 0, RowKind::kUpdateBefore);
}

Status PostgresCopy::WriteWhatDiffers(const Snapshot& view, const arrow::RecordBatch& rows, LiveRows* live) {
  for (int64_t row = 0; row < rows.num_rows(); ++row) {
    const LiveRows::Verdict verdict = live->Compare(rows, row);
    if (verdict == LiveRows::Verdict::kNotOfThisPart || verdict == LiveRows::Verdict::kSame) continue;
    const bool differs = verdict == LiveRows::Verdict::kDiffers;
    (differs ? changed_ : added_) += 1;
    if (differs && table_->shape().keep_update_before)
      HEADRACE_RETURN_NOT_OK(WriteUpdateBefore(view, rows, row));
    HEADRACE_RETURN_NOT_OK(
        table_->rows()->AppendArrowRow(rows, row, differs ? RowKind::kUpdateAfter : RowKind::kInsert));
    HEADRACE_RETURN_NOT_OK(table_->CopiedRows());
  }
  return Status::OK();
}

Status PostgresCopy::CopyDifference(int64_t memory_bytes) {
  HEADRACE_ASSIGN_OR_RETURN(const std::optional<Snapshot> view, ReadLatestSnapshot(table_->table()));
  if (!view) return CopyAll();
  LiveRows live(table_->table(), table_->shape(), *view);
  RowBuffer buffer(table_->shape().fields);
  const auto pass_on = [&]() -> Status {
    HEADRACE_ASSIGN_OR_RETURN(const RowBuffer::Batch batch, buffer.Finish());
    return WriteWhatDiffers(*view, *batch.rows, &live);
  };
  const int parts = live.PartsFor(memory_bytes);
  for (int part = 0; part < parts; ++part) {
    HEADRACE_RETURN_NOT_OK(live.ReadPart(part, parts));
    HEADRACE_RETURN_NOT_OK(EachRow(&buffer, [&]() -> Status {
      const bool full =
          buffer.rows() >= kRowsAtOnce || (buffer.rows() % 64 == 0 && buffer.byte_size() >= kBytesAtOnce);
      return full ? pass_on() : Status::OK();
    }));
    HEADRACE_RETURN_NOT_OK(pass_on());
    HEADRACE_RETURN_NOT_OK(live.EachLeftOver([this](const arrow::RecordBatch& rows, int64_t row) -> Status {
      ++deleted_;
      HEADRACE_RETURN_NOT_OK(table_->rows()->AppendArrowRow(rows, row, RowKind::kDelete));
      return table_->CopiedRows();
    }));
  }
  return Status::OK();
}

}  // namespace headrace::ingest
