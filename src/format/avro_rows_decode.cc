// Avro records to Arrow columns.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/util/decimal.h>

#include "format/avro_rows.h"

namespace headrace {
namespace {

// What is wrong is told by the caller, who knows the file and the record.
constexpr bool kDamaged = false;

// Takes the values of one Avro type into an Arrow builder.
class Column {
 public:
  virtual ~Column() = default;

  // `null_branch`: of the union that the value stands in, -1 when it stands alone.
  void set_null_branch(int8_t null_branch) { null_branch_ = null_branch; }

  Result<bool> Take(AvroCursor* cursor) {
    if (null_branch_ >= 0) {
      int64_t branch = 0;
      if (!cursor->TakeLong(&branch) || branch < 0 || branch > 1) return kDamaged;
      if (branch == null_branch_) {
        HEADRACE_RETURN_NOT_OK(AppendNull());
        return true;
      }
    }
    return TakeValue(cursor);
  }

 private:
  virtual Result<bool> TakeValue(AvroCursor* cursor) = 0;
  virtual Status AppendNull() = 0;

  int8_t null_branch_ = -1;
};

using ColumnPtr = std::unique_ptr<Column>;

template <typename Builder>
class BuilderColumn : public Column {
 public:
  explicit BuilderColumn(arrow::ArrayBuilder* builder) : builder_(static_cast<Builder*>(builder)) {}

 protected:
  Status AppendNull() override { return builder_->AppendNull(); }
  Builder* const builder_;
};

template <typename Builder>
class IntegerColumn final : public BuilderColumn<Builder> {
 public:
  using BuilderColumn<Builder>::BuilderColumn;

 private:
  Result<bool> TakeValue(AvroCursor* cursor) override {
    using Number = typename Builder::value_type;
    int64_t value = 0;
    if (!cursor->TakeLong(&value)) return kDamaged;
    const auto narrow = static_cast<Number>(value);
    if (static_cast<int64_t>(narrow) != value) return kDamaged;
    HEADRACE_RETURN_NOT_OK(this->builder_->Append(narrow));
    return true;
  }
};

template <typename Builder>
class RawColumn final : public BuilderColumn<Builder> {
 public:
  using BuilderColumn<Builder>::BuilderColumn;

 private:
  Result<bool> TakeValue(AvroCursor* cursor) override {
    typename Builder::value_type value;
    std::string_view bytes;
    if (!cursor->TakeRaw(sizeof(value), &bytes)) return kDamaged;
    std::memcpy(&value, bytes.data(), sizeof(value));
    HEADRACE_RETURN_NOT_OK(this->builder_->Append(value));
    return true;
  }
};

class BooleanColumn final : public BuilderColumn<arrow::BooleanBuilder> {
 public:
  using BuilderColumn::BuilderColumn;

 private:
  Result<bool> TakeValue(AvroCursor* cursor) override {
    std::string_view bytes;
    if (!cursor->TakeRaw(1, &bytes) || (bytes[0] != 0 && bytes[0] != 1)) return kDamaged;
    HEADRACE_RETURN_NOT_OK(builder_->Append(bytes[0] != 0));
    return true;
  }
};

class BytesColumn final : public BuilderColumn<arrow::BinaryBuilder> {
 public:
  using BuilderColumn::BuilderColumn;

 private:
  Result<bool> TakeValue(AvroCursor* cursor) override {
    std::string_view bytes;
    if (!cursor->TakeBytes(&bytes)) return kDamaged;
    HEADRACE_RETURN_NOT_OK(builder_->Append(bytes));
    return true;
  }
};

class DecimalColumn final : public BuilderColumn<arrow::Decimal128Builder> {
 public:
  DecimalColumn(arrow::ArrayBuilder* builder, int32_t precision)
      : BuilderColumn(builder), precision_(precision) {}

