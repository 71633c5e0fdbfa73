#include "file/int96_column.h"

#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>
#include <parquet/column_reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/types.h>

namespace headrace {
namespace {

constexpr int64_t kJulianDayOf1970 = 2440588;
constexpr int64_t kNanosPerDay = 86400000000000;

// Nothing when it does not fit. Rounds down.
std::optional<int64_t> ToUnit(const parquet::Int96& raw, bool nanos) {
  int64_t nanos_of_day;
  std::memcpy(&nanos_of_day, raw.value.data(), sizeof(nanos_of_day));
  const int64_t day = static_cast<int64_t>(static_cast<int32_t>(raw.value[2])) - kJulianDayOf1970;
  const __int128 exact = static_cast<__int128>(day) * kNanosPerDay + nanos_of_day;
  const __int128 value = nanos ? exact : (exact >= 0 ? exact / 1000 : -((-exact + 999) / 1000));
  if (value < std::numeric_limits<int64_t>::min() || value > std::numeric_limits<int64_t>::max())
    return std::nullopt;
  return static_cast<int64_t>(value);
}

// The non-null values of one leaf, row group after row group.
class LeafValues {
 public:
  LeafValues(parquet::ParquetFileReader* file, int leaf) : file_(file), leaf_(leaf) {}

  // Nothing at the end of the file.
  std::optional<parquet::Int96> Next() {
    while (at_ == count_) {
      if (!Fill()) return std::nullopt;
    }
    return values_[at_++];
  }

 private:
  bool Fill() {
    while (column_ == nullptr || !column_->HasNext()) {
      if (next_group_ >= file_->metadata()->num_row_groups()) return false;
      column_ = file_->RowGroup(next_group_++)->Column(leaf_);
    }
    auto& typed = static_cast<parquet::Int96Reader&>(*column_);
    at_ = count_ = 0;
    typed.ReadBatch(values_.size(), definitions_.data(), repetitions_.data(), values_.data(), &count_);
    return true;
  }

  parquet::ParquetFileReader* file_;
  int leaf_;
  int next_group_ = 0;
  std::shared_ptr<parquet::ColumnReader> column_;
  std::array<parquet::Int96, 1024> values_;
  std::array<int16_t, 1024> definitions_;
  std::array<int16_t, 1024> repetitions_;
  int64_t at_ = 0;
  int64_t count_ = 0;
};

const DataType* ChildNamed(const DataType* row, const std::string& name) {
  if (row == nullptr) return nullptr;
  for (const DataField& field : row->fields) {
    if (field.name == name) return &field.type;
  }
  return nullptr;
}

class Int96ValuesOfColumn final : public Int96Values {
 public:
  Int96ValuesOfColumn(parquet::ParquetFileReader* file, const std::vector<int>& leaves) {
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (file->metadata()->schema()->Column(leaves[i])->physical_type() == parquet::Type::INT96) {
        readers_.emplace(static_cast<int>(i), LeafValues(file, leaves[i]));
      }
    }
  }

  Result<std::shared_ptr<arrow::Array>> Replace(const std::string& column, const arrow::Array& array,
                                                const DataType& declared, arrow::MemoryPool* pool) override {
    column_ = column;
    pool_ = pool;
    next_leaf_ = 0;
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::ArrayData> data,
                              Walk(array.data(), &declared, array.offset(), array.offset() + array.length()));
    return arrow::MakeArray(std::move(data));
  }

 private:
  using Data = std::shared_ptr<arrow::ArrayData>;

  // `begin` and `end` are absolute slots of `data`, its offset included. `declared` is null where the file differs from its schema.
  Result<Data> Walk(const Data& data, const DataType* declared, int64_t begin, int64_t end) {
    switch (data->type->id()) {
      case arrow::Type::STRUCT: return WalkStruct(data, declared, begin, end);
      case arrow::Type::LIST: {
        const auto [first, last] = ChildRange(*data, begin, end);
        HEADRACE_ASSIGN_OR_RETURN(
            Data child, Walk(data->child_data[0], declared == nullptr ? nullptr : declared->element.get(),
                             data->child_data[0]->offset + first, data->child_data[0]->offset + last));
        auto type = arrow::list(data->type->field(0)->WithType(child->type));
        return WithChildren(*data, {std::move(child)}, std::move(type));
      }
      case arrow::Type::MAP: return WalkMap(data, declared, begin, end);
      default: {
        auto reader = readers_.find(next_leaf_++);
        if (reader == readers_.end()) return data;
        return Fill(*data, declared, &reader->second, begin, end);
      }
    }
  }

