#include "ingest/live_rows.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <xxhash.h>

#include "read/scan.h"

namespace headrace::ingest {
namespace {

constexpr int64_t kBytesOfARow = 160;  // key, hash, and the map's own

void AppendLength(int64_t length, std::string* out) {
  out->append(reinterpret_cast<const char*>(&length), sizeof(length));
}

// Bytes that are equal exactly when the cells are.
void AppendCell(const arrow::Array& array, int64_t row, std::string* out) {
  out->push_back(array.IsNull(row) ? 0 : 1);
  if (array.IsNull(row)) return;
  const auto append_list = [&](const arrow::ListArray& list) {
    AppendLength(list.value_length(row), out);
    for (int64_t i = list.value_offset(row); i < list.value_offset(row + 1); ++i)
      AppendCell(*list.values(), i, out);
  };
  switch (array.type_id()) {
    case arrow::Type::LIST:
    case arrow::Type::MAP: append_list(static_cast<const arrow::ListArray&>(array)); return;
    case arrow::Type::STRUCT:
      for (const auto& field : static_cast<const arrow::StructArray&>(array).fields())
        AppendCell(*field, row, out);
      return;
    case arrow::Type::STRING:
    case arrow::Type::BINARY: {
      const std::string_view bytes = static_cast<const arrow::BinaryArray&>(array).GetView(row);
      AppendLength(static_cast<int64_t>(bytes.size()), out);
      out->append(bytes);
      return;
    }
    case arrow::Type::BOOL:
      out->push_back(static_cast<const arrow::BooleanArray&>(array).Value(row) ? 1 : 0);
      return;
    default: break;
  }
  const int width = static_cast<const arrow::FixedWidthType&>(*array.type()).bit_width() / 8;
  const uint8_t* values = array.data()->buffers[1]->data();
  out->append(reinterpret_cast<const char*>(values + (array.offset() + row) * width),
              static_cast<size_t>(width));
}

std::pair<uint64_t, uint64_t> FingerprintOf(const arrow::RecordBatch& rows, int64_t row) {
  std::string bytes;
  for (const auto& column : rows.columns()) AppendCell(*column, row, &bytes);
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

}  // namespace

int LiveRows::PartsFor(int64_t bytes) const {
  const int64_t rows = snapshot_.total_record_count.value_or(0);
  return static_cast<int>(
      std::min<int64_t>(1 + rows * kBytesOfARow / std::max<int64_t>(bytes, 1 << 20), 4096));
}

std::string LiveRows::KeyOf(const arrow::RecordBatch& rows, int64_t row) const {
  std::string key;
  for (const int column : shape_.key_columns) AppendCell(*rows.column(column), row, &key);
  return key;
}

bool LiveRows::OfThisPart(const std::string& key) const {
  return parts_ == 1 ||
         static_cast<int>(XXH3_64bits(key.data(), key.size()) % static_cast<uint64_t>(parts_)) == part_;
}

Status LiveRows::EachLive(const std::function<Status(const arrow::RecordBatch& rows)>& each) const {
  HEADRACE_ASSIGN_OR_RETURN(const std::unique_ptr<arrow::RecordBatchReader> reader,
                            OpenScan(table_, snapshot_, {}));
  while (true) {
    std::shared_ptr<arrow::RecordBatch> batch;
    HEADRACE_RETURN_NOT_OK(reader->ReadNext(&batch));
    if (batch == nullptr) return Status::OK();
    HEADRACE_RETURN_NOT_OK(each(*batch));
  }
}

Status LiveRows::ReadPart(int part, int parts) {
  part_ = part;
  parts_ = parts;
  live_.clear();
  return EachLive([this](const arrow::RecordBatch& rows) {
    for (int64_t row = 0; row < rows.num_rows(); ++row) {
      std::string key = KeyOf(rows, row);
      if (OfThisPart(key)) live_[std::move(key)] = FingerprintOf(rows, row);
    }
    return Status::OK();
  });
}

LiveRows::Verdict LiveRows::Compare(const arrow::RecordBatch& rows, int64_t row) {
  const std::string key = KeyOf(rows, row);
  if (!OfThisPart(key)) return Verdict::kNotOfThisPart;
  const auto found = live_.find(key);
  if (found == live_.end()) return Verdict::kNew;
  const bool same = found->second == FingerprintOf(rows, row);
  live_.erase(found);
  return same ? Verdict::kSame : Verdict::kDiffers;
}

Status LiveRows::EachLeftOver(
    const std::function<Status(const arrow::RecordBatch& rows, int64_t row)>& each) {
  if (live_.empty()) return Status::OK();
  return EachLive([&](const arrow::RecordBatch& rows) -> Status {
    for (int64_t row = 0; row < rows.num_rows(); ++row) {
      if (live_.contains(KeyOf(rows, row))) HEADRACE_RETURN_NOT_OK(each(rows, row));
    }
    return Status::OK();
  });
}

}  // namespace headrace::ingest
