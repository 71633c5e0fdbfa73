// One message of PostgreSQL's logical replication, plugin pgoutput, protocol version 1: bytes to plain values.
//
// Every length is checked against the bytes that are there, and a message must be used up to its last byte; what is not so is kCorruption and
// names the message and the place. Values are views into the bytes given, so they live as long as these. Positions in the log (LSN) are
// plain 64-bit numbers; times are microseconds since 1970 UTC. Pure.
// Source: "Logical Replication Message Formats" of PostgreSQL's documentation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"

namespace headrace::ingest::pgoutput {

using Lsn = uint64_t;

// "16/B374D848", as PostgreSQL writes it.
std::string LsnText(Lsn lsn);
std::optional<Lsn> ParseLsn(std::string_view text);

struct Begin {
  Lsn commit_lsn = 0;  // where the transaction's commit record begins
  int64_t commit_time_us = 0;
  uint32_t xid = 0;
};

struct Commit {
  Lsn commit_lsn = 0;
  Lsn end_lsn = 0;  // after the commit record: from here on it is in the log as a whole
  int64_t commit_time_us = 0;
};

struct Origin {
  Lsn commit_lsn = 0;
  std::string_view name;
};

enum class ReplicaIdentity : char { kDefault = 'd', kNothing = 'n', kFull = 'f', kIndex = 'i' };

struct RelationColumn {
  bool identity = false;  // part of the replica identity: with kFull every column is
  std::string name;
  uint32_t type_oid = 0;
  int32_t type_modifier = -1;
  bool operator==(const RelationColumn&) const = default;
};

// Owns its texts, for it is kept: later messages name it by its id.
struct Relation {
  uint32_t id = 0;
  std::string schema;
  std::string name;
  ReplicaIdentity identity = ReplicaIdentity::kDefault;
  std::vector<RelationColumn> columns;
  bool operator==(const Relation&) const = default;
};

struct Type {
  uint32_t oid = 0;
  std::string schema;  // empty: pg_catalog
  std::string name;    // of a domain: its base type's
};

enum class CellKind : char { kNull = 'n', kUnchanged = 'u', kText = 't' };

struct Cell {
  CellKind kind = CellKind::kNull;
  std::string_view text;
};
using Tuple = std::vector<Cell>;

enum class OldTuple : char { kNone = 0, kKey = 'K', kWhole = 'O' };

struct Insert {
  uint32_t relation = 0;
  Tuple row;
};

struct Update {
  uint32_t relation = 0;
  OldTuple old_kind = OldTuple::kNone;  // kKey: sent when the key changed
  Tuple old_row;
  Tuple row;
};

struct Delete {
  uint32_t relation = 0;
  OldTuple old_kind = OldTuple::kKey;
  Tuple old_row;
};

struct Truncate {
  std::vector<uint32_t> relations;
  bool cascade = false;
  bool restart_identity = false;
};

// Of pg_logical_emit_message.
struct LogicalMessage {
  bool transactional = false;
  Lsn lsn = 0;
  std::string_view prefix;
  std::string_view content;
};

using Message =
    std::variant<Begin, Commit, Origin, Relation, Type, Insert, Update, Delete, Truncate, LogicalMessage>;

Result<Message> Decode(std::string_view bytes);

}  // namespace headrace::ingest::pgoutput