 private:
  Result<bool> TakeValue(AvroCursor* cursor) override {
    std::string_view bytes;
    if (!cursor->TakeBytes(&bytes) || bytes.empty()) return kDamaged;
    const auto sign = static_cast<uint8_t>(static_cast<int8_t>(bytes.front()) < 0 ? 0xFF : 0x00);
    while (bytes.size() > 16 && static_cast<uint8_t>(bytes.front()) == sign) bytes.remove_prefix(1);
    if (bytes.size() > 16) return kDamaged;
    std::array<uint8_t, 16> little;
    little.fill(sign);
    for (size_t i = 0; i < bytes.size(); ++i) little[i] = static_cast<uint8_t>(bytes[bytes.size() - 1 - i]);
    const arrow::Decimal128 value(little.data());
    if (!value.FitsInPrecision(precision_)) return kDamaged;
    HEADRACE_RETURN_NOT_OK(builder_->Append(value));
    return true;
  }
  const int32_t precision_;
};

// Calls `take` for each item, block after block.
template <typename Take>
Result<bool> TakeItems(AvroCursor* cursor, Take&& take) {
  while (true) {
    int64_t count = 0;
    int64_t block_bytes = 0;
    if (!cursor->TakeCount(&count, &block_bytes)) return kDamaged;
    if (count == 0) return true;
    if (static_cast<uint64_t>(count) > cursor->remaining()) return kDamaged;
    for (; count > 0; --count) {
      HEADRACE_ASSIGN_OR_RETURN(const bool taken, take());
      if (!taken) return kDamaged;
    }
  }
}

class ListColumn final : public BuilderColumn<arrow::ListBuilder> {
 public:
  ListColumn(arrow::ArrayBuilder* builder, ColumnPtr items)
      : BuilderColumn(builder), items_(std::move(items)) {}

 private:
  Result<bool> TakeValue(AvroCursor* cursor) override {
    HEADRACE_RETURN_NOT_OK(builder_->Append());
    return TakeItems(cursor, [&] { return items_->Take(cursor); });
  }
  const ColumnPtr items_;
};

class MapColumn final : public BuilderColumn<arrow::MapBuilder> {
 public:
  MapColumn(arrow::ArrayBuilder* builder, ColumnPtr keys, ColumnPtr values)
      : BuilderColumn(builder), keys_(std::move(keys)), values_(std::move(values)) {}

 private:
  Result<bool> TakeValue(AvroCursor* cursor) override {
    HEADRACE_RETURN_NOT_OK(builder_->Append());
    return TakeItems(cursor, [&]() -> Result<bool> {
      HEADRACE_ASSIGN_OR_RETURN(const bool key, keys_->Take(cursor));
      if (!key || builder_->key_builder()->null_count() > 0) return kDamaged;  // no key is null
      return values_->Take(cursor);
    });
  }
  const ColumnPtr keys_;
  const ColumnPtr values_;
};

class RowColumn final : public BuilderColumn<arrow::StructBuilder> {
 public:
  RowColumn(arrow::ArrayBuilder* builder, std::vector<ColumnPtr> fields)
      : BuilderColumn(builder), fields_(std::move(fields)) {}

 private:
  Result<bool> TakeValue(AvroCursor* cursor) override {
    HEADRACE_RETURN_NOT_OK(builder_->Append());
    for (const ColumnPtr& field : fields_) {
      HEADRACE_ASSIGN_OR_RETURN(const bool taken, field->Take(cursor));
      if (!taken) return kDamaged;
    }
    return true;
  }
  const std::vector<ColumnPtr> fields_;
};

// Columns for the values of a writer's schema.
class ColumnPlanner {
 public:
  ColumnPlanner(const AvroSchema& schema, std::string_view origin) : schema_(schema), origin_(origin) {}

  Result<ColumnPtr> Plan(const DataType& type, int32_t node, arrow::ArrayBuilder* builder,
                         const std::string& where) const {
    int8_t null_branch = -1;
    const AvroNode& outer = schema_.at(node);
    if (outer.kind == AvroNode::kUnion) {
      const bool two = outer.children.size() == 2;
      for (int8_t branch = 0; two && branch < 2; ++branch)
        if (schema_.at(outer.children[static_cast<size_t>(branch)]).kind == AvroNode::kNull)
          null_branch = branch;
      if (null_branch < 0) return Mismatch(type, node, where);
      node = outer.children[static_cast<size_t>(1 - null_branch)];
    }
    HEADRACE_ASSIGN_OR_RETURN(ColumnPtr column, PlanValue(type, node, builder, where));
    column->set_null_branch(null_branch);
    return column;
  }

 private:
  Status Mismatch(const DataType& type, int32_t node, const std::string& where) const {
    return Corruption(origin_, ": column '", where, "' is ", NameOf(schema_.at(node).kind),
                      " in the file, its schema says ", ToSql(type));
  }

