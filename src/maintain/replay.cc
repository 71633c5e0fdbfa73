#include "maintain/replay.h"

#include <algorithm>
#include <string_view>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <xxhash.h>

#include "format/binary_row.h"

namespace headrace {
namespace {

RowDigest DigestOf(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

Result<std::unique_ptr<BinaryRowEncoder>> EncoderOf(const TableSchema& schema, const arrow::RecordBatch& rows,
                                                    const std::vector<int>& columns) {
  std::vector<DataType> types;
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (const int column : columns) {
    types.push_back(schema.fields[static_cast<size_t>(column)].type);
    arrays.push_back(rows.column(column));
  }
  return BinaryRowEncoder::Make(std::move(types), std::move(arrays));
}

}  // namespace

RowDigester::RowDigester(const TableSchema& schema) : schema_(schema) {
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    const auto names = [&](const std::vector<std::string>& keys) {
      return std::find(keys.begin(), keys.end(), schema.fields[i].name) != keys.end();
    };
    if (names(schema.primary_keys) || names(schema.partition_keys))
      key_columns_.push_back(static_cast<int>(i));
  }
}

Result<std::vector<KeyedDigest>> RowDigester::Digest(const arrow::RecordBatch& rows) const {
  std::vector<int> all;
  for (size_t i = 0; i < schema_.fields.size(); ++i) all.push_back(static_cast<int>(i));
  HEADRACE_ASSIGN_OR_RETURN(const auto key_encoder, EncoderOf(schema_, rows, key_columns_));
  HEADRACE_ASSIGN_OR_RETURN(const auto row_encoder, EncoderOf(schema_, rows, all));
  std::vector<KeyedDigest> digests(static_cast<size_t>(rows.num_rows()));
  for (int64_t row = 0; row < rows.num_rows(); ++row) {
    HEADRACE_ASSIGN_OR_RETURN(const std::string_view key, key_encoder->EncodeRow(row));
    digests[static_cast<size_t>(row)].key = DigestOf(key);
    HEADRACE_ASSIGN_OR_RETURN(const std::string_view values, row_encoder->EncodeRow(row));
    digests[static_cast<size_t>(row)].row = DigestOf(values);
  }
  return digests;
}

Result<std::string> RowDigester::KeyText(const arrow::RecordBatch& rows, int64_t row) const {
  std::string text;
  for (const int column : key_columns_) {
    HEADRACE_ASSIGN_OR_RETURN(const std::shared_ptr<arrow::Scalar> value,
                              rows.column(column)->GetScalar(row));
    text += (text.empty() ? "" : ", ") + schema_.fields[static_cast<size_t>(column)].name + "=" +
            value->ToString();
  }
  return text;
}

Step Replay::Apply(const KeyedDigest& change, bool retract) {
  if (!retract) {
    const auto [place, is_new] = rows_.insert_or_assign(change.key, change.row);
    return is_new ? Step::kFits : Step::kInsertOfPresent;
  }
  const auto place = rows_.find(change.key);
  if (place == rows_.end()) return Step::kRetractOfAbsent;
  const bool same = place->second == change.row;
  rows_.erase(place);
  return same ? Step::kFits : Step::kRetractOfAnother;
}

Step Replay::ApplyTogether(const RowDigest& key, RowBalance changes) {
  if (const auto place = rows_.find(key); place != rows_.end()) {
    ++changes[place->second];
    rows_.erase(place);
  }
  Step step = Step::kFits;
  for (const auto& [row, count] : changes) {
    if (count < 0) step = Step::kRetractOfAbsent;
    if (count <= 0) continue;
    const bool is_new = rows_.insert_or_assign(key, row).second;
    if (count > 1 || !is_new) step = Step::kInsertOfPresent;
  }
  return step;
}

Replay::Match Replay::Take(const KeyedDigest& expected) {
  const auto place = rows_.find(expected.key);
  if (place == rows_.end()) return Match::kAbsent;
  const bool same = place->second == expected.row;
  rows_.erase(place);
  return same ? Match::kSame : Match::kOther;
}

}  // namespace headrace
