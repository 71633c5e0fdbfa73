// Damage to a changelog that only replaying it tells: with --changelog.
#include <utility>

#include "damage_cases.h"

namespace headrace {
namespace {

using Forged = const ForgedTable&;
using Entries = std::vector<ManifestEntry>;

// One customer whose changes hang on the snapshots 2, 4, 6 and 8.
constexpr const char* kCustomer = "customer-8821-lookup/customers";

DamageCase Case(std::string name, std::string table, std::vector<std::string> kinds,
                std::function<void(Forged)> damage) {
  DamageCase test{std::move(name), std::move(table), std::move(kinds), std::move(damage)};
  test.changelog = true;
  return test;
}

void LoseChanges(Forged t, int64_t snapshot) {
  t.EditChangelog(snapshot, [](Entries* entries) { entries->clear(); });
}

}  // namespace

void AddChangelogCases(std::vector<DamageCase>* cases) {
  cases->push_back(
      Case("ChangesLostOnTheWay", kCustomer, {"change-out-of-step"}, [](Forged t) { LoseChanges(t, 4); }));
  cases->push_back(Case("LastChangeLost", kCustomer, {"changelog-differs", "changelog-record-count-wrong"},
                        [](Forged t) { LoseChanges(t, t.LatestId()); }));
  cases->push_back(
      Case("FirstChangeLost", kCustomer, {"change-out-of-step"}, [](Forged t) { LoseChanges(t, 2); }));
  cases->push_back(Case("ChangesToldTwice", kCustomer, {"change-out-of-step"}, [](Forged t) {
    Entries first;
    t.EditChangelog(2, [&](Entries* entries) { first = *entries; });
    t.EditChangelog(4,
                    [&](Entries* entries) { entries->insert(entries->end(), first.begin(), first.end()); });
  }));
  cases->push_back(
      Case("ChangelogFileOfAnEarlierSnapshotMissing", kCustomer, {"changes-unreadable"}, [](Forged t) {
        std::string file;
        t.EditChangelog(4, [&](Entries* entries) { file = t.FileOf(entries->at(0)); });
        t.Remove(file);
      }));
  cases->push_back(Case("InputOfAnEarlierCommitLost", "changelog-input-random/events", {"changelog-differs"},
                        [](Forged t) { LoseChanges(t, t.LatestId() - 1); }));
}

}  // namespace headrace
