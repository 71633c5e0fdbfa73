// Damage to manifest lists, manifests, index manifests and index files.
#include <cstdlib>
#include <functional>
#include <utility>

#include "damage_cases.h"
#include "format/deletion_vector.h"
#include "format/hash_index.h"

namespace headrace {
namespace {

using Table = const ForgedTable&;
using Entries = std::vector<ManifestEntry>;
using Manifests = std::vector<ManifestFileMeta>;
using Indexes = std::vector<IndexManifestEntry>;

constexpr char kVectors[] = "dv-pk/t_none";
constexpr int64_t kVectorSnapshot = 10;

std::string DeltaList(Table t) { return "manifest/" + t.SnapshotOf(2).delta_manifest_list; }

std::string DeltaManifest(Table t) {
  std::string name;
  t.EditDeltaList(2, [&](Manifests* manifests) { name = manifests->at(0).name; });
  return "manifest/" + name;
}

IndexManifestEntry& WithVectors(Indexes* entries) {
  for (IndexManifestEntry& entry : *entries) {
    if (entry.deletion_vectors.has_value() && !entry.deletion_vectors->empty()) return entry;
  }
  std::abort();
}

std::string IndexManifest(Table t) {
  return "manifest/" + t.SnapshotOf(kVectorSnapshot).index_manifest.value();
}

std::string IndexFile(Table t) {
  std::string name;
  t.EditIndexManifest(kVectorSnapshot, [&](Indexes* entries) { name = WithVectors(entries).file_name; });
  return "index/" + name;
}

void AddListCases(std::vector<DamageCase>* cases) {
  cases->push_back(
      {"MissingManifestList", "keyed", {"manifest-list-missing"}, [](Table t) { t.Remove(DeltaList(t)); }});
  cases->push_back({"TruncatedManifestList",
                    "append",
                    {"manifest-list-size-wrong", "manifest-list-unreadable"},
                    [](Table t) { t.Truncate(DeltaList(t), 10); }});
  cases->push_back({"ManifestListOfGarbage",
                    "keyed",
                    {"manifest-list-size-wrong", "manifest-list-unreadable"},
                    [](Table t) { t.Write(DeltaList(t), "Obj\x01 and nothing more"); }});
  cases->push_back(
      {"MissingManifest", "keyed", {"manifest-missing"}, [](Table t) { t.Remove(DeltaManifest(t)); }});
  cases->push_back(
      {"TruncatedManifest", "append", {"manifest-size-wrong", "manifest-unreadable"}, [](Table t) {
         t.Truncate(DeltaManifest(t), 100);
       }});
  cases->push_back({"ManifestOfZeros", "keyed", {"manifest-unreadable"}, [](Table t) {
                      const std::string file = DeltaManifest(t);
                      t.Write(file, std::string(t.Read(file).size(), '\0'));
                    }});
  cases->push_back({"WrongCountsOfAManifest", "keyed", {"manifest-counts-wrong"}, [](Table t) {
                      t.EditDeltaList(2, [](Manifests* manifests) { manifests->at(0).deleted_files = 2; });
                    }});
  cases->push_back({"WrongSizeOfAManifest", "keyed", {"manifest-size-wrong"}, [](Table t) {
                      t.EditDeltaList(2, [](Manifests* manifests) { manifests->at(0).size_bytes += 1; });
                    }});
  cases->push_back(
      {"FalsePartitionBoundsOfAManifest", "keyed", {"manifest-partition-stats-wrong"}, [](Table t) {
         t.EditDeltaList(2, [](Manifests* manifests) {
           manifests->at(0).partition_stats.max_values = manifests->at(0).partition_stats.min_values;
         });
       }});
  cases->push_back({"FalseBucketBoundsOfAManifest", "keyed", {"manifest-bounds-wrong"}, [](Table t) {
                      t.EditDeltaList(2, [](Manifests* manifests) {
                        manifests->at(0).min_bucket = manifests->at(0).max_bucket = 0;
                      });
                    }});
  cases->push_back({"FalseLevelBoundsOfAManifest", "lsm-partial/t", {"manifest-bounds-wrong"}, [](Table t) {
                      t.EditDeltaList(t.LatestId(), [](Manifests* manifests) {
                        manifests->at(0).min_level = manifests->at(0).max_level = 7;
                      });
                    }});
  cases->push_back({"WrongSchemaIdOfAManifest", "keyed", {"manifest-schema-id-wrong"}, [](Table t) {
                      t.EditDeltaList(2,
                                      [](Manifests* manifests) { manifests->at(0).schema_id = SchemaId(5); });
                    }});
  cases->push_back({"ManifestListedTwice", "keyed", {"manifest-listed-twice"}, [](Table t) {
                      t.EditDeltaList(2,
                                      [](Manifests* manifests) { manifests->push_back(manifests->at(0)); });
                    }});
  cases->push_back({"ManifestOfAnotherTable",
                    "keyed",
                    {"data-file-missing", "delta-record-count-wrong", "key-undecodable",
                     "manifest-size-wrong", "stats-undecodable", "total-record-count-wrong"},
                    [](Table t) {
                      const ForgedTable other("append");
                      t.Write(DeltaManifest(t), other.Read(DeltaManifest(other)));
                    }});
}

void AddEntryCases(std::vector<DamageCase>* cases) {
  cases->push_back({"FileAddedTwice", "keyed", {"added-twice", "delta-record-count-wrong"}, [](Table t) {
                      const ManifestEntry before = t.Delta(1).at(0);
                      t.EditDelta(2, [&](Entries* entries) { entries->push_back(before); });
                    }});
  cases->push_back(
      {"FileAddedTwiceInAnAppendTable", "append", {"added-twice", "delta-record-count-wrong"}, [](Table t) {
         t.EditDelta(2, [](Entries* entries) { entries->push_back(entries->at(0)); });
       }});
  cases->push_back({"FileDeletedThatWasNeverAdded",
                    "keyed",
                    {"deleted-without-add", "delta-record-count-wrong"},
                    [](Table t) {
                      t.EditDelta(2, [](Entries* entries) {
                        ManifestEntry absent = entries->at(0);
                        absent.kind = EntryKind::kDelete;
                        absent.file.name = "data-00000000-0000-0000-0000-000000000000-0.parquet";
                        entries->push_back(absent);
                      });
                    }});
  cases->push_back({"FileDeletedTwice",
                    "changelog-input-random/events",
                    {"deleted-without-add", "delta-record-count-wrong"},
                    [](Table t) {
                      // A compaction's delta deletes what it rewrote.
                      int64_t id = t.LatestId();
                      const auto deletes = [&] {
                        for (const ManifestEntry& entry : t.Delta(id))
                          if (entry.kind == EntryKind::kDelete) return true;
                        return false;
                      };
                      while (!deletes()) t.Remove("snapshot/snapshot-" + std::to_string(id--));
                      t.Write("snapshot/LATEST", std::to_string(id));
                      t.EditDelta(id, [](Entries* entries) {
                        for (const ManifestEntry& entry : *entries) {
                          if (entry.kind != EntryKind::kDelete) continue;
                          entries->push_back(ManifestEntry(entry));
                          return;
                        }
                      });
                    }});
}

// The HASH file at this place of the latest index manifest, the same number of hashes in it.
void EditHashes(Table t, size_t at, const std::function<void(std::vector<int32_t>*)>& edit) {
  std::string file;
  t.EditIndexManifest(t.LatestId(), [&](Indexes* entries) { file = "index/" + entries->at(at).file_name; });
  auto hashes = DecodeHashIndex(t.Read(file), file);
  if (!hashes.ok()) std::abort();
  edit(&*hashes);
  t.Write(file, EncodeHashIndex(*hashes));
}

void AddIndexCases(std::vector<DamageCase>* cases) {
  cases->push_back({"MissingIndexManifest", kVectors, {"index-manifest-missing"}, [](Table t) {
                      t.Remove(IndexManifest(t));
                    }});
  cases->push_back({"IndexManifestOfGarbage", kVectors, {"index-manifest-unreadable"}, [](Table t) {
                      t.Write(IndexManifest(t), "Obj");
                    }});
  cases->push_back(
      {"MissingIndexFile", kVectors, {"index-file-missing"}, [](Table t) { t.Remove(IndexFile(t)); }});
  cases->push_back({"TruncatedIndexFile", kVectors, {"index-file-size-wrong"}, [](Table t) {
                      t.Truncate(IndexFile(t), 3);
                    }});
  cases->push_back({"WrongCountOfHashes", "bucket-dynamic/flat", {"index-file-size-wrong"}, [](Table t) {
                      t.EditIndexManifest(t.LatestId(),
                                          [](Indexes* entries) { entries->at(0).row_count += 1; });
                    }});
  cases->push_back(
      {"KeyThatTheIndexForgot",
       "bucket-dynamic/flat",
       {"key-not-in-hash-index"},
       [](Table t) { EditHashes(t, 0, [](std::vector<int32_t>* hashes) { (*hashes)[0] += 1; }); },
       /*data=*/true});
  cases->push_back({"HashInTwoBuckets",
                    "bucket-dynamic/flat",
                    {"hash-in-two-buckets"},
                    [](Table t) {
                      int32_t other = 0;
                      EditHashes(t, 1, [&](std::vector<int32_t>* hashes) { other = hashes->front(); });
                      EditHashes(t, 0, [&](std::vector<int32_t>* hashes) { (*hashes)[0] = other; });
                    },
                    /*data=*/true});
  cases->push_back({"DeletionVectorOfNoFile", kVectors, {"deletion-vector-without-file"}, [](Table t) {
                      t.EditIndexManifest(kVectorSnapshot, [](Indexes* entries) {
                        WithVectors(entries).deletion_vectors->at(0).data_file = "data-gone-0.parquet";
                      });
                    }});
  cases->push_back({"DeletionVectorBehindItsFile", kVectors, {"deletion-vector-out-of-range"}, [](Table t) {
                      t.EditIndexManifest(kVectorSnapshot, [](Indexes* entries) {
                        WithVectors(entries).deletion_vectors->at(0).offset = INT32_MAX;
                      });
                    }});
  cases->push_back({"FlippedBitInADeletionVector",
                    kVectors,
                    {"deletion-vector-unreadable"},
                    [](Table t) {
                      const std::string file = IndexFile(t);
                      t.FlipBit(file, t.Read(file).size() - 5);  // the last byte before the checksum
                    },
                    /*data=*/true});
  cases->push_back({"FlippedBitInA64BitDeletionVector",
                    "dv-pk-bitmap64/t_none",
                    {"deletion-vector-unreadable"},
                    [](Table t) {
                      std::string file;
                      t.EditIndexManifest(kVectorSnapshot, [&](Indexes* entries) {
                        file = "index/" + WithVectors(entries).file_name;
                      });
                      t.FlipBit(file, 6);  // in the mark
                    },
                    /*data=*/true});
  cases->push_back({"DeletionVectorOfAnotherCount",
                    kVectors,
                    {"deletion-vector-count-wrong"},
                    [](Table t) {
                      t.EditIndexManifest(kVectorSnapshot, [](Indexes* entries) {
                        *WithVectors(entries).deletion_vectors->at(0).cardinality -= 1;
                      });
                    },
                    /*data=*/true});
  cases->push_back({"TwoDeletionVectorsOfAFile", kVectors, {"deletion-vector-repeated"}, [](Table t) {
                      t.EditIndexManifest(kVectorSnapshot, [](Indexes* entries) {
                        auto& vectors = *WithVectors(entries).deletion_vectors;
                        vectors.push_back(vectors.at(0));
                      });
                    }});
  cases->push_back({"DeletionVectorPastTheEndOfItsFile",
                    kVectors,
                    {"deletion-vector-out-of-range"},
                    [](Table t) {
                      DeletionVector vector;
                      vector.Delete(1 << 20);
                      const std::string bytes = "\x01" + vector.Encode(false).ValueOrDie();
                      std::string file;
                      t.EditIndexManifest(kVectorSnapshot, [&](Indexes* entries) {
                        IndexManifestEntry& entry = WithVectors(entries);
                        file = "index/" + entry.file_name;
                        entry.file_size_bytes = static_cast<int64_t>(bytes.size());
                        const std::string data_file = entry.deletion_vectors->at(0).data_file;
                        entry.deletion_vectors = {{data_file, 1, static_cast<int32_t>(bytes.size() - 9), 1}};
                        entry.row_count = 1;
                      });
                      t.Write(file, bytes);
                    },
                    /*data=*/true});
  cases->push_back(
      {"DeletionVectorOfMoreRowsThanThereAre", kVectors, {"deletion-vector-out-of-range"}, [](Table t) {
         t.EditIndexManifest(kVectorSnapshot, [](Indexes* entries) {
           WithVectors(entries).deletion_vectors->at(0).cardinality = 1 << 30;
         });
       }});
}

}  // namespace

void AddManifestCases(std::vector<DamageCase>* cases) {
  AddListCases(cases);
  AddEntryCases(cases);
  AddIndexCases(cases);
}

}  // namespace headrace
