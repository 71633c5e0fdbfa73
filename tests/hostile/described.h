// What a metadata file means, field by field as text: to tell which fields a damage changes. For tests.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/error.h"

namespace headrace::hostile {

using Meaning = std::map<std::string, std::string>;

Result<Meaning> DescribeSnapshot(std::string_view bytes, std::string_view origin);
Result<Meaning> DescribeSchema(std::string_view bytes, std::string_view origin);
Result<Meaning> DescribeManifestList(std::string_view bytes, std::string_view origin);
Result<Meaning> DescribeManifest(std::string_view bytes, std::string_view origin);

// The fields that differ, without the number of the record they are in.
std::set<std::string> Differing(const Meaning& a, const Meaning& b);

}  // namespace headrace::hostile
