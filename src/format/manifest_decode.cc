// Avro manifests to structs: follows a plan made once a file, straight from the block's bytes.
#include <algorithm>
#include <optional>

#include "format/avro_container.h"
#include "format/avro_plan.h"
#include "format/manifest.h"
#include "format/manifest_fill.h"
#include "format/manifest_schemas.h"

namespace headrace {
namespace {

constexpr int64_t kMostReserved = 4096;
constexpr Problem kDamaged = "bytes that are damaged or cut off";

// What of a manifest is decoded.
struct EntrySelection {
  const EntryHeadFilter* wanted = nullptr;  // nullptr: every entry
  EntryDetail detail = EntryDetail::kWhole;
};

bool IsStatistics(int32_t field) {
  return field == file_field::kKeyStats || field == file_field::kValueStats ||
         field == file_field::kValueStatsColumns;
}

class RecordReader {
 public:
  RecordReader(const AvroPlan& plan, AvroCursor* cursor, const EntrySelection& selection)
      : plan_(plan),
        cursor_(*cursor),
        filter_(selection.wanted),
        statistics_(selection.detail == EntryDetail::kWhole) {}

  // The field at which Read stopped.
  std::string_view field() const { return field_; }
  // The filter did not want the record; what was read of it is not complete.
  bool unwanted() const { return unwanted_; }

  template <typename T>
  Problem Read(int32_t record, T* out) {
    const std::span<const WantedField> fields = FieldsFor(out);
    for (const AvroStep& step : plan_.records[static_cast<size_t>(record)]) {
      if (step.wanted < 0) {
        if (SkipAvroValue(plan_.schema, step.node, &cursor_)) continue;
        field_ = "(unknown)";
        return kDamaged;
      }
      const WantedField& wanted = fields[static_cast<size_t>(step.wanted)];
      if (wanted.shape == AvroShape::kPresence) {
        field_ = wanted.name;
        if constexpr (requires { SetPresent(out); }) {
          bool there = false;
          if (!ReadPresence(step, &there)) return kDamaged;
          if (there) SetPresent(out);
        }
        field_ = {};
        continue;
      }
      if constexpr (std::is_same_v<T, DataFileMeta>) {
        if (!statistics_ && IsStatistics(step.wanted)) {
          if (SkipAvroValue(plan_.schema, step.node, &cursor_)) continue;
          field_ = wanted.name;
          return kDamaged;
        }
      }
      bool present = !step.nothing;
      Problem problem = TakeBranch(step.null_branch, &present);
      if (problem == nullptr && !present && wanted.required) problem = "a null where there must be a value";
      if constexpr (std::is_same_v<T, ManifestEntry>) {
        // The head comes before the file in what every known writer writes; if not, the filter is asked afterwards.
        if (step.wanted == entry_field::kFile && filter_ != nullptr && head_fields_ == entry_field::kFile &&
            problem == nullptr) {
          filter_asked_ = true;
          unwanted_ = !(*filter_)(*out);
        }
        ++head_fields_;
        if (unwanted_) {
          if (!SkipAvroValue(plan_.schema, PlainNode(step), &cursor_)) problem = kDamaged;
          present = false;
        }
      }
      if (problem == nullptr && present) problem = ReadField(step, wanted, out);
      if (problem != nullptr) {
        if (field_.empty()) field_ = wanted.name;
        return problem;
      }
    }
    if constexpr (std::is_same_v<T, ManifestEntry>) {
      if (filter_ != nullptr && !filter_asked_) unwanted_ = !(*filter_)(*out);
    }
    return nullptr;
  }

 private:
  // The type of a value whose union branch has been taken already.
  int32_t PlainNode(const AvroStep& step) const {
    if (step.null_branch < 0) return step.node;
    return plan_.schema.at(step.node).children[static_cast<size_t>(1 - step.null_branch)];
  }

  bool ReadPresence(const AvroStep& step, bool* there) {
    if (step.nothing) return true;
    const AvroNode& node = plan_.schema.at(step.node);
    int64_t branch = 0;
    if (step.null_branch < 0) {
      *there = true;
      return SkipAvroValue(plan_.schema, step.node, &cursor_);
    }
    if (!cursor_.TakeLong(&branch) || branch < 0 || static_cast<size_t>(branch) >= node.children.size())
      return false;
    *there = branch != step.null_branch;
    return !*there || SkipAvroValue(plan_.schema, node.children[static_cast<size_t>(branch)], &cursor_);
  }

