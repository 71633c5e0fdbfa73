// Changes as Debezium's JSON events: pairs of images joined, then each event to a stream or a topic.
#include "headrace/change_events.h"

#include <optional>

#include <arrow/array.h>
#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "api/cell_text.h"
#include "base/error.h"
#include "file/json_lines.h"
#include "format/data_type.h"
#include "ingest/kafka_sink.h"

namespace headrace {
namespace {

constexpr int kAdded = 2;  // _rowkind and _snapshot come first

struct ChangeEvent {
  std::string_view key;  // empty: a table without a key
  std::string_view value;
  bool is_delete = false;
};

class EventReceiver {
 public:
  virtual ~EventReceiver() = default;
  virtual Status Take(const ChangeEvent& event) = 0;
  virtual Status EndBatch() = 0;
  virtual Status Flush() = 0;
};

// An image as JSON, with its key.
struct Image {
  std::string key;
  std::string row;
  int64_t snapshot = 0;
};

class DebeziumEvents final : public ChangeEvents {
 public:
  DebeziumEvents(std::vector<DataField> fields, std::vector<int> key, std::string source,
                 std::unique_ptr<EventReceiver> receiver)
      : fields_(std::move(fields)),
        key_(std::move(key)),
        source_(std::move(source)),
        receiver_(std::move(receiver)) {
    for (const DataField& field : fields_) {
      std::string name;
      AppendJsonString(field.name, &name);
      names_.push_back(name + ":");
    }
  }

  Status Write(const arrow::RecordBatch& changes) override {
    const auto& kinds = static_cast<const arrow::StringArray&>(*changes.column(0));
    const auto& snapshots = static_cast<const arrow::Int64Array&>(*changes.column(1));
    for (int64_t row = 0; row < changes.num_rows(); ++row)
      HEADRACE_RETURN_NOT_OK(Add(kinds.GetView(row), ImageOf(changes, row, snapshots.Value(row))));
    return receiver_->EndBatch();
  }

  Status Flush() override {
    HEADRACE_RETURN_NOT_OK(EndPending());
    return receiver_->Flush();
  }

 private:
  Image ImageOf(const arrow::RecordBatch& batch, int64_t row, int64_t snapshot) const {
    Image image;
    image.snapshot = snapshot;
    std::vector<std::pair<size_t, size_t>> spans(fields_.size());
    for (size_t i = 0; i < fields_.size(); ++i) {
      image.row += i == 0 ? "{" : ",";
      const size_t begin = image.row.size();
      image.row += names_[i];
      AppendJsonValue(*batch.column(static_cast<int>(i) + kAdded), row, fields_[i].type, &image.row);
      spans[i] = {begin, image.row.size() - begin};
    }
    image.row += '}';
    for (const int i : key_) {
      image.key += image.key.empty() ? "{" : ",";
      image.key.append(image.row, spans[i].first, spans[i].second);
    }
    if (!image.key.empty()) image.key += '}';
    return image;
  }

  Status Add(std::string_view kind, Image image) {
    // A +U belongs to the -U before it when they are of one key: the two come one after the other.
    if (kind == "+U" && pending_ && pending_->key == image.key) {
      const Image before = std::move(*pending_);
      pending_.reset();
      return Emit('u', &before, &image);
    }
    HEADRACE_RETURN_NOT_OK(EndPending());
    if (kind == "-U") {
      pending_ = std::move(image);
      return Status::OK();
    }
    if (kind == "-D") return Emit('d', &image, nullptr);
    return Emit(kind == "+U" ? 'u' : 'c', nullptr, &image);
  }

  // A -U that nothing followed takes its row away.
  Status EndPending() {
    if (!pending_) return Status::OK();
    const Image alone = std::move(*pending_);
    pending_.reset();
    return Emit('d', &alone, nullptr);
  }

  Status Emit(char op, const Image* before, const Image* after) {
    const Image& shown = after == nullptr ? *before : *after;
    value_ = "{\"before\":";
    value_ += before == nullptr ? "null" : before->row;
    value_ += ",\"after\":";
    value_ += after == nullptr ? "null" : after->row;
    value_ += source_ + std::to_string(shown.snapshot) + "},\"op\":\"";
    value_ += op;
    value_ += "\"}";
    return receiver_->Take({shown.key, value_, after == nullptr});
  }

