// Manifests that came as Parquet or ORC: rows of an Arrow batch to structs.
#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "format/manifest.h"
#include "format/manifest_fill.h"

namespace headrace {
namespace {

// Integers of any width and timestamps of any unit (as milliseconds).
std::optional<int64_t> LongAt(const arrow::Array& array, int64_t row) {
  switch (array.type_id()) {
    case arrow::Type::INT8: return static_cast<const arrow::Int8Array&>(array).Value(row);
    case arrow::Type::INT16: return static_cast<const arrow::Int16Array&>(array).Value(row);
    case arrow::Type::INT32: return static_cast<const arrow::Int32Array&>(array).Value(row);
    case arrow::Type::INT64: return static_cast<const arrow::Int64Array&>(array).Value(row);
    case arrow::Type::TIMESTAMP: {
      const int64_t count = static_cast<const arrow::TimestampArray&>(array).Value(row);
      static constexpr int64_t kUnitsPerMilli[] = {0, 1, 1000, 1000000};
      const auto unit = static_cast<const arrow::TimestampType&>(*array.type()).unit();
      if (unit == arrow::TimeUnit::SECOND) {
        int64_t millis = 0;
        if (__builtin_mul_overflow(count, int64_t{1000}, &millis)) return std::nullopt;
        return millis;
      }
      const int64_t units = kUnitsPerMilli[unit];
      return count / units - (count % units < 0 ? 1 : 0);
    }
    default: return std::nullopt;
  }
}

std::optional<std::string_view> BytesAt(const arrow::Array& array, int64_t row) {
  switch (array.type_id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY: return static_cast<const arrow::BinaryArray&>(array).GetView(row);
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY: return static_cast<const arrow::LargeBinaryArray&>(array).GetView(row);
    default: return std::nullopt;
  }
}

constexpr Problem kOtherType = "a column of an unexpected Arrow type";

// The columns of one struct, matched with the wanted fields by name.
struct Columns {
  std::vector<std::shared_ptr<arrow::Array>> arrays;  // by wanted field; null: the column is absent
};

class BatchReader {
 public:
  std::string_view field() const { return field_; }

  template <typename T>
  Problem Read(const Columns& columns, int64_t row, T* out) {
    const std::span<const WantedField> fields = FieldsFor(out);
    for (size_t i = 0; i < fields.size(); ++i) {
      const std::shared_ptr<arrow::Array>& array = columns.arrays[i];
      Problem problem = nullptr;
      if (array == nullptr || array->IsNull(row)) {
        if (fields[i].required)
          problem = array == nullptr ? "the column is missing" : "a null where there must be a value";
      } else {
        problem = ReadField(*array, row, static_cast<int32_t>(i), fields[i], out);
      }
      if (problem != nullptr) {
        if (field_.empty()) field_ = fields[i].name;
        return problem;
      }
    }
    return nullptr;
  }

  static Columns Match(std::span<const WantedField> fields, const arrow::StructArray& rows) {
    Columns columns;
    for (const WantedField& field : fields)
      columns.arrays.push_back(rows.GetFieldByName(std::string(field.name)));
    return columns;
  }

 private:
  template <typename T>
  Problem ReadField(const arrow::Array& array, int64_t row, int32_t field, const WantedField& wanted,
                    T* out) {
    switch (wanted.shape) {
      case AvroShape::kLong: {
        const std::optional<int64_t> value = LongAt(array, row);
        return value.has_value() ? SetLong(out, field, *value) : kOtherType;
      }
      case AvroShape::kBytes: {
        const std::optional<std::string_view> value = BytesAt(array, row);
        return value.has_value() ? SetBytes(out, field, *value) : kOtherType;
      }
      case AvroShape::kLongs:
        if constexpr (requires { LongsOf(out, 0); }) return ReadLongs(array, row, LongsOf(out, field));
        return kOtherType;
      case AvroShape::kStrings:
        if constexpr (requires { StringsOf(out, 0); }) {
          const Problem problem = ReadStrings(array, row, StringsOf(out, field));
          return problem != nullptr ? problem : CheckStrings(*out, field);
        }
        return kOtherType;
      case AvroShape::kRecord:
        if constexpr (requires { RecordOf(out, 0); }) return ReadRecord(array, row, RecordOf(out, field));
        return kOtherType;
      case AvroShape::kRecords:
        if constexpr (requires { RecordsOf(out, 0); }) return ReadRecords(array, row, RecordsOf(out, field));
        return kOtherType;
      case AvroShape::kPresence:
        if constexpr (requires { SetPresent(out); }) SetPresent(out);
        return nullptr;
    }
    return kOtherType;
  }

