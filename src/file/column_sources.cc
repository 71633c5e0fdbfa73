#include "file/column_sources.h"

#include <algorithm>
#include <utility>

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <parquet/schema.h>

#include "file/evolve.h"
#include "file/int96_column.h"
#include "file/physical_columns.h"

namespace headrace {
namespace {

// Finds the columns of one file: by the names of the schema it was written with, mapped to the table by field id.
class ColumnFinder {
 public:
  ColumnFinder(const std::string& path, const TableSchema& table, const TableSchema& written,
               const parquet::SchemaDescriptor& file, bool partial)
      : path_(path), table_(table), written_(written), file_(file), partial_(partial) {}

  Result<std::vector<ColumnSource>> Find(const ReadColumns& columns) const {
    std::vector<ColumnSource> sources;
    if (columns.keys) {
      for (const DataField& key : KeyFields(table_)) {
        HEADRACE_ASSIGN_OR_RETURN(ColumnSource source, Key(key, columns.values));
        sources.push_back(std::move(source));
      }
    }
    const std::vector<DataField> own = SequenceAndKindFields();
    for (const auto& [asked, field] :
         {std::pair(columns.sequence, &own[0]), std::pair(columns.kind, &own[1])}) {
      if (!asked) continue;
      HEADRACE_ASSIGN_OR_RETURN(ColumnSource source, Own(*field));
      sources.push_back(std::move(source));
    }
    for (const std::string& name : columns.values) {
      HEADRACE_ASSIGN_OR_RETURN(ColumnSource source, ValueColumn(name));
      sources.push_back(std::move(source));
    }
    return sources;
  }

 private:
  int RootOf(const std::string& name) const { return file_.group_node()->FieldIndex(name); }

  Result<ColumnSource> ValueColumn(const std::string& name) const {
    const int index = table_.FieldIndex(name);
    if (index < 0) return NotFound("reading ", path_, ": the table has no column \"", name, "\"");
    ColumnSource source;
    source.wanted = table_.fields[index];
    const DataField* written = FindFieldById(written_.fields, source.wanted.id);
    if (written == nullptr) return source;
    source.written = written->type;
    source.root = RootOf(written->name);
    if (source.root < 0 && !partial_) {
      return Corruption("reading ", path_, ": no column \"", written->name, "\", which schema ", written_.id,
                        " declares");
    }
    HEADRACE_RETURN_NOT_OK(Checked(source));
    return source;
  }

  // A key is stored twice. When its value column is read anyway, the copy is not decoded.
  Result<ColumnSource> Key(const DataField& key, const std::vector<std::string>& values) const {
    const std::string value_name = key.name.substr(kKeyPrefix.size());
    const DataField* written = FindFieldById(written_.fields, key.id - kKeyFieldIdBase);
    if (written == nullptr) {
      return Corruption("reading ", path_, ": schema ", written_.id, " has no key column \"", value_name,
                        "\"");
    }
    ColumnSource source;
    source.wanted = key;
    source.written = written->type;
    const int copy = RootOf(std::string(kKeyPrefix) + written->name);
    const int value = RootOf(written->name);
    const bool value_is_read = std::find(values.begin(), values.end(), value_name) != values.end();
    source.root = copy < 0 || (value >= 0 && value_is_read) ? value : copy;
    if (source.root < 0) {
      return Corruption("reading ", path_, ": neither \"", kKeyPrefix, written->name, "\" nor \"",
                        written->name, "\" is in the file");
    }
    HEADRACE_RETURN_NOT_OK(Checked(source));
    return source;
  }

  Result<ColumnSource> Own(const DataField& field) const {
    ColumnSource source;
    source.wanted = field;
    source.written = field.type;
    source.root = RootOf(field.name);
    if (source.root < 0)
      return Corruption("reading ", path_, ": the key-value file has no column \"", field.name, "\"");
    return source;
  }

  Status Checked(const ColumnSource& source) const {
    if (source.root < 0) return Status::OK();
    const Status status = CheckWidening(source.wanted.name, source.written, source.wanted.type);
    return status.ok() ? status : WithContext("reading " + path_, status);
  }

  const std::string& path_;
  const TableSchema& table_;
  const TableSchema& written_;
  const parquet::SchemaDescriptor& file_;
  bool partial_;
};

}  // namespace

Result<std::vector<ColumnSource>> FindColumns(const std::string& path, const TableSchema& table,
                                              const TableSchema& written,
                                              const parquet::SchemaDescriptor& file, bool partial,
                                              const ReadColumns& columns) {
  return ColumnFinder(path, table, written, file, partial).Find(columns);
}

std::vector<int> RootsOf(const std::vector<ColumnSource>& sources) {
  std::vector<int> roots;
  for (const ColumnSource& source : sources) {
    if (source.root >= 0) roots.push_back(source.root);
  }
  std::sort(roots.begin(), roots.end());
  roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
  return roots;
}

std::vector<std::vector<int>> LeavesByRoot(const parquet::SchemaDescriptor& file) {
  std::vector<std::vector<int>> leaves(static_cast<size_t>(file.group_node()->field_count()));
  for (int leaf = 0; leaf < file.num_columns(); ++leaf) {
    leaves[static_cast<size_t>(file.group_node()->FieldIndex(*file.GetColumnRoot(leaf)))].push_back(leaf);
  }
  return leaves;
}

Result<std::shared_ptr<arrow::Array>> ExactColumn(const std::vector<ColumnSource>& sources, int root,
                                                  std::shared_ptr<arrow::Array> raw, Int96Values* int96,
                                                  arrow::MemoryPool* pool) {
  if (int96 == nullptr) return raw;
  const auto source = std::find_if(sources.begin(), sources.end(),
                                   [root](const ColumnSource& candidate) { return candidate.root == root; });
  return int96->Replace(source->wanted.name, *raw, source->written, pool);
}

Result<std::shared_ptr<arrow::RecordBatch>> ShapeColumns(
    const std::vector<ColumnSource>& sources, const std::vector<int>& roots,
    const std::vector<std::shared_ptr<arrow::Array>>& exact, int64_t rows,
    const std::shared_ptr<arrow::Schema>& schema, arrow::MemoryPool* pool) {
  arrow::ArrayVector columns;
  for (const ColumnSource& source : sources) {
    if (source.root < 0) {
      HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Array> nulls,
                                arrow::MakeArrayOfNull(ToArrowType(source.wanted.type), rows, pool));
      columns.push_back(std::move(nulls));
      continue;
    }
    const auto at = std::lower_bound(roots.begin(), roots.end(), source.root) - roots.begin();
    HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Array> column,
                              EvolveColumn(source.wanted.name, exact[static_cast<size_t>(at)], source.written,
                                           source.wanted.type, pool));
    columns.push_back(std::move(column));
  }
  return arrow::RecordBatch::Make(schema, rows, std::move(columns));
}

}  // namespace headrace
