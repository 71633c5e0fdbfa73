#include "ingest/foreign_form.h"

namespace headrace::ingest {
namespace {

bool Has(const JsonToken& object, std::string_view name) { return FindMember(object, name) != nullptr; }

constexpr std::string_view kReadInstead =
    "; read here are Debezium's JSON events (with or without their schema), JSON lines, CSV, Parquet and "
    "Arrow. ";

std::string Refusal(std::string_view form, std::string_view advice) {
  return "this is " + std::string(form) + ", a form that is not read yet" + std::string(kReadInstead) +
         std::string(advice);
}

}  // namespace

std::string RecogniseForeignJson(const JsonToken& root) {
  if (root.kind != JsonKind::kObject || Has(root, "op")) return {};
  if (Has(root, "isDdl") || (Has(root, "data") && Has(root, "database") && Has(root, "mysqlType"))) {
    return Refusal("a Canal JSON message", "Let Debezium capture the source instead");
  }
  if (Has(root, "type") && Has(root, "database") &&
      (Has(root, "data") || Has(root, "def") || Has(root, "sql"))) {
    return Refusal("a Maxwell JSON message", "Let Debezium capture the source instead");
  }
  if (Has(root, "action") &&
      (Has(root, "columns") || Has(root, "identity") || Has(root, "lsn") || Has(root, "xid"))) {
    return Refusal("wal2json output (format version 2)", "Use Debezium's PostgreSQL connector");
  }
  if (Has(root, "change") && (Has(root, "xid") || Has(root, "nextlsn") || root.length == 1)) {
    return Refusal("wal2json output (format version 1)", "Use Debezium's PostgreSQL connector");
  }
  if (Has(root, "__op") || Has(root, "__deleted") || Has(root, "__source_ts_ms")) {
    return Refusal("a flattened Debezium event (ExtractNewRecordState)",
                   "Take that transform away from the connector, so that the whole event comes");
  }
  return {};
}

std::string RecogniseForeignText(std::string_view line) {
  // "0/1925F28 731 42000…" and "0/1925F28 731 BEGIN 731"
  size_t i = 0;
  const auto take = [&](std::string_view digits) {
    const size_t begin = i;
    while (i < line.size() && digits.find(line[i]) != std::string_view::npos) ++i;
    return i > begin;
  };
  const auto skip = [&](char c) { return i < line.size() && line[i] == c && ++i > 0; };
  constexpr std::string_view kHex = "0123456789ABCDEFabcdef";
  if (!take(kHex) || !skip('/') || !take(kHex) || !skip(' ') || !take("0123456789") || !skip(' ')) return {};
  const std::string_view rest = line.substr(i);
  if (rest.starts_with("BEGIN") || rest.starts_with("COMMIT") || rest.starts_with("table ") ||
      rest.starts_with("message: ")) {
    return Refusal("the text of PostgreSQL's test_decoding", "Use Debezium's PostgreSQL connector");
  }
  if (!rest.empty() && rest.find_first_not_of(kHex) == std::string_view::npos) {
    return Refusal("raw pgoutput", "Use Debezium's PostgreSQL connector");
  }
  return {};
}

}  // namespace headrace::ingest
