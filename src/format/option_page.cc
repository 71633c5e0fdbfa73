// docs/options.md from the rows of the table.
#include <string>

#include "format/table_options.h"

namespace headrace {
namespace {

std::string SupportText(const OptionRow& row) {
  const bool some = !row.built_values.empty();
  switch (row.support) {
    case OptionSupport::kSupported: return "supported";
    case OptionSupport::kHarmless: return "harmless";
    case OptionSupport::kRefusedForWriting:
      return some ? "other values refused for writing" : "refused for writing";
    case OptionSupport::kRefusedForReading: return some ? "other values refused" : "refused";
  }
  return "";
}

std::string Code(std::string_view text) { return text.empty() ? "" : "`" + std::string(text) + "`"; }

// `a`, `b` from "a,b".
std::string CodeList(std::string_view text) {
  std::string list;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    list += (list.empty() ? "" : ", ") + Code(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return list;
}

}  // namespace

std::string OptionsPage() {
  std::string page =
      "# Table options\n"
      "\n"
      "<!-- Generated from src/format/option_table.cc; the unit test OptionsPage checks it and, with "
      "HEADRACE_WRITE_DOCS=1, writes it. -->\n"
      "\n"
      "Options are strings in a table's schema file. Every option that Apache Paimon knows is listed here "
      "with what Headrace does about it:\n"
      "\n"
      "- **supported**: it does what Paimon says.\n"
      "- **harmless**: it does not change which rows are read or written, so Headrace neither uses nor "
      "refuses it.\n"
      "- **refused for writing**: the table can be read, but a writer that ignored the option would damage "
      "it or break a promise.\n"
      "- **refused**: the table can neither be read nor written, because the rows would come out wrong.\n"
      "\n"
      "Where values are named, those are supported and other values are refused as the row says. A refused "
      "option without values may not be set at\n"
      "all. An error names the option, its value and the reason. Keys that are not listed are kept in the "
      "schema and warned about once. A word in\n"
      "angle brackets stands for anything.\n"
      "\n"
      "| Option | Default | Values | Headrace | What it is |\n"
      "| --- | --- | --- | --- | --- |\n";
  for (const OptionRow& row : OptionTable()) {
    page += "| " + Code(row.key) + " | " + Code(row.default_text) + " | " + CodeList(row.built_values) +
            " | " + SupportText(row) + " | " + std::string(row.meaning) + " |\n";
  }
  return page;
}

}  // namespace headrace