  Problem TakeBranch(int8_t null_branch, bool* present) {
    if (null_branch < 0) return nullptr;
    int64_t branch = 0;
    if (!cursor_.TakeLong(&branch)) return kDamaged;
    if (branch != null_branch && branch != 1 - null_branch) return "a union branch that does not exist";
    *present = branch != null_branch;
    return nullptr;
  }

  template <typename T>
  Problem ReadField(const AvroStep& step, const WantedField& wanted, T* out) {
    switch (wanted.shape) {
      case AvroShape::kLong: {
        int64_t value = 0;
        return cursor_.TakeLong(&value) ? SetLong(out, step.wanted, value) : kDamaged;
      }
      case AvroShape::kBytes: {
        std::string_view value;
        return cursor_.TakeBytes(&value) ? SetBytes(out, step.wanted, value) : kDamaged;
      }
      case AvroShape::kLongs:
        if constexpr (requires { LongsOf(out, 0); }) return ReadLongs(step, LongsOf(out, step.wanted));
        return kDamaged;
      case AvroShape::kStrings:
        if constexpr (requires { StringsOf(out, 0); }) {
          const Problem problem = ReadStrings(step, StringsOf(out, step.wanted));
          return problem != nullptr ? problem : CheckStrings(*out, step.wanted);
        }
        return kDamaged;
      case AvroShape::kRecord:
        if constexpr (requires { RecordOf(out, 0); }) return Read(step.inner, RecordOf(out, step.wanted));
        return kDamaged;
      case AvroShape::kRecords:
        if constexpr (requires { RecordsOf(out, 0); }) return ReadRecords(step, RecordsOf(out, step.wanted));
        return kDamaged;
      case AvroShape::kPresence: return kDamaged;  // never gets here: ReadPresence
    }
    return kDamaged;
  }

  // Calls `item` for each item, null or not; `out` gets the room first. An item takes a byte at least, so the room is bounded.
  template <typename T, typename Item>
  Problem ReadItems(const AvroStep& step, std::vector<T>* out, Item&& item) {
    while (true) {
      int64_t count = 0;
      int64_t block_bytes = 0;
      if (!cursor_.TakeCount(&count, &block_bytes)) return kDamaged;
      if (count == 0) return nullptr;
      if (static_cast<uint64_t>(count) > cursor_.remaining())
        return "an array longer than the bytes that follow";
      out->reserve(out->size() + static_cast<size_t>(std::min(count, kMostReserved)));
      for (int64_t i = 0; i < count; ++i) {
        bool present = true;
        Problem problem = TakeBranch(step.item_null_branch, &present);
        if (problem == nullptr) problem = item(present);
        if (problem != nullptr) return problem;
      }
    }
  }

  Problem ReadLongs(const AvroStep& step, std::vector<std::optional<int64_t>>* out) {
    return ReadItems(step, out, [&](bool present) -> Problem {
      std::optional<int64_t>& item = out->emplace_back();
      if (!present) return nullptr;
      item = 0;
      return cursor_.TakeLong(&*item) ? nullptr : kDamaged;
    });
  }

  Problem ReadStrings(const AvroStep& step, std::vector<std::string>* out) {
    return ReadItems(step, out, [&](bool present) -> Problem {
      std::string_view text;
      if (!present) return "a null in a list of names";
      if (!cursor_.TakeBytes(&text)) return kDamaged;
      out->emplace_back(text);
      return nullptr;
    });
  }

  template <typename T>
  Problem ReadRecords(const AvroStep& step, std::vector<T>* out) {
    return ReadItems(step, out, [&](bool present) -> Problem {
      if (!present) return "a null in a list of records";
      return Read(step.inner, &out->emplace_back());
    });
  }