  Result<Data> WalkStruct(const Data& data, const DataType* declared, int64_t begin, int64_t end) {
    std::vector<Data> children;
    arrow::FieldVector fields;
    for (size_t i = 0; i < data->child_data.size(); ++i) {
      const std::shared_ptr<arrow::Field>& field = data->type->field(static_cast<int>(i));
      const Data& child = data->child_data[i];
      HEADRACE_ASSIGN_OR_RETURN(Data walked, Walk(child, ChildNamed(declared, field->name()),
                                                  child->offset + begin, child->offset + end));
      fields.push_back(field->WithType(walked->type));
      children.push_back(std::move(walked));
    }
    return WithChildren(*data, std::move(children), arrow::struct_(std::move(fields)));
  }

  Result<Data> WalkMap(const Data& data, const DataType* declared, int64_t begin, int64_t end) {
    const auto [first, last] = ChildRange(*data, begin, end);
    const arrow::ArrayData& entries = *data->child_data[0];
    const bool multiset = declared != nullptr && declared->root == TypeRoot::kMultiset;
    const DataType* key_type =
        declared == nullptr ? nullptr : (multiset ? declared->element : declared->key).get();
    const DataType* value_type = declared == nullptr ? nullptr : declared->value.get();
    const Data& old_keys = entries.child_data[0];
    const Data& old_values = entries.child_data[1];
    const int64_t base = entries.offset;
    HEADRACE_ASSIGN_OR_RETURN(
        Data keys, Walk(old_keys, key_type, old_keys->offset + base + first, old_keys->offset + base + last));
    HEADRACE_ASSIGN_OR_RETURN(Data values, Walk(old_values, value_type, old_values->offset + base + first,
                                                old_values->offset + base + last));
    const auto& map = static_cast<const arrow::MapType&>(*data->type);
    auto type = std::make_shared<arrow::MapType>(map.key_field()->WithType(keys->type),
                                                 map.item_field()->WithType(values->type));
    Data pairs = WithChildren(entries, {std::move(keys), std::move(values)}, type->value_type());
    return WithChildren(*data, {std::move(pairs)}, type);
  }

  static std::pair<int64_t, int64_t> ChildRange(const arrow::ArrayData& list, int64_t begin, int64_t end) {
    if (end == begin) return {0, 0};
    const int32_t* offsets = list.GetValues<int32_t>(1, 0);
    return {offsets[begin], offsets[end]};
  }

  static Data WithChildren(const arrow::ArrayData& data, std::vector<Data> children,
                           std::shared_ptr<arrow::DataType> type) {
    auto copy = std::make_shared<arrow::ArrayData>(data);
    copy->child_data = std::move(children);
    copy->type = std::move(type);
    return copy;
  }

  Result<Data> Fill(const arrow::ArrayData& data, const DataType* declared, LeafValues* values, int64_t begin,
                    int64_t end) {
    const bool nanos = declared == nullptr || declared->precision > 6;
    HEADRACE_ASSIGN_OR_RETURN(auto buffer,
                              arrow::AllocateBuffer((data.offset + data.length) * sizeof(int64_t), pool_));
    auto* out = buffer->mutable_data_as<int64_t>();
    std::memset(out, 0, buffer->size());
    const uint8_t* valid = data.buffers[0] == nullptr ? nullptr : data.buffers[0]->data();
    for (int64_t slot = begin; slot < end; ++slot) {
      if (valid != nullptr && !arrow::bit_util::GetBit(valid, slot)) continue;
      const std::optional<parquet::Int96> raw = values->Next();
      if (!raw.has_value()) return Corruption("column ", column_, ": fewer INT96 values than rows");
      const std::optional<int64_t> value = ToUnit(*raw, nanos);
      if (!value.has_value()) {
        return Corruption("column ", column_, ": an INT96 timestamp of Julian day ",
                          static_cast<int32_t>(raw->value[2]), " does not fit int64 ",
                          nanos ? "nanoseconds" : "microseconds",
                          "; allowed are the years 1677 to 2262 when the precision is above 6");
      }
      out[slot] = *value;
    }
    auto copy = std::make_shared<arrow::ArrayData>(data);
    copy->type = arrow::timestamp(nanos ? arrow::TimeUnit::NANO : arrow::TimeUnit::MICRO);
    copy->buffers[1] = std::move(buffer);
    return copy;
  }

  std::map<int, LeafValues> readers_;  // by position among the column's leaves
  std::string column_;
  arrow::MemoryPool* pool_ = nullptr;
  int next_leaf_ = 0;
};

}  // namespace

std::unique_ptr<Int96Values> Int96Values::Make(parquet::ParquetFileReader* file,
                                               const std::vector<int>& leaves) {
  return std::make_unique<Int96ValuesOfColumn>(file, leaves);
}

bool HasInt96(const parquet::ParquetFileReader& file, const std::vector<int>& leaves) {
  for (const int leaf : leaves) {
    if (file.metadata()->schema()->Column(leaf)->physical_type() == parquet::Type::INT96) return true;
  }
  return false;
}

}  // namespace headrace
