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

}  // namespace headrace
