#include "pipeline/pipeline.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <xxhash.h>

#include "base/text.h"

namespace headrace::pipeline {
namespace {

Result<std::string> FullName(const std::string& name, const std::string& database) {
  if (name.find('.') != std::string::npos) return name;
  if (database.empty())
    return Invalid("table ", name, " lacks its database; write db.", name, ", or USE db; first");
  return database + "." + name;
}

Status TakeSetting(const SetText& set, Script* script) {
  if (set.key != "copies")
    return Unsupported("SET '", set.key, "': a pipeline has one setting, SET 'copies' = 'true'");
  if (set.value != "true" && set.value != "false")
    return Invalid("SET 'copies' = '", set.value, "': it is 'true' or 'false'");
  script->copies = set.value == "true";
  return Status::OK();
}

}  // namespace

Result<Script> ParsePipeline(std::string_view text, const std::string& database) {
  Script script;
  script.database = database;
  HEADRACE_ASSIGN_OR_RETURN(const std::vector<std::string> statements, SplitScript(text));
  for (const std::string& statement : statements) {
    HEADRACE_ASSIGN_OR_RETURN(Statement parsed, ParseStatement(statement));
    if (auto* create = std::get_if<CreateTableText>(&parsed)) {
      HEADRACE_ASSIGN_OR_RETURN(create->name, FullName(create->name, script.database));
      if (!create->query.empty())
        return Unsupported(
            "CREATE TABLE ", create->name,
            " … AS in a pipeline; write CREATE TABLE with its columns and key, and INSERT INTO … SELECT");
      script.tables.push_back(std::move(*create));
    } else if (auto* insert = std::get_if<InsertText>(&parsed)) {
      HEADRACE_ASSIGN_OR_RETURN(insert->name, FullName(insert->name, script.database));
      script.inserts.push_back(std::move(*insert));
    } else if (const auto* use = std::get_if<UseText>(&parsed)) {
      if (!script.inserts.empty() && use->database != script.database)
        return Unsupported("USE ", use->database, " after an INSERT; write it at the head of the pipeline");
      script.database = use->database;
    } else if (const auto* set = std::get_if<SetText>(&parsed)) {
      HEADRACE_RETURN_NOT_OK(TakeSetting(*set, &script));
    } else {
      return Unsupported("a pipeline holds CREATE TABLE, INSERT INTO … SELECT, USE and SET, and here is: ",
                         statement.substr(0, 60));
    }
  }
  if (script.inserts.empty())
    return Invalid("the pipeline holds no INSERT INTO … SELECT, so there is nothing to run");
  return script;
}

std::string JobName(std::string_view pipeline, std::string_view target, int nth_of_target) {
  std::string name = std::string(pipeline) + "." + std::string(target);
  if (nth_of_target > 1) name += "." + std::to_string(nth_of_target);
  const bool plain =
      name.size() <= 100 && name.front() != '.' && std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
               c == '_' || c == '.';
      });
  if (plain) return name;
  char hashed[32];
  std::snprintf(hashed, sizeof(hashed), "run-%016llx",
                static_cast<unsigned long long>(XXH3_64bits(name.data(), name.size())));
  return hashed;
}

Status CheckNoRing(const std::vector<StagePlan>& plans) {
  std::map<std::string, std::set<std::string>> feeds;  // by target: all that it is made of, however far
  for (const StagePlan& plan : plans) feeds[plan.target].insert(plan.tables.begin(), plan.tables.end());
  for (size_t round = 0; round < plans.size(); ++round) {
    for (auto& [target, sources] : feeds) {
      std::set<std::string> further;
      for (const std::string& source : sources) {
        const auto made = feeds.find(source);
        if (made != feeds.end()) further.insert(made->second.begin(), made->second.end());
      }
      sources.merge(further);
    }
  }
  for (const auto& [target, sources] : feeds) {
    if (sources.count(target) != 0)
      return Unsupported("table ", target, " is made of itself by way of ",
                         Joined({sources.begin(), sources.end()}),
                         "; such a ring might never come to rest. Leave one of its INSERTs out");
  }
  return Status::OK();
}

}  // namespace headrace::pipeline
