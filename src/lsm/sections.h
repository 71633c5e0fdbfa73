// Cutting files into sections: the smallest pieces of the key space that no file straddles.
//
// Files of one section overlap (directly or through others); files of different sections do not, and sections ascend by key.
// Inside a section the files form as few sorted runs as possible. Runs have no age: only rows' sequence numbers decide.
// Two levels, because a merge needs the runs of one section at a time and never more. Pure. Source: IntervalPartition.
#pragma once

#include <vector>

#include "lsm/levels.h"

namespace headrace {

using RunFiles = std::vector<TreeFilePtr>;  // ascending by key, disjoint
using Section = std::vector<RunFiles>;

std::vector<Section> PartitionIntoSections(std::vector<TreeFilePtr> files);

// As many rows a batch as let a batch of every run fit the memory: at most `most`, and not below 1024 unless `most` is.
int64_t BatchRowsThatFit(const Section& section, int64_t memory_bytes, int64_t most);

}  // namespace headrace