  template <typename T>
  Problem ReadRecord(const arrow::Array& array, int64_t row, T* out) {
    if (array.type_id() != arrow::Type::STRUCT) return kOtherType;
    const auto& rows = static_cast<const arrow::StructArray&>(array);
    return Read(Match(FieldsFor(out), rows), row, out);
  }

  template <typename Item>
  Problem ReadItems(const arrow::Array& array, int64_t row, Item&& item) {
    if (array.type_id() != arrow::Type::LIST) return kOtherType;
    const auto& list = static_cast<const arrow::ListArray&>(array);
    for (int64_t i = list.value_offset(row); i < list.value_offset(row) + list.value_length(row); ++i) {
      const Problem problem = item(*list.values(), i);
      if (problem != nullptr) return problem;
    }
    return nullptr;
  }

  Problem ReadLongs(const arrow::Array& array, int64_t row, std::vector<std::optional<int64_t>>* out) {
    return ReadItems(array, row, [out](const arrow::Array& items, int64_t i) -> Problem {
      out->emplace_back();
      if (items.IsNull(i)) return nullptr;
      out->back() = LongAt(items, i);
      return out->back().has_value() ? nullptr : kOtherType;
    });
  }

  Problem ReadStrings(const arrow::Array& array, int64_t row, std::vector<std::string>* out) {
    return ReadItems(array, row, [out](const arrow::Array& items, int64_t i) -> Problem {
      if (items.IsNull(i)) return "a null in a list of names";
      const std::optional<std::string_view> text = BytesAt(items, i);
      if (!text.has_value()) return kOtherType;
      out->emplace_back(*text);
      return nullptr;
    });
  }

  template <typename T>
  Problem ReadRecords(const arrow::Array& array, int64_t row, std::vector<T>* out) {
    return ReadItems(array, row, [this, out](const arrow::Array& items, int64_t i) -> Problem {
      if (items.IsNull(i)) return "a null in a list of records";
      return ReadRecord(items, i, &out->emplace_back());
    });
  }

  std::string_view field_;
};

template <typename T>
Result<std::vector<T>> FromBatch(const arrow::RecordBatch& batch, std::string_view origin) {
  Columns columns;
  for (const WantedField& field : FieldsFor(static_cast<const T*>(nullptr))) {
    columns.arrays.push_back(batch.GetColumnByName(std::string(field.name)));
  }
  std::vector<T> records;
  records.reserve(static_cast<size_t>(batch.num_rows()));
  for (int64_t row = 0; row < batch.num_rows(); ++row) {
    BatchReader reader;
    const Problem problem = reader.Read(columns, row, &records.emplace_back());
    if (problem != nullptr)
      return Corruption(origin, ": record ", row, ", field ", reader.field(), ": ", problem);
  }
  return records;
}

}  // namespace

Result<std::vector<ManifestFileMeta>> ManifestListFromBatch(const arrow::RecordBatch& batch,
                                                            std::string_view origin) {
  return FromBatch<ManifestFileMeta>(batch, origin);
}

Result<std::vector<ManifestEntry>> ManifestFromBatch(const arrow::RecordBatch& batch,
                                                     std::string_view origin) {
  return FromBatch<ManifestEntry>(batch, origin);
}

Result<std::vector<IndexManifestEntry>> IndexManifestFromBatch(const arrow::RecordBatch& batch,
                                                               std::string_view origin) {
  return FromBatch<IndexManifestEntry>(batch, origin);
}

}  // namespace headrace
