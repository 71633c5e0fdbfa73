// The table of findings.
#include "maintain/finding_kinds.h"

#include <array>

namespace headrace {
namespace {

constexpr Severity kDamage = Severity::kDamage;
constexpr Severity kWarning = Severity::kWarning;
constexpr Severity kNote = Severity::kNote;

constexpr std::string_view kRestore =
    "Restore the file from a copy. Without one, read an older snapshot or tag that does not need it.";
constexpr std::string_view kFinishExpiry =
    "In the oldest snapshots an expiry that was interrupted leaves the same: run `headrace expire` and check "
    "again. "
    "Otherwise restore the file from a copy; without one, read a snapshot or tag that does not need it.";
constexpr std::string_view kRewrite =
    "The table is readable where its manifests are not relied on. Copy its rows into a new table, and report "
    "how it came about.";
constexpr std::string_view kFileIsNotWhatWasWritten =
    "The file is not the one its manifest describes. Restore it from a copy; a full compaction would make "
    "the wrong rows permanent.";
constexpr std::string_view kWriterFault =
    "Do not compact. Copy the rows that are right into a new table, and report the writer that made the "
    "file.";

// In the order of FindingKind.
constexpr std::array kKinds = std::to_array<FindingKindInfo>({
    // Schemas.
    {"schema-unreadable", kDamage, "A schema file cannot be read, or contradicts itself.", kRestore},
    {"schema-id-mismatch", kDamage, "A schema file holds another id than its name says.",
     "Restore the file from a copy: a schema file is never changed once it is written."},
    {"duplicate-field-id", kDamage, "Two columns of a schema, nested ones included, have one field id.",
     "Restore the schema from a copy: columns are found by their ids, and rows of the two would be taken for "
     "one another."},
    {"highest-field-id-low", kDamage,
     "`highestFieldId` is below an id that is in use, or below that of an earlier schema.",
     "Do not add columns before it is mended: a new column would get an id that old files use for another "
     "one."},
    {"schema-missing", kDamage, "A snapshot or a file names a schema version that is not there.",
     "Restore the schema file from a copy: files written with it cannot be read without it."},
    {"schema-gap", kWarning, "A schema version between others is not there, and nothing looked at names it.",
     "Restore the schema file if there is a copy. Check with `--all` whether an older snapshot needs it."},
    {"option-malformed", kDamage, "An option that says where files lie has a value that means nothing.",
     "Set the option anew."},

    // Snapshots, and what points at them.
    {"snapshot-unreadable", kDamage, "A snapshot file is empty, cut off or not a snapshot.",
     "Restore the file from a copy. Without one, the table can be rolled back to the snapshot before it."},
    {"snapshot-id-mismatch", kDamage,
     "A snapshot, tag or changelog file holds another id than its name says.",
     "Restore the file from a copy: somebody renamed or replaced it."},
    {"snapshot-gap", kDamage, "Snapshots between the earliest and the latest are not there.",
     "Restore the files from a copy. Followers of changes cannot pass the gap; rows of later snapshots are "
     "not concerned."},
    {"base-differs", kDamage,
     "The files a snapshot begins with are not those that the snapshot before it ended with.",
     "A commit lost or invented files. Compare the two snapshots with `headrace show files`, and report the "
     "writer of the later one."},
    {"total-record-count-wrong", kDamage, "`totalRecordCount` is not the number of rows in the live files.",
     "Counts that come from it are wrong; rows are not. Report the writer of the snapshot."},
    {"delta-record-count-wrong", kDamage,
     "`deltaRecordCount` is not what the snapshot's own entries add up to.",
     "Counts that come from it are wrong; rows are not. Report the writer of the snapshot."},
    {"changelog-record-count-wrong", kDamage,
     "`changelogRecordCount` is not the number of changes in the changelog files.",
     "Counts that come from it are wrong; if files are missing from the manifest, so are changes. Report the "
     "writer."},
    {"latest-hint-wrong", kWarning, "The file `LATEST` does not name the latest snapshot.",
     "Nothing is lost: readers look further. Write the right number into it, or delete it."},
    {"earliest-hint-wrong", kWarning, "The file `EARLIEST` does not name the earliest snapshot.",
     "Nothing is lost: readers look further. Write the right number into it, or delete it."},
    {"statistics-missing", kWarning, "A snapshot names a file of column statistics that is not there.",
     "Query planners do without it. Analyze the table again."},
    {"tag-unreadable", kDamage, "A tag file is empty, cut off or not a tag.",
     "Restore the file from a copy, or delete the tag: expiry stops at a tag it cannot read."},
    {"changelog-unreadable", kDamage, "A long-lived changelog file is empty, cut off or not a snapshot.",
     kRestore},
    {"changelog-gap", kDamage,
     "Long-lived changelogs between others, or up to the earliest snapshot, are not there.",
     "Restore the files from a copy. Followers of changes cannot pass the gap."},
    {"consumer-unreadable", kDamage, "A consumer file is empty, cut off or not a consumer.",
     "Restore the file from a copy, or delete it and start the consumer at a position of its own."},
    {"consumer-expired", kWarning, "A consumer's next snapshot is no longer there.",
     "Its reader has missed changes: reset it to a snapshot that is there."},
    {"consumer-ahead", kWarning, "A consumer's next snapshot lies beyond the one to come.",
     "The table was rolled back, perhaps. Reset the consumer to a snapshot that is there."},

    // Manifests.
    {"manifest-list-missing", kDamage, "A manifest list that a snapshot names is not there.", kFinishExpiry},
    {"manifest-list-size-wrong", kDamage, "A manifest list has another size than its snapshot says.",
     kFileIsNotWhatWasWritten},
    {"manifest-list-unreadable", kDamage, "A manifest list cannot be decoded.", kRestore},
    {"manifest-listed-twice", kDamage, "A snapshot names one manifest twice.", kRewrite},
    {"manifest-missing", kDamage, "A manifest that a list names is not there.", kFinishExpiry},
    {"manifest-size-wrong", kDamage, "A manifest has another size than its list says.",
     kFileIsNotWhatWasWritten},
    {"manifest-unreadable", kDamage, "A manifest cannot be decoded.", kRestore},
    {"manifest-counts-wrong", kDamage,
     "A manifest holds other numbers of added and deleted files than its list says.",
     "Readers rely on the numbers to skip manifests, and may miss deletions. Report the writer."},
    {"manifest-partition-stats-wrong", kDamage,
     "A manifest holds partitions outside the bounds its list gives.",
     "Readers rely on the bounds to skip manifests, and miss files. Report the writer."},
    {"manifest-bounds-wrong", kDamage,
     "A manifest holds buckets or levels outside the bounds its list gives.",
     "Readers rely on the bounds to skip manifests, and miss files. Report the writer."},
    {"manifest-schema-id-wrong", kWarning,
     "A manifest list gives another largest schema id than the manifest's files have.",
     "Nothing is lost. Report the writer."},
    {"added-twice", kDamage, "A file is added that is live already.",
     "Its rows count twice in append tables. Copy the table's rows into a new one, and report the writer."},
    {"deleted-without-add", kDamage, "A file is deleted that was not live.",
     "A commit removed what another had removed: its own rows may be there twice or not at all. Report the "
     "writer."},

    // Files as the manifests list them.
    {"data-file-missing", kDamage, "A live data file is not there.", kFinishExpiry},
    {"data-file-size-wrong", kDamage, "A data or changelog file has another size than its manifest says.",
     kFileIsNotWhatWasWritten},
    {"changelog-file-missing", kDamage, "A changelog file is not there.",
     "In the oldest snapshots an expiry that was interrupted leaves the same: run `headrace expire` and "
     "check again. "
     "Otherwise restore the file from a copy: followers of changes cannot pass the snapshot; rows are not "
     "concerned."},
    {"extra-file-missing", kDamage, "A file that accompanies a data file, such as its index, is not there.",
     "Restore the file from a copy, or compact the bucket, which writes data files anew."},
    {"file-listed-twice", kDamage, "One file name is live twice in a bucket.", kWriterFault},
    {"partition-undecodable", kDamage,
     "The partition of an entry is not a row of the table's partition columns.", kWriterFault},
    {"file-facts-impossible", kDamage,
     "What a manifest says of a file cannot be: negative counts, more deletes or nulls than rows, sequence "
     "numbers the wrong way round, "
     "a level that its table does not have.",
     kWriterFault},
    {"stats-undecodable", kDamage, "Statistics of a file do not fit its columns.",
     "Readers that use them fail or skip rows. Compact the bucket, which writes data files and statistics "
     "anew."},
    {"key-undecodable", kDamage,
     "The smallest or largest key of a file is not a row of the table's key columns.", kWriterFault},
    {"key-range-inverted", kDamage, "The smallest key of a file is above its largest.", kWriterFault},
    {"level-overlap", kDamage, "Two files of one level above 0 overlap in their keys.",
     "Readers that trust the levels give a key twice, or an old row of it. Do not compact; report the "
     "writer."},
    {"level-beyond-max", kWarning, "A file lies in a level deeper than `num-levels` ever allowed.",
     "It is read right. A full compaction moves it back."},
    {"bucket-out-of-range", kDamage, "A file's bucket is not one of the buckets its entry counts.",
     kWriterFault},
    {"bucket-count-differs", kDamage,
     "Files of one partition were written with different numbers of buckets.",
     "A look-up by key may search the wrong bucket. Overwrite the partition with one number of buckets."},
    {"key-in-wrong-bucket", kDamage,
     "A key, or a row by its bucket key, does not hash to the bucket its file is in.", kWriterFault},

    // Index files.
    {"index-manifest-missing", kDamage, "An index manifest that a snapshot names is not there.", kRestore},
    {"index-manifest-unreadable", kDamage, "An index manifest cannot be decoded.", kRestore},
    {"index-file-missing", kDamage, "An index file is not there.",
     "Restore the file from a copy. Rows deleted by its deletion vectors would come back; keys would get "
     "second buckets."},
    {"index-file-size-wrong", kDamage, "An index file has another size than its manifest says.",
     kFileIsNotWhatWasWritten},
    {"deletion-vector-without-file", kDamage, "A deletion vector is for a data file that is not live.",
     "Deletions may be lost with it. Report the writer."},
    {"deletion-vector-out-of-range", kDamage,
     "A deletion vector lies outside its index file, or deletes rows that the data file does not have.",
     kWriterFault},

    {"deletion-vector-unreadable", kDamage,
     "The bytes of a deletion vector have a wrong length, mark or checksum (told with `--data`).", kRestore},
    {"deletion-vector-count-wrong", kDamage,
     "A deletion vector deletes another number of rows than its manifest says (told with `--data`).",
     kFileIsNotWhatWasWritten},
    {"deletion-vector-repeated", kDamage, "A data file has two deletion vectors.", kWriterFault},
    {"hash-in-two-buckets", kDamage,
     "The indexes of two dynamic buckets of a partition name the same key (told with `--data`).",
     "The key may be in the table twice: two jobs have written at the same time. Copy the table's rows into "
     "a new "
     "one."},

    // Rows, with --data.
    {"data-file-unreadable", kDamage,
     "A data or changelog file cannot be read to its end: cut off, a wrong checksum, missing columns, no "
     "PAR1 at its start.",
     kRestore},
    {"row-count-wrong", kDamage, "A file has another number of rows than its manifest says.",
     kFileIsNotWhatWasWritten},
    {"row-kind-unknown", kDamage, "A row's kind is none of 0 (+I), 1 (-U), 2 (+U) and 3 (-D).", kWriterFault},
    {"delete-count-wrong", kDamage, "A file holds another number of -U and -D rows than its manifest says.",
     "Readers that trust the number show deleted rows. Run a full compaction, and report the writer."},
    {"sequence-range-wrong", kDamage, "A row's sequence number lies outside the range its manifest gives.",
     "Readers that trust the range let old rows win. Report the writer."},
    {"key-order-wrong", kDamage, "The rows of a file do not ascend by key.", kWriterFault},
    {"key-range-wrong", kDamage, "The first or last key of a file is not the one its manifest gives.",
     kFileIsNotWhatWasWritten},
    {"key-stats-wrong", kDamage, "A key lies outside the statistics its manifest gives.",
     "Readers that skip files by them miss rows. A full compaction writes them anew."},
    {"key-column-differs", kDamage, "A `_KEY_` column holds another value than the table's own column.",
     kWriterFault},
    {"value-stats-wrong", kDamage, "A value lies outside the statistics its manifest gives.",
     "Readers that skip files by them miss rows. A full compaction writes them anew."},
    {"null-count-wrong", kDamage, "A column has another number of nulls than its manifest says.",
     "Readers that skip files by it miss rows. A full compaction writes it anew."},
    {"row-in-wrong-partition", kDamage, "A row's partition columns are not those of its file's partition.",
     kWriterFault},
    {"key-not-in-hash-index", kDamage, "A key of a dynamic bucket is not in that bucket's index.",
     "The next writer gives the key another bucket, and it is in the table twice. Copy the table's rows into "
     "a new "
     "one before it is written to."},

    // The changelog replayed, with --changelog.
    {"change-out-of-step", kDamage,
     "A change does not fit the one before it: an insert of a key that is there, a retraction of a row that "
     "is not.",
     "Followers that add changes up come out wrong. Build what was made from the changes anew, and report "
     "the writer."},
    {"changelog-differs", kDamage,
     "The changes do not add up to the rows that a follower is told the table has.",
     "Build what was made from the changes anew from the table's rows, and report the writer."},
    {"changes-unreadable", kDamage, "Changes, or the rows they begin or end with, cannot be read.",
     "Check with `--data` which file it is, and restore that from a copy."},

    // Notes.
    {"unreferenced-file", kNote,
     "No snapshot, tag, changelog or branch refers to the file, which is older than ten minutes.",
     "It takes room and nothing else. A commit under way may be about to use it; leave it alone while it is "
     "younger than a day."},
    {"data-not-read", kNote,
     "A file was not looked into, since its format, its version or a type in it is not built here.",
     "Only that it is there and its size were checked."},
    {"changelog-not-replayed", kNote, "The table's changelog does not promise to add up to its rows.",
     "Nothing to do."},
    {"expired-meanwhile", kNote, "A snapshot expired while it was being checked.",
     "Nothing to do. Check again if it matters."},
});
static_assert(kKinds.size() == static_cast<size_t>(FindingKind::kExpiredMeanwhile) + 1);

std::string SectionOf(Severity severity) {
  std::string text =
      "| Kind | Meaning | What to do |\n"
      "| --- | --- | --- |\n";
  for (const FindingKindInfo& kind : kKinds) {
    if (kind.severity != severity) continue;
    text += "| `" + std::string(kind.name) + "` | " + std::string(kind.meaning) + " | " +
            std::string(kind.remedy) + " |\n";
  }
  return text;
}

}  // namespace

std::string_view NameOf(Severity severity) {
  switch (severity) {
    case Severity::kDamage: return "damage";
    case Severity::kWarning: return "warning";
    case Severity::kNote: return "note";
  }
  return "?";
}

std::span<const FindingKindInfo> AllFindingKinds() { return kKinds; }

const FindingKindInfo& InfoOf(FindingKind kind) { return kKinds[static_cast<size_t>(kind)]; }

std::string FindingsPage() {
  return "# Checking a table\n"
         "\n"
         "<!-- Generated from src/maintain/finding_kinds.cc; the unit test FindingsPage checks it and, with "
         "HEADRACE_WRITE_DOCS=1, "
         "writes it. -->\n"
         "\n"
         "`headrace check shop.customers` verifies that a table's files agree with each other. It changes "
         "nothing, goes on after a "
         "finding, and\n"
         "may run beside writers. It also takes tables that cannot be opened, because a schema is damaged or "
         "an option not built here.\n"
         "\n"
         "| What is looked at | by |\n"
         "| --- | --- |\n"
         "| Every schema, snapshot, tag, long-lived changelog, consumer and hint file by itself, and the "
         "chain they form | always |\n"
         "| The manifests, live files, changelog files and indexes of the latest snapshot: existence, sizes, "
         "counts, levels, buckets, key "
         "ranges | always |\n"
         "| The same of another snapshot | `headrace check TABLE --snapshot N` |\n"
         "| The same of every snapshot, tag, changelog and branch, each state against the one before it; "
         "files that nothing refers to | "
         "`headrace check TABLE --all` |\n"
         "| Every page of every data and changelog file looked at: checksums, order, kinds, statistics, "
         "buckets, partitions | `headrace "
         "check TABLE --data` |\n"
         "| The changes since the oldest snapshot or the last overwrite, replayed: each must fit the one "
         "before it, and all "
         "must end in the rows that a "
         "follower is told the table has | `headrace check TABLE --changelog` |\n"
         "\n"
         "Without `--data` no data file is opened: the store is asked for its size, and nothing else. A file "
         "of the right size with wrong "
         "bytes is\n"
         "found by `--data` alone.\n"
         "\n"
         "Each finding has a severity, a kind, a file, what was found, what was expected, and what to do. "
         "Exit status 0: no damage "
         "(there may be\n"
         "warnings and notes); 1: damage; 2: wrong usage. Kinds are stable names; `--format jsonl` prints "
         "findings for programs.\n"
         "\n"
         "`headrace why shop.customers customer_id=8821` goes the other way: it shows every version of one "
         "key in the live files, and "
         "which wins.\n"
         "\n"
         "## Damage\n"
         "\n"
         "Rows or changes are lost, wrong or unreadable, or would be with another reader.\n"
         "\n" +
         SectionOf(kDamage) +
         "\n"
         "## Warnings\n"
         "\n"
         "Nothing is lost, but something is not as a writer leaves it.\n"
         "\n" +
         SectionOf(kWarning) +
         "\n"
         "## Notes\n"
         "\n" +
         SectionOf(kNote);
}

}  // namespace headrace
