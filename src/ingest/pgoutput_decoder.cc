#include "ingest/pgoutput_decoder.h"

#include <charconv>
#include <cstdio>

namespace headrace::ingest::pgoutput {
namespace {

// PostgreSQL counts from 2000-01-01.
constexpr int64_t kEpochShiftUs = 946684800LL * 1000000;

// Takes values off the front of a message. The first thing that is not there fails it, and all that follows.
class Bytes {
 public:
  Bytes(std::string_view message, std::string_view what) : all_(message), rest_(message), what_(what) {}

  template <typename T>
  T Number() {
    const std::string_view bytes = Take(sizeof(T));
    std::make_unsigned_t<T> value = 0;
    for (const char c : bytes) value = static_cast<decltype(value)>(value << 8 | static_cast<uint8_t>(c));
    return static_cast<T>(value);
  }
  std::string_view Take(size_t length) {
    if (!status_.ok()) return {};
    if (length > rest_.size()) {
      Fail("needs " + std::to_string(length) + " more bytes, but has " + std::to_string(rest_.size()));
      return {};
    }
    const std::string_view taken = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return taken;
  }
  std::string_view Text() {
    const size_t end = rest_.find('\0');
    if (status_.ok() && end == std::string_view::npos) Fail("has a name without an end");
    const std::string_view text = Take(end == std::string_view::npos ? 0 : end);
    Take(1);
    return text;
  }
  int64_t Time() {
    int64_t time = Number<int64_t>();
    if (__builtin_add_overflow(time, kEpochShiftUs, &time)) Fail("has a time outside 64 bits");
    return time;
  }
  // A count of things of at least `least_bytes` each, so that none is made for bytes that are not there.
  size_t Count(int64_t count, size_t least_bytes) {
    if (status_.ok() && (count < 0 || static_cast<uint64_t>(count) > rest_.size() / least_bytes))
      Fail("counts " + std::to_string(count) + " parts in " + std::to_string(rest_.size()) + " bytes");
    return status_.ok() ? static_cast<size_t>(count) : 0;
  }
  void Fail(const std::string& reason) {
    if (!status_.ok()) return;
    status_ = Corruption("decoding a ", what_, " message of pgoutput: at byte ", all_.size() - rest_.size(),
                         " of ", all_.size(), " it ", reason);
  }
  size_t size() const { return rest_.size(); }
  const Status& status() const { return status_; }

