// The text of PostgreSQL's plugin test_decoding, read: one change a record, "table public.t: INSERT: id[integer]:1 name[text]:'x'".
//
// A record is a line, or more where a quoted value or a message's content has line ends in it; before it there may be the place and the
// transaction, as `SELECT lsn, xid, data` prints them, parted by blanks, bars or tabs. Values are quoted, bits, or bare (numbers, true,
// false, null, unchanged-toast-datum). Pure; what cannot be read is said, never guessed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::ingest {

struct TestDecodingChange {
  enum class What { kBoundary, kMessage, kInsert, kUpdate, kDelete, kTruncate };
  struct Name {
    std::string schema;
    std::string table;
  };
  struct Column {
    std::string name;
    std::string type;  // as format_type names it, without lengths
    std::string text;
    bool is_null = false;
    bool unsent = false;  // a large value that did not change
  };
  What what = What::kBoundary;
  std::vector<Name> tables;  // one; of a truncate perhaps more
  std::vector<Column> columns;
  std::vector<Column>
      old_key;  // of an update whose key changed, or whose whole old row is sent: without nulls
};

// False: `why` says what stands against it.
bool ReadTestDecoding(std::string_view record, TestDecodingChange* change, std::string* why);
// `what` and `tables` alone.
bool ReadTestDecodingHead(std::string_view record, TestDecodingChange* change, std::string* why);
// Does the line begin a record of this form?
bool IsTestDecoding(std::string_view line);

// Where a record ends, in bytes that come piece by piece.
class TestDecodingRecordEnd {
 public:
  // `text` begins at the record and is what it was at the last call, or more. The place of the '\n' after the record, or npos.
  size_t Find(std::string_view text);
  void Reset() { *this = TestDecodingRecordEnd(); }

 private:
  enum class State { kUnknown, kOutside, kInName, kInValue };
  State state_ = State::kUnknown;
  size_t at_ = 0;
};

// The records in lines that were parted at every '\n'; the last one may be cut.
std::vector<std::string> JoinTestDecodingLines(const std::vector<std::string>& lines);

}  // namespace headrace::ingest
