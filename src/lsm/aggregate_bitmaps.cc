// rbm32 and rbm64: unions of roaring bitmaps. A single value is passed on as its bytes are.
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <arrow/array.h>
#include <arrow/builder.h>

#include "lsm/aggregate_column.h"
#include "lsm/roaring_art.h"

namespace headrace {
namespace {

Result<std::string> Unite32(std::string_view a, std::string_view b) {
  HEADRACE_ASSIGN_OR_RETURN(const Roaring into, DecodeRoaring(a));
  HEADRACE_ASSIGN_OR_RETURN(const Roaring more, DecodeRoaring(b));
  UniteRoaring(into.get(), *more);
  return EncodeRoaring(into.get());
}

Result<std::string> Unite64(std::string_view a, std::string_view b) {
  HEADRACE_ASSIGN_OR_RETURN(RoaringArt into, RoaringArt::Decode(a));
  HEADRACE_ASSIGN_OR_RETURN(const RoaringArt more, RoaringArt::Decode(b));
  into.Unite(more);
  return into.Encode();
}

class BitmapReducer final : public ColumnReducer {
 public:
  BitmapReducer(const DataField& column, AggregateRule rule) : column_(column), rule_(std::move(rule)) {}

  Result<std::shared_ptr<arrow::Array>> Reduce(ColumnSources sources, const Steps& steps,
                                               arrow::MemoryPool* pool, size_t* failed) const override {
    arrow::BinaryBuilder builder(pool == nullptr ? arrow::default_memory_pool() : pool);
    for (size_t i = 0; i < steps.count(); ++i) {
      std::optional<std::string> result;
      for (size_t at = steps.starts[i]; at < steps.end(i); ++at) {
        const RowRef ref = steps.rows[at];
        const auto& array = static_cast<const arrow::BinaryArray&>(*sources[ref.batch]);
        const Status taken = Take(steps.steps[at], array, ref.row, &result);
        if (taken.ok()) continue;
        *failed = i;
        return WithContext("column '" + column_.name + "', function " + rule_.name, taken);
      }
      HEADRACE_RETURN_NOT_OK(result.has_value() ? builder.Append(*result) : builder.AppendNull());
    }
    return builder.Finish();
  }

 private:
  Status Take(Step step, const arrow::BinaryArray& array, uint32_t row,
              std::optional<std::string>* result) const {
    const bool whole = step == Step::kWhole || step == Step::kStart;
    if (whole) result->reset();
    if (array.IsNull(row) || (step == Step::kStart && column_.type.nullable)) return Status::OK();
    const std::string_view value = array.GetView(row);
    if (!result->has_value()) {
      result->emplace(value);
      return Status::OK();
    }
    const std::string_view first = step == Step::kLateAdd ? value : std::string_view(**result);
    const std::string_view second = step == Step::kLateAdd ? std::string_view(**result) : value;
    HEADRACE_ASSIGN_OR_RETURN(*result, rule_.function == AggregateFunction::kRbm32 ? Unite32(first, second)
                                                                                   : Unite64(first, second));
    return Status::OK();
  }

  const DataField column_;
  const AggregateRule rule_;
};

}  // namespace

std::unique_ptr<ColumnReducer> MakeBitmapReducer(const DataField& column, const AggregateRule& rule) {
  return std::make_unique<BitmapReducer>(column, rule);
}

}  // namespace headrace