 private:
  const std::string_view all_;
  std::string_view rest_;
  const std::string_view what_;
  Status status_;
};

Tuple TakeTuple(Bytes* in) {
  const size_t columns = in->Count(in->Number<int16_t>(), 1);
  Tuple tuple;
  tuple.reserve(columns);
  for (size_t i = 0; i < columns && in->status().ok(); ++i) {
    Cell cell;
    const char kind = in->Number<char>();
    switch (kind) {
      case 'n': cell.kind = CellKind::kNull; break;
      case 'u': cell.kind = CellKind::kUnchanged; break;
      case 't': {
        cell.kind = CellKind::kText;
        const auto length = in->Number<int32_t>();
        if (length < 0) in->Fail("has a value of " + std::to_string(length) + " bytes");
        cell.text = in->Take(length < 0 ? 0 : static_cast<size_t>(length));
        break;
      }
      default:
        in->Fail("has a value of an unknown kind (byte " + std::to_string(static_cast<int>(kind)) + ")");
    }
    tuple.push_back(cell);
  }
  return tuple;
}

Begin TakeBegin(Bytes* in) {
  Begin begin;
  begin.commit_lsn = in->Number<uint64_t>();
  begin.commit_time_us = in->Time();
  begin.xid = in->Number<uint32_t>();
  return begin;
}

Commit TakeCommit(Bytes* in) {
  Commit commit;
  in->Number<char>();  // flags, none are in use
  commit.commit_lsn = in->Number<uint64_t>();
  commit.end_lsn = in->Number<uint64_t>();
  commit.commit_time_us = in->Time();
  return commit;
}

Relation TakeRelation(Bytes* in) {
  constexpr size_t kLeastBytes = 1 + 1 + 4 + 4;
  Relation relation;
  relation.id = in->Number<uint32_t>();
  relation.schema = in->Text();
  if (relation.schema.empty()) relation.schema = "pg_catalog";
  relation.name = in->Text();
  const char identity = in->Number<char>();
  if (identity != 'd' && identity != 'n' && identity != 'f' && identity != 'i')
    in->Fail("has an unknown replica identity (byte " + std::to_string(static_cast<int>(identity)) + ")");
  relation.identity = static_cast<ReplicaIdentity>(identity);
  const size_t columns = in->Count(in->Number<int16_t>(), kLeastBytes);
  for (size_t i = 0; i < columns && in->status().ok(); ++i) {
    RelationColumn column;
    column.identity = (in->Number<char>() & 1) != 0;
    column.name = in->Text();
    column.type_oid = in->Number<uint32_t>();
    column.type_modifier = in->Number<int32_t>();
    relation.columns.push_back(std::move(column));
  }
  return relation;
}

OldTuple TakeOldTuple(char kind, Bytes* in, Tuple* tuple) {
  *tuple = TakeTuple(in);
  return static_cast<OldTuple>(kind);
}

Insert TakeInsert(Bytes* in) {
  Insert insert;
  insert.relation = in->Number<uint32_t>();
  if (in->Number<char>() != 'N') in->Fail("has no new row");
  insert.row = TakeTuple(in);
  return insert;
}

Update TakeUpdate(Bytes* in) {
  Update update;
  update.relation = in->Number<uint32_t>();
  char kind = in->Number<char>();
  if (kind == 'K' || kind == 'O') {
    update.old_kind = TakeOldTuple(kind, in, &update.old_row);
    kind = in->Number<char>();
  }
  if (kind != 'N') in->Fail("has no new row");
  update.row = TakeTuple(in);
  return update;
}

Delete TakeDelete(Bytes* in) {
  Delete deleted;
  deleted.relation = in->Number<uint32_t>();
  const char kind = in->Number<char>();
  if (kind != 'K' && kind != 'O') in->Fail("has no old row");
  deleted.old_kind = TakeOldTuple(kind, in, &deleted.old_row);
  return deleted;
}

Truncate TakeTruncate(Bytes* in) {
  Truncate truncate;
  const auto count = in->Number<int32_t>();
  const char options = in->Number<char>();
  truncate.cascade = (options & 1) != 0;
  truncate.restart_identity = (options & 2) != 0;
  const size_t relations = in->Count(count, sizeof(uint32_t));
  for (size_t i = 0; i < relations; ++i) truncate.relations.push_back(in->Number<uint32_t>());
  return truncate;
}

LogicalMessage TakeLogicalMessage(Bytes* in) {
  LogicalMessage message;
  message.transactional = (in->Number<char>() & 1) != 0;
  message.lsn = in->Number<uint64_t>();
  message.prefix = in->Text();
  message.content = in->Take(in->Count(in->Number<int32_t>(), 1));
  return message;
}

std::string_view NameOfMessage(char kind) {
  switch (kind) {
    case 'B': return "Begin";
    case 'C': return "Commit";
    case 'O': return "Origin";
    case 'R': return "Relation";
    case 'Y': return "Type";
    case 'I': return "Insert";
    case 'U': return "Update";
    case 'D': return "Delete";
    case 'T': return "Truncate";
    case 'M': return "Message";
    default: return {};
  }
}

Message TakeMessage(char kind, Bytes* in) {
  switch (kind) {
    case 'B': return TakeBegin(in);
    case 'C': return TakeCommit(in);
    case 'O': return Origin{in->Number<uint64_t>(), in->Text()};
    case 'R': return TakeRelation(in);
    case 'Y': {
      const auto oid = in->Number<uint32_t>();
      const std::string_view schema = in->Text();
      return Type{oid, std::string(schema), std::string(in->Text())};
    }
    case 'I': return TakeInsert(in);
    case 'U': return TakeUpdate(in);
    case 'D': return TakeDelete(in);
    case 'T': return TakeTruncate(in);
    default: return TakeLogicalMessage(in);
  }
}

}  // namespace

std::string LsnText(Lsn lsn) {
  char text[32];
  std::snprintf(text, sizeof(text), "%X/%X", static_cast<unsigned>(lsn >> 32), static_cast<unsigned>(lsn));
  return text;
}

std::optional<Lsn> ParseLsn(std::string_view text) {
  uint32_t parts[2] = {0, 0};
  for (int i = 0; i < 2; ++i) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parts[i], 16);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (i == 0 && (text.empty() || text.front() != '/')) return std::nullopt;
    if (i == 0) text.remove_prefix(1);
  }
  if (!text.empty()) return std::nullopt;
  return static_cast<Lsn>(parts[0]) << 32 | parts[1];
}

Result<Message> Decode(std::string_view bytes) {
  if (bytes.empty()) return Corruption("decoding a message of pgoutput: it is empty");
  const char kind = bytes.front();
  const std::string_view what = NameOfMessage(kind);
  if (what.empty()) {
    return Corruption("decoding a message of pgoutput: its first byte is ", static_cast<int>(kind),
                      ", which is no message of protocol version 1");
  }
  Bytes in(bytes, what);
  in.Take(1);
  Message message = TakeMessage(kind, &in);
  if (in.status().ok() && in.size() != 0)
    in.Fail("should end, but has " + std::to_string(in.size()) + " bytes more");
  HEADRACE_RETURN_NOT_OK(in.status());
  return message;
}

}  // namespace headrace::ingest::pgoutput