  template <typename Made>
  Result<ColumnPtr> Simple(std::initializer_list<AvroNode::Kind> kinds, const DataType& type, int32_t node,
                           arrow::ArrayBuilder* builder, const std::string& where) const {
    if (std::find(kinds.begin(), kinds.end(), schema_.at(node).kind) == kinds.end())
      return Mismatch(type, node, where);
    return std::make_unique<Made>(builder);
  }

  Result<ColumnPtr> PlanValue(const DataType& type, int32_t node, arrow::ArrayBuilder* builder,
                              const std::string& where) const {
    constexpr auto kInt = AvroNode::kInt;
    constexpr auto kLong = AvroNode::kLong;
    switch (type.root) {
      case TypeRoot::kBoolean: return Simple<BooleanColumn>({AvroNode::kBoolean}, type, node, builder, where);
      case TypeRoot::kTinyInt:
        return Simple<IntegerColumn<arrow::Int8Builder>>({kInt, kLong}, type, node, builder, where);
      case TypeRoot::kSmallInt:
        return Simple<IntegerColumn<arrow::Int16Builder>>({kInt, kLong}, type, node, builder, where);
      case TypeRoot::kInt:
        return Simple<IntegerColumn<arrow::Int32Builder>>({kInt, kLong}, type, node, builder, where);
      case TypeRoot::kBigInt:
        return Simple<IntegerColumn<arrow::Int64Builder>>({kInt, kLong}, type, node, builder, where);
      case TypeRoot::kFloat:
        return Simple<RawColumn<arrow::FloatBuilder>>({AvroNode::kFloat}, type, node, builder, where);
      case TypeRoot::kDouble:
        return Simple<RawColumn<arrow::DoubleBuilder>>({AvroNode::kDouble}, type, node, builder, where);
      case TypeRoot::kChar:
      case TypeRoot::kVarChar:
      case TypeRoot::kBinary:
      case TypeRoot::kVarBinary:
        return Simple<BytesColumn>({AvroNode::kString, AvroNode::kBytes}, type, node, builder, where);
      case TypeRoot::kDecimal:
        if (schema_.at(node).kind != AvroNode::kBytes) return Mismatch(type, node, where);
        return std::make_unique<DecimalColumn>(builder, type.precision);
      case TypeRoot::kDate:
        return Simple<IntegerColumn<arrow::Date32Builder>>({kInt, kLong}, type, node, builder, where);
      case TypeRoot::kTime:
        return Simple<IntegerColumn<arrow::Time32Builder>>({kInt, kLong}, type, node, builder, where);
      case TypeRoot::kTimestamp:
      case TypeRoot::kTimestampLtz:
        return Simple<IntegerColumn<arrow::TimestampBuilder>>({kInt, kLong}, type, node, builder, where);
      case TypeRoot::kArray: return PlanList(type, node, builder, where);
      case TypeRoot::kMap: return PlanMap(type, *type.key, *type.value, node, builder, where);
      case TypeRoot::kMultiset: return PlanMap(type, *type.element, DataType{}, node, builder, where);
      case TypeRoot::kRow: return PlanRow(type, node, builder, where);
    }
    return Mismatch(type, node, where);
  }

  Result<ColumnPtr> PlanList(const DataType& type, int32_t node, arrow::ArrayBuilder* builder,
                             const std::string& where) const {
    const AvroNode& list = schema_.at(node);
    if (list.kind != AvroNode::kArray || !schema_.at(list.children[0]).takes_bytes)
      return Mismatch(type, node, where);
    auto* lists = static_cast<arrow::ListBuilder*>(builder);
    HEADRACE_ASSIGN_OR_RETURN(ColumnPtr items,
                              Plan(*type.element, list.children[0], lists->value_builder(), where));
    return std::make_unique<ListColumn>(builder, std::move(items));
  }

  Result<ColumnPtr> PlanMap(const DataType& type, const DataType& key, const DataType& value, int32_t node,
                            arrow::ArrayBuilder* builder, const std::string& where) const {
    const AvroNode& outer = schema_.at(node);
    auto* maps = static_cast<arrow::MapBuilder*>(builder);
    const bool text_key = key.root == TypeRoot::kChar || key.root == TypeRoot::kVarChar;
    if (outer.kind == AvroNode::kMap && text_key) {
      HEADRACE_ASSIGN_OR_RETURN(ColumnPtr values,
                                Plan(value, outer.children[0], maps->item_builder(), where));
      return std::make_unique<MapColumn>(builder, std::make_unique<BytesColumn>(maps->key_builder()),
                                         std::move(values));
    }
    const bool entries =
        outer.kind == AvroNode::kArray && schema_.at(outer.children[0]).kind == AvroNode::kRecord &&
        schema_.at(outer.children[0]).children.size() == 2 && schema_.at(outer.children[0]).takes_bytes;
    if (!entries) return Mismatch(type, node, where);
    const AvroNode& entry = schema_.at(outer.children[0]);
    HEADRACE_ASSIGN_OR_RETURN(ColumnPtr keys, Plan(key, entry.children[0], maps->key_builder(), where));
    HEADRACE_ASSIGN_OR_RETURN(ColumnPtr values, Plan(value, entry.children[1], maps->item_builder(), where));
    return std::make_unique<MapColumn>(builder, std::move(keys), std::move(values));
  }

