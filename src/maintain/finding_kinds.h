// Every kind of finding that a check can make: one row of a table each, with its meaning and what to do about it.
//
// The names are stable: scripts may rely on them. docs/check.md is printed from the rows. Pure.
#pragma once

#include <span>
#include <string>

#include "headrace/check_terms.h"

namespace headrace {

// In the order of the table.
enum class FindingKind {
  kSchemaUnreadable,
  kSchemaIdMismatch,
  kDuplicateFieldId,
  kHighestFieldIdLow,
  kSchemaMissing,
  kSchemaGap,
  kOptionMalformed,

  kSnapshotUnreadable,
  kSnapshotIdMismatch,
  kSnapshotGap,
  kBaseDiffers,
  kTotalRecordCountWrong,
  kDeltaRecordCountWrong,
  kChangelogRecordCountWrong,
  kLatestHintWrong,
  kEarliestHintWrong,
  kStatisticsMissing,
  kTagUnreadable,
  kChangelogUnreadable,
  kChangelogGap,
  kConsumerUnreadable,
  kConsumerExpired,
  kConsumerAhead,

  kManifestListMissing,
  kManifestListSizeWrong,
  kManifestListUnreadable,
  kManifestListedTwice,
  kManifestMissing,
  kManifestSizeWrong,
  kManifestUnreadable,
  kManifestCountsWrong,
  kManifestPartitionStatsWrong,
  kManifestBoundsWrong,
  kManifestSchemaIdWrong,
  kAddedTwice,
  kDeletedWithoutAdd,

  kDataFileMissing,
  kDataFileSizeWrong,
  kChangelogFileMissing,
  kExtraFileMissing,
  kFileListedTwice,
  kPartitionUndecodable,
  kFileFactsImpossible,
  kStatsUndecodable,
  kKeyUndecodable,
  kKeyRangeInverted,
  kLevelOverlap,
  kLevelBeyondMax,
  kBucketOutOfRange,
  kBucketCountDiffers,
  kKeyInWrongBucket,

  kIndexManifestMissing,
  kIndexManifestUnreadable,
  kIndexFileMissing,
  kIndexFileSizeWrong,
  kDeletionVectorWithoutFile,
  kDeletionVectorOutOfRange,
  kDeletionVectorUnreadable,
  kDeletionVectorCountWrong,
  kDeletionVectorRepeated,
  kHashInTwoBuckets,

  kDataFileUnreadable,
  kRowCountWrong,
  kRowKindUnknown,
  kDeleteCountWrong,
  kSequenceRangeWrong,
  kKeyOrderWrong,
  kKeyRangeWrong,
  kKeyStatsWrong,
  kKeyColumnDiffers,
  kValueStatsWrong,
  kNullCountWrong,
  kRowInWrongPartition,
  kKeyNotInHashIndex,

  kChangeOutOfStep,
  kChangelogDiffers,
  kChangesUnreadable,

  kUnreferencedFile,
  kDataNotRead,
  kChangelogNotReplayed,
  kExpiredMeanwhile,
};

std::span<const FindingKindInfo> AllFindingKinds();
const FindingKindInfo& InfoOf(FindingKind kind);

// The Markdown of docs/check.md.
std::string FindingsPage();

}  // namespace headrace