  const std::vector<DataField> fields_;
  const std::vector<int> key_;  // of fields_
  const std::string source_;    // up to the snapshot's number
  const std::unique_ptr<EventReceiver> receiver_;
  std::vector<std::string> names_;
  std::optional<Image> pending_;  // a -U whose +U may follow
  std::string value_;
};

class LinesReceiver final : public EventReceiver {
 public:
  explicit LinesReceiver(std::shared_ptr<arrow::io::OutputStream> output) : output_(std::move(output)) {}
  Status Take(const ChangeEvent& event) override {
    text_ += event.value;
    text_ += '\n';
    return Status::OK();
  }
  Status EndBatch() override {
    const Status written = output_->Write(text_);
    text_.clear();
    return written;
  }
  Status Flush() override {
    HEADRACE_RETURN_NOT_OK(EndBatch());
    return output_->Flush();
  }

 private:
  const std::shared_ptr<arrow::io::OutputStream> output_;
  std::string text_;
};

class TopicReceiver final : public EventReceiver {
 public:
  TopicReceiver(std::unique_ptr<ingest::KafkaSink> sink, bool tombstones)
      : sink_(std::move(sink)), tombstones_(tombstones) {}
  Status Take(const ChangeEvent& event) override {
    const std::optional<std::string_view> key =
        event.key.empty() ? std::nullopt : std::optional<std::string_view>(event.key);
    HEADRACE_RETURN_NOT_OK(sink_->Send(key, event.value));
    if (!tombstones_ || !event.is_delete || !key) return Status::OK();
    return sink_->Send(key, std::nullopt);
  }
  Status EndBatch() override { return Status::OK(); }
  Status Flush() override { return sink_->Flush(); }

 private:
  const std::unique_ptr<ingest::KafkaSink> sink_;
  const bool tombstones_;
};

// ,"source":{"connector":"headrace","db":"shop","table":"customers","snapshot":
std::string SourceOf(const TableInfo& table) {
  const size_t dot = table.name.find('.');
  const bool is_name = dot != std::string::npos && table.name.find('/') == std::string::npos;
  std::string text = ",\"source\":{\"connector\":\"headrace\",\"db\":";
  AppendJsonString(is_name ? std::string_view(table.name).substr(0, dot) : std::string_view(), &text);
  text += ",\"table\":";
  AppendJsonString(is_name ? std::string_view(table.name).substr(dot + 1) : std::string_view(table.name),
                   &text);
  return text + ",\"snapshot\":";
}

Result<std::unique_ptr<ChangeEvents>> Open(const TableInfo& table,
                                           const std::shared_ptr<arrow::Schema>& schema,
                                           std::unique_ptr<EventReceiver> receiver) {
  const arrow::FieldVector columns(schema->fields().begin() + kAdded, schema->fields().end());
  HEADRACE_ASSIGN_OR_RETURN(std::vector<DataField> fields, FieldsOfSchema(*arrow::schema(columns)));
  std::vector<int> key;
  for (const std::string& name : table.primary_key) {
    size_t i = 0;
    while (i < fields.size() && fields[i].name != name) ++i;
    if (i == fields.size()) {
      return Invalid("changes of table ", table.name, " as events: the column ", name,
                     " of its primary key is not among the columns chosen, and an event needs it");
    }
    key.push_back(static_cast<int>(i));
  }
  return std::make_unique<DebeziumEvents>(std::move(fields), std::move(key), SourceOf(table),
                                          std::move(receiver));
}

}  // namespace

Result<std::unique_ptr<ChangeEvents>> OpenDebeziumLines(const TableInfo& table,
                                                        const std::shared_ptr<arrow::Schema>& schema,
                                                        std::shared_ptr<arrow::io::OutputStream> output) {
  return Open(table, schema, std::make_unique<LinesReceiver>(std::move(output)));
}

Result<std::unique_ptr<ChangeEvents>> OpenDebeziumTopic(const TableInfo& table,
                                                        const std::shared_ptr<arrow::Schema>& schema,
                                                        const KafkaOutput& output) {
  ingest::KafkaSinkOptions options;
  HEADRACE_ASSIGN_OR_RETURN(options.address, ingest::ParseKafkaAddress(output.address));
  options.properties = output.properties;
  options.say = output.say;
  options.cancel = output.cancel;
  HEADRACE_ASSIGN_OR_RETURN(std::unique_ptr<ingest::KafkaSink> sink,
                            ingest::OpenKafkaSink(std::move(options)));
  return Open(table, schema, std::make_unique<TopicReceiver>(std::move(sink), output.tombstones));
}

}  // namespace headrace