  Result<ColumnPtr> PlanRow(const DataType& type, int32_t node, arrow::ArrayBuilder* builder,
                            const std::string& where) const {
    const AvroNode& record = schema_.at(node);
    // The writer's own shape of the row: fields in its order, under its names.
    if (record.kind != AvroNode::kRecord || record.children.size() != type.fields.size())
      return Mismatch(type, node, where);
    auto* rows = static_cast<arrow::StructBuilder*>(builder);
    std::vector<ColumnPtr> fields;
    for (size_t i = 0; i < type.fields.size(); ++i) {
      if (record.names[i] != type.fields[i].name) return Mismatch(type, node, where);
      HEADRACE_ASSIGN_OR_RETURN(
          ColumnPtr field, Plan(type.fields[i].type, record.children[i],
                                rows->field_builder(static_cast<int>(i)), where + "." + record.names[i]));
      fields.push_back(std::move(field));
    }
    return std::make_unique<RowColumn>(builder, std::move(fields));
  }

  const AvroSchema& schema_;
  const std::string_view origin_;
};

class Decoder final : public AvroRowDecoder {
 public:
  explicit Decoder(AvroSchema schema) : schema_(std::move(schema)) {}

  Status Open(const std::vector<DataField>& fields, std::string_view origin, arrow::MemoryPool* pool) {
    const AvroNode& record = schema_.at(0);
    if (record.kind != AvroNode::kRecord || !record.takes_bytes)
      return Corruption(origin, ": its rows are ", NameOf(record.kind), ", not records with columns");
    steps_.resize(record.children.size());
    const ColumnPlanner planner(schema_, origin);
    for (const DataField& field : fields) {
      const auto at = std::find(record.names.begin(), record.names.end(), field.name);
      if (at == record.names.end()) return Corruption(origin, ": there is no column '", field.name, "'");
      const auto index = static_cast<size_t>(at - record.names.begin());
      builders_.emplace_back();
      HEADRACE_RETURN_NOT_OK(arrow::MakeBuilder(pool, ToArrowType(field.type), &builders_.back()));
      HEADRACE_ASSIGN_OR_RETURN(steps_[index], planner.Plan(field.type, record.children[index],
                                                            builders_.back().get(), field.name));
    }
    return Status::OK();
  }

  Result<bool> TakeRow(AvroCursor* cursor) override {
    const AvroNode& record = schema_.at(0);
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i] == nullptr) {
        if (!SkipAvroValue(schema_, record.children[i], cursor)) return kDamaged;
        continue;
      }
      HEADRACE_ASSIGN_OR_RETURN(const bool taken, steps_[i]->Take(cursor));
      if (!taken) return kDamaged;
    }
    return true;
  }

  Result<arrow::ArrayVector> Finish() override {
    arrow::ArrayVector columns;
    for (const auto& builder : builders_) {
      HEADRACE_ASSIGN_OR_RETURN(auto column, builder->Finish());
      columns.push_back(std::move(column));
    }
    return columns;
  }

 private:
  const AvroSchema schema_;
  std::vector<ColumnPtr> steps_;                                // by the writer's columns; null: skipped
  std::vector<std::unique_ptr<arrow::ArrayBuilder>> builders_;  // by the wanted fields
};

}  // namespace

Result<std::unique_ptr<AvroRowDecoder>> AvroRowDecoder::Make(AvroSchema schema,
                                                             const std::vector<DataField>& fields,
                                                             std::string_view origin,
                                                             arrow::MemoryPool* pool) {
  auto decoder = std::make_unique<Decoder>(std::move(schema));
  HEADRACE_RETURN_NOT_OK(decoder->Open(fields, origin, pool));
  return decoder;
}

}  // namespace headrace
