// Damage to schemas, snapshots, hints, tags, changelogs and consumers.
#include <cstdlib>
#include <utility>

#include "damage_cases.h"

namespace headrace {
namespace {

using Table = const ForgedTable&;

// The first occurrence, which must be there.
void Replace(Table table, const std::string& file, const std::string& from, const std::string& to) {
  std::string text = table.Read(file);
  const size_t at = text.find(from);
  if (at == std::string::npos) std::abort();
  table.Write(file, text.replace(at, from.size(), to));
}

void AddSchemaCases(std::vector<DamageCase>* cases) {
  cases->push_back(
      {"TornSchema", "keyed", {"schema-unreadable"}, [](Table t) { t.Truncate("schema/schema-0", 30); }});
  cases->push_back(
      {"EmptySchema", "append", {"schema-unreadable"}, [](Table t) { t.Write("schema/schema-0", ""); }});
  cases->push_back({"SchemaWithoutItsKeyColumn", "keyed", {"schema-unreadable"}, [](Table t) {
                      Replace(t, "schema/schema-0", "\"name\" : \"id\"", "\"name\" : \"it\"");
                    }});
  cases->push_back({"SchemaUnderAnotherName", "keyed", {"schema-id-mismatch"}, [](Table t) {
                      Replace(t, "schema/schema-0", "\"id\" : 0", "\"id\" : 7");
                    }});
  cases->push_back({"DuplicateFieldId", "keyed", {"duplicate-field-id"}, [](Table t) {
                      Replace(t, "schema/schema-0", "\"id\" : 2", "\"id\" : 1");
                    }});
  cases->push_back({"HighestFieldIdTooLow", "keyed", {"highest-field-id-low"}, [](Table t) {
                      Replace(t, "schema/schema-0", "\"highestFieldId\" : 3", "\"highestFieldId\" : 2");
                    }});
  cases->push_back({"MissingSchema",
                    "schema-evolution/keyed",
                    {"schema-gap", "schema-missing"},
                    [](Table t) { t.Remove("schema/schema-1"); },
                    false,
                    /*all=*/true});
  cases->push_back({"SchemaThatNothingNeedsMissing", "keyed", {"schema-gap"}, [](Table t) {
                      std::string text = t.Read("schema/schema-0");
                      t.Write("schema/schema-2", text.replace(text.find("\"id\" : 0"), 8, "\"id\" : 2"));
                    }});
  cases->push_back({"BucketOptionThatMeansNothing", "keyed", {"option-malformed"}, [](Table t) {
                      Replace(t, "schema/schema-0", "\"bucket\" : \"2\"", "\"bucket\" : \"many\"");
                    }});
}

void AddSnapshotCases(std::vector<DamageCase>* cases) {
  cases->push_back({"EmptySnapshot", "keyed", {"snapshot-unreadable"}, [](Table t) {
                      t.Write("snapshot/snapshot-1", "");
                    }});
  cases->push_back({"TornLatestSnapshot", "append", {"snapshot-unreadable"}, [](Table t) {
                      t.Truncate("snapshot/snapshot-2", 20);
                    }});
  cases->push_back({"SnapshotThatIsNoObject", "keyed", {"snapshot-unreadable"}, [](Table t) {
                      t.Write("snapshot/snapshot-2", "[1,2]");
                    }});
  cases->push_back({"SnapshotUnderAnotherName", "keyed", {"snapshot-id-mismatch"}, [](Table t) {
                      t.Write("snapshot/snapshot-1", t.Read("snapshot/snapshot-2"));
                    }});
  cases->push_back({"SnapshotGap", "changelog-input-random/events", {"snapshot-gap"}, [](Table t) {
                      t.Remove("snapshot/snapshot-3");
                      t.Remove("snapshot/snapshot-4");
                    }});
  cases->push_back(
      {"SnapshotFarAhead",
       "keyed",
       {"latest-hint-wrong", "snapshot-gap", "snapshot-id-mismatch"},
       [](Table t) { t.Write("snapshot/snapshot-9223372036854775807", t.Read("snapshot/snapshot-2")); }});
  cases->push_back({"SnapshotOfASchemaToCome", "keyed", {"schema-missing"}, [](Table t) {
                      t.EditSnapshot(2, [](Snapshot* s) { s->schema_id = SchemaId(5); });
                    }});
  cases->push_back(
      {"LyingLatestHint", "keyed", {"latest-hint-wrong"}, [](Table t) { t.Write("snapshot/LATEST", "1"); }});
  cases->push_back({"LyingEarliestHint", "keyed", {"earliest-hint-wrong"}, [](Table t) {
                      t.Write("snapshot/EARLIEST", "9");
                    }});
  cases->push_back({"HintThatIsNoNumber", "append", {"latest-hint-wrong"}, [](Table t) {
                      t.Write("snapshot/LATEST", "\x1b[2J");
                    }});
  cases->push_back({"WrongTotalRecordCount", "keyed", {"total-record-count-wrong"}, [](Table t) {
                      t.EditSnapshot(2, [](Snapshot* s) { *s->total_record_count += 1; });
                    }});
  cases->push_back({"WrongDeltaRecordCount",
                    "keyed",
                    {"delta-record-count-wrong", "total-record-count-wrong"},
                    [](Table t) { t.EditSnapshot(2, [](Snapshot* s) { *s->delta_record_count -= 1; }); }});
  cases->push_back({"WrongChangelogRecordCount", "keyed", {"changelog-record-count-wrong"}, [](Table t) {
                      t.EditSnapshot(2, [](Snapshot* s) { *s->changelog_record_count += 3; });
                    }});
  cases->push_back(
      {"RecordCountsBeyondSixtyFourBits",
       "keyed",
       {"delta-record-count-wrong", "total-record-count-wrong"},
       [](Table t) { t.EditSnapshot(2, [](Snapshot* s) { s->delta_record_count = INT64_MAX; }); }});
  cases->push_back({"BaseThatLostAManifest",
                    "keyed",
                    {"base-differs", "total-record-count-wrong"},
                    [](Table t) {
                      t.EditBaseList(2, [](std::vector<ManifestFileMeta>* manifests) { manifests->clear(); });
                    },
                    false,
                    /*all=*/true});
  cases->push_back({"MissingStatistics", "time-travel/analyzed", {"statistics-missing"}, [](Table t) {
                      t.Remove("statistics/" + t.SnapshotOf(t.LatestId()).statistics.value());
                    }});
}

void AddPointerCases(std::vector<DamageCase>* cases) {
  cases->push_back(
      {"TornTag", "time-travel/tagged", {"tag-unreadable"}, [](Table t) { t.Truncate("tag/tag-first", 9); }});
  cases->push_back({"TagOfMissingFiles",
                    "time-travel/tag_of_expired",
                    {"manifest-list-missing"},
                    [](Table t) {
                      const std::string tag = "tag/tag-kept";
                      t.Remove("manifest/" + ParseSnapshot(t.Read(tag), tag)->delta_manifest_list);
                    },
                    false,
                    /*all=*/true});
  cases->push_back(
      {"MissingLongLivedChangelog", "time-travel/expired_with_changelog", {"changelog-gap"}, [](Table t) {
         t.Remove("changelog/changelog-8");
       }});
  cases->push_back({"LongLivedChangelogsThatEndTooEarly",
                    "time-travel/expired_with_changelog",
                    {"changelog-gap", "latest-hint-wrong"},
                    [](Table t) { t.Remove("changelog/changelog-9"); }});
  cases->push_back(
      {"TornLongLivedChangelog", "time-travel/expired_with_changelog", {"changelog-unreadable"}, [](Table t) {
         t.Write("changelog/changelog-8", "{");
       }});
  cases->push_back({"TornConsumer", "time-travel/consumed", {"consumer-unreadable"}, [](Table t) {
                      t.Write("consumer/consumer-reader-a", "{\"nextSn");
                    }});
  cases->push_back({"ConsumerAheadOfAllSnapshots", "time-travel/consumed", {"consumer-ahead"}, [](Table t) {
                      t.Write("consumer/consumer-reader-a", "{\"nextSnapshot\" : 9999}");
                    }});
  cases->push_back({"ConsumerOfAnExpiredSnapshot", "time-travel/expired", {"consumer-expired"}, [](Table t) {
                      t.Write("consumer/consumer-x", "{\"nextSnapshot\" : 1}");
                    }});
}

}  // namespace

void AddChainCases(std::vector<DamageCase>* cases) {
  AddSchemaCases(cases);
  AddSnapshotCases(cases);
  AddPointerCases(cases);
}

std::vector<DamageCase> DamageCases() {
  std::vector<DamageCase> cases;
  AddChainCases(&cases);
  AddManifestCases(&cases);
  AddFileCases(&cases);
  AddRowCases(&cases);
  AddChangelogCases(&cases);
  return cases;
}

}  // namespace headrace
