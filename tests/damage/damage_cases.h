// The damages, each with the table it is done to and the kinds of findings that a check must give: those and no others.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "forge.h"

namespace headrace {

struct DamageCase {
  std::string name;
  std::string table;               // as ForgedTable takes it
  std::vector<std::string> kinds;  // sorted
  std::function<void(const ForgedTable&)> damage;
  bool data = false;
  bool all = false;
  bool notes = false;  // notes are expected, and so named among the kinds
  bool changelog = false;
};
inline std::ostream& operator<<(std::ostream& out, const DamageCase& test) { return out << test.name; }

std::vector<DamageCase> DamageCases();

// Its parts: damage to schemas, snapshots and what points at them; to manifests; to files and what is said of them; to rows; to the changelog.
void AddChainCases(std::vector<DamageCase>* cases);
void AddManifestCases(std::vector<DamageCase>* cases);
void AddFileCases(std::vector<DamageCase>* cases);
void AddRowCases(std::vector<DamageCase>* cases);
void AddChangelogCases(std::vector<DamageCase>* cases);

}  // namespace headrace
