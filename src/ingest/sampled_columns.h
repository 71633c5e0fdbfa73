// The columns of a table to be made, as the sampled rows show them. For infer_table.cc and infer_foreign.cc. Plain values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ingest/infer_table.h"
#include "ingest/json_tape.h"
#include "ingest/plain_types.h"

namespace headrace::ingest {

// Columns in the order they were first seen, and what was seen in them.
class PlainColumns {
 public:
  void Add(const JsonToken& row, const std::string& left_out);
  PlainType& TypeOf(std::string_view name);
  Result<std::vector<DataField>> Fields(const ValueModes& modes) const;
  std::vector<DataField> FieldsOfText() const;
  bool empty() const { return names_.empty(); }

 private:
  std::vector<std::string> names_;
  std::vector<PlainType> types_;
};

// What follows in that refusal; sync leaves it out.
inline constexpr std::string_view kKeyAdvice =
    "; name it by --primary-key, give the message keys by --keys FILE, or make a table without a key first "
    "by "
    "`headrace create`";

// The key is the user's, else the one that came with the events, else the table is refused.
Result<NewTable> FinishTable(std::vector<DataField> fields, std::vector<std::string> message_key,
                             const CreateRequest& request);

// The columns of a message's key, as a line of a keys file has it; empty for null, and for a line that is no key.
std::vector<std::string> KeyColumnsOf(std::string_view key_line);

// As SourceTablesOf, of the forms that are not Debezium's whole events.
std::vector<std::string> SourceTablesOfForm(const Sample& sample, EventFormat format);

}  // namespace headrace::ingest