  const AvroPlan& plan_;
  AvroCursor& cursor_;
  const EntryHeadFilter* filter_;  // nullptr: everything is wanted
  const bool statistics_;
  std::string_view field_;
  int32_t head_fields_ = 0;  // wanted fields seen so far
  bool filter_asked_ = false;
  bool unwanted_ = false;
};

std::string SchemaFor(const ManifestFileMeta*) { return ManifestListSchema(); }
std::string SchemaFor(const ManifestEntry*) { return ManifestSchema(); }
std::string SchemaFor(const IndexManifestEntry*) { return IndexManifestSchema(); }

template <typename T>
Result<AvroPlan> PlanFor(std::string_view schema_json, std::string_view origin) {
  HEADRACE_ASSIGN_OR_RETURN(AvroSchema schema, ParseAvroSchema(schema_json, origin));
  return PlanAvroRecord(std::move(schema), FieldsFor(static_cast<const T*>(nullptr)), origin);
}

// Nearly every file has the one schema that Java and Headrace write. Planning takes longer than reading a small manifest, so for that schema
// it is done once.
template <typename T>
struct UsualForm {
  std::string schema_json = SchemaFor(static_cast<const T*>(nullptr));
  Result<AvroPlan> plan = PlanFor<T>(schema_json, "the schema of manifests");
};

template <typename T>
Result<std::vector<T>> DecodeAvro(std::string_view bytes, std::string_view origin,
                                  const EntrySelection& selection = {}) {
  HEADRACE_ASSIGN_OR_RETURN(AvroFileReader file, AvroFileReader::Open(bytes, origin));
  static const UsualForm<T> usual;
  const bool is_usual = file.schema_json() == usual.schema_json;
  std::optional<Result<AvroPlan>> own;
  if (!is_usual) own = PlanFor<T>(file.schema_json(), origin);
  const Result<AvroPlan>& planned = is_usual ? usual.plan : *own;
  HEADRACE_RETURN_NOT_OK(planned.status());
  const AvroPlan& plan = *planned;
  std::vector<T> records;
  AvroBlock block;
  int64_t record = 0;
  while (true) {
    HEADRACE_ASSIGN_OR_RETURN(bool more, file.Next(&block));
    if (!more) return records;
    AvroCursor cursor(block.bytes);
    // A record takes at least a byte a required field, so an honest count is bounded by the bytes.
    if (static_cast<uint64_t>(block.records) > block.bytes.size()) {
      return Corruption(origin, ": a block of ", block.bytes.size(), " bytes claims ", block.records,
                        " records");
    }
    // Room for the block, but doubled at least: exact steps would move everything once a block.
    const size_t room =
        records.size() + std::min<size_t>(static_cast<size_t>(block.records), block.bytes.size() / 40 + 1);
    if (selection.wanted == nullptr && room > records.capacity())
      records.reserve(std::max(room, 2 * records.capacity()));
    for (int64_t i = 0; i < block.records; ++i, ++record) {
      RecordReader reader(plan, &cursor, selection);
      const Problem problem = reader.Read(0, &records.emplace_back());
      if (problem != nullptr) {
        return Corruption(origin, ": record ", record, ", field ", reader.field(), ": ", problem);
      }
      if (reader.unwanted()) records.pop_back();
    }
    if (cursor.remaining() != 0) {
      return Corruption(origin, ": ", cursor.remaining(), " bytes follow the last record of a block");
    }
  }
}

}  // namespace

Result<std::vector<ManifestFileMeta>> DecodeManifestList(std::string_view bytes, std::string_view origin) {
  return DecodeAvro<ManifestFileMeta>(bytes, origin);
}

Result<std::vector<ManifestEntry>> DecodeManifest(std::string_view bytes, std::string_view origin) {
  return DecodeAvro<ManifestEntry>(bytes, origin);
}

Result<std::vector<ManifestEntry>> DecodeManifestWhere(std::string_view bytes, std::string_view origin,
                                                       const EntryHeadFilter& wanted, EntryDetail detail) {
  return DecodeAvro<ManifestEntry>(bytes, origin, {wanted ? &wanted : nullptr, detail});
}

Result<std::vector<IndexManifestEntry>> DecodeIndexManifest(std::string_view bytes, std::string_view origin) {
  return DecodeAvro<IndexManifestEntry>(bytes, origin);
}

Result<ManifestContainer> DetectManifestContainer(std::string_view bytes, std::string_view origin) {
  if (bytes.starts_with("Obj\x01")) return ManifestContainer::kAvro;
  if (bytes.starts_with("PAR1")) return ManifestContainer::kParquet;
  if (bytes.starts_with("ORC")) return ManifestContainer::kOrc;
  return Corruption(origin, ": neither Avro nor Parquet nor ORC (", bytes.size(), " bytes)");
}

}  // namespace headrace
