// Arguments about change events that several commands have in common. A word that is not known is a usage error that names those that are.
#pragma once

#include <string>
#include <vector>

#include "cli/session.h"
#include "headrace/ingest.h"

namespace headrace::cli {

Result<EventFormat> ParseEventFormat(const std::string& name);  // empty: by itself
// Of --commit-every: "10000" rows, "200ms", "5s", "2m"; empty: nothing set. `forms` is what the error says to write.
Result<CommitEvery> ParseCommitEvery(const std::string& text, const char* forms);
// --schema-registry, --avro-schema …
void AddAvroOptions(CLI::App* sub, AvroInput* avro);
// NAME=VALUE each.
Status AddKafkaOptions(const std::vector<std::string>& given, KafkaInput* kafka);
// Which of two words: true for `yes`.
Result<bool> ParseChoice(const std::string& option, const std::string& given, const std::string& yes,
                         const std::string& no);

}  // namespace headrace::cli
