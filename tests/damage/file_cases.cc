// Damage to data and changelog files as a whole, and to what manifests say of them without a look inside.
#include <algorithm>
#include <utility>

#include "damage_cases.h"

namespace headrace {
namespace {

using Table = const ForgedTable&;
using Entries = std::vector<ManifestEntry>;

// Changes the first entry of the latest delta.
std::function<void(Table)> First(std::function<void(ManifestEntry*)> edit) {
  return [edit = std::move(edit)](Table t) {
    t.EditDelta(t.LatestId(), [&](Entries* entries) { edit(&entries->at(0)); });
  };
}

std::string FirstFile(Table t) { return t.FileOf(t.Delta(t.LatestId()).at(0)); }

std::string ChangelogFile(Table t) {
  std::string file;
  t.EditChangelog(2, [&](Entries* entries) { file = t.FileOf(entries->at(0)); });
  return file;
}

// The file goes along to where its entry now says it is.
void Move(Table t, const std::function<void(ManifestEntry*)>& edit) {
  t.EditDelta(2, [&](Entries* entries) {
    ManifestEntry& entry = entries->at(0);
    const std::string from = t.FileOf(entry);
    edit(&entry);
    t.Write(t.FileOf(entry), t.Read(from));
    t.Remove(from);
  });
}

void AddPresenceCases(std::vector<DamageCase>* cases) {
  cases->push_back(
      {"MissingDataFile", "keyed", {"data-file-missing"}, [](Table t) { t.Remove(FirstFile(t)); }});
  cases->push_back({"MissingDataFileOfJava", "lsm-compacted/t", {"data-file-missing"}, [](Table t) {
                      t.Remove(t.FileOf(t.Live().at(0)));
                    }});
  cases->push_back({"MissingDataFileOfAnAppendTable", "append-unaware/t", {"data-file-missing"}, [](Table t) {
                      t.Remove(t.FileOf(t.Live().at(0)));
                    }});
  cases->push_back(
      {"MissingDataFileOfAPartition", "partitioned/by_string", {"data-file-missing"}, [](Table t) {
         t.Remove(t.FileOf(t.Live().at(0)));
       }});
  cases->push_back(
      {"TruncatedDataFile", "keyed", {"data-file-size-wrong"}, [](Table t) { t.Truncate(FirstFile(t), 8); }});
  cases->push_back({"TruncatedDataFileThatIsRead",
                    "append",
                    {"data-file-size-wrong", "data-file-unreadable"},
                    [](Table t) { t.Truncate(FirstFile(t), 8); },
                    /*data=*/true});
  cases->push_back({"EmptyDataFile",
                    "append-bucketed/t",
                    {"data-file-size-wrong", "data-file-unreadable"},
                    [](Table t) { t.Write(t.FileOf(t.Live().at(0)), ""); },
                    /*data=*/true});
  cases->push_back({"WrongFileSize", "keyed", {"data-file-size-wrong"}, First([](ManifestEntry* entry) {
                      entry->file.size_bytes += 1;
                    })});
  cases->push_back({"MissingChangelogFile", "keyed", {"changelog-file-missing"}, [](Table t) {
                      t.Remove(ChangelogFile(t));
                    }});
  cases->push_back({"MissingChangelogFileOfALongLivedChangelog",
                    "time-travel/expired_with_changelog",
                    {"changelog-file-missing"},
                    [](Table t) {
                      for (const auto& file : std::filesystem::directory_iterator(t.path() + "/bucket-0")) {
                        if (!file.path().filename().string().starts_with("changelog-")) continue;
                        std::filesystem::remove(file.path());
                      }
                    },
                    false,
                    /*all=*/true});
  cases->push_back({"MissingIndexBesideADataFile", "index-bitmap/file", {"extra-file-missing"}, [](Table t) {
                      const ManifestEntry entry = t.Live().at(0);
                      t.Remove(t.FileOf(entry) + ".index");
                    }});
  cases->push_back({"FileThatNothingRefersTo",
                    "keyed",
                    {"unreferenced-file"},
                    [](Table t) {
                      t.Write("day=mon/bucket-0/data-stray-0.parquet", "x");
                      t.MakeOld("day=mon/bucket-0/data-stray-0.parquet");
                    },
                    false,
                    /*all=*/true,
                    /*notes=*/true});
}

void AddFactCases(std::vector<DamageCase>* cases) {
  cases->push_back(
      {"MoreDeletesThanRows", "keyed", {"file-facts-impossible"}, First([](ManifestEntry* entry) {
         entry->file.delete_row_count = entry->file.row_count + 1;
       })});
  cases->push_back({"NegativeRowCount", "keyed", {"manifest-unreadable"}, First([](ManifestEntry* entry) {
                      entry->file.row_count = -1;
                    })});
  cases->push_back(
      {"LevelInAnAppendTable", "append", {"file-facts-impossible"}, First([](ManifestEntry* entry) {
         entry->file.level = Level(1);
       })});
  cases->push_back({"FileLiveInTwoLevels",
                    "keyed",
                    {"delta-record-count-wrong", "file-listed-twice", "total-record-count-wrong"},
                    [](Table t) {
                      t.EditDelta(2, [](Entries* entries) {
                        entries->push_back(entries->at(0));
                        entries->back().file.level = Level(1);
                      });
                    }});
  cases->push_back(
      {"PartitionOfOtherColumns", "keyed", {"partition-undecodable"}, First([](ManifestEntry* entry) {
         entry->partition.bytes = std::string("\0\0\0\0\0\0\0\0\xff\xff\0\0\x10\0\0\0", 16);
       })});
  cases->push_back({"StatisticsOfNoColumn", "keyed", {"stats-undecodable"}, First([](ManifestEntry* entry) {
                      entry->file.value_stats_columns = {"no", "such"};
                    })});
  cases->push_back({"KeyOfNoColumns", "keyed", {"key-undecodable"}, First([](ManifestEntry* entry) {
                      entry->file.min_key = BinaryRow();
                    })});
  cases->push_back({"KeyRangeTurnedRound", "keyed", {"key-range-inverted"}, First([](ManifestEntry* entry) {
                      std::swap(entry->file.min_key, entry->file.max_key);
                    })});
  cases->push_back({"FileOfASchemaToCome",
                    "append",
                    {"manifest-schema-id-wrong", "schema-missing"},
                    First([](ManifestEntry* entry) { entry->file.schema_id = SchemaId(9); })});
}

void AddTreeCases(std::vector<DamageCase>* cases) {
  cases->push_back({"OverlappingFilesOfALevel", "keyed", {"level-overlap"}, [](Table t) {
                      int64_t rows = 0;
                      t.EditDelta(2, [&](Entries* entries) {
                        ManifestEntry copy = entries->at(0);
                        copy.file.name = "data-copy-0.parquet";
                        copy.file.level = entries->at(0).file.level = Level(1);
                        t.Write(t.FileOf(copy), t.Read(t.FileOf(entries->at(0))));
                        rows = copy.file.row_count;
                        entries->push_back(copy);
                      });
                      t.EditSnapshot(2, [&](Snapshot* s) {
                        *s->total_record_count += rows;
                        *s->delta_record_count += rows;
                      });
                    }});
  cases->push_back({"LevelBeyondTheDeepest", "keyed", {"level-beyond-max"}, First([](ManifestEntry* entry) {
                      entry->file.level = Level(40);
                    })});
  cases->push_back(
      {"BucketThatThereIsNot", "keyed", {"bucket-out-of-range", "key-in-wrong-bucket"}, [](Table t) {
         Move(t, [](ManifestEntry* entry) { entry->bucket = BucketId(7); });
       }});
  cases->push_back({"FileInAnotherBucket", "keyed", {"key-in-wrong-bucket"}, [](Table t) {
                      Move(t,
                           [](ManifestEntry* entry) { entry->bucket = BucketId(1 - entry->bucket.value); });
                    }});
  cases->push_back(
      {"WrongNumberOfBuckets", "append", {"bucket-count-differs"}, First([](ManifestEntry* entry) {
         entry->total_buckets = 3;
       })});
  cases->push_back({"FileInAnotherPartition",
                    "keyed",
                    {"row-in-wrong-partition"},
                    [](Table t) {
                      const Entries entries = t.Delta(2);
                      const auto other =
                          std::find_if(entries.begin(), entries.end(), [&](const ManifestEntry& entry) {
                            return entry.partition != entries.at(0).partition;
                          });
                      Move(t, [&](ManifestEntry* entry) { entry->partition = other->partition; });
                    },
                    /*data=*/true});
}

}  // namespace

void AddFileCases(std::vector<DamageCase>* cases) {
  AddPresenceCases(cases);
  AddFactCases(cases);
  AddTreeCases(cases);
}

}  // namespace headrace
