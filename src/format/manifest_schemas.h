// The Avro schemas of manifest lists, manifests and index manifests, letter by letter as Java 1.3.1 writes them.
//
// Writers put them into each file's header; readers know a file by them and need not plan anew how to read it. Pure.
#pragma once

#include <string>

namespace headrace {

std::string ManifestListSchema();
std::string ManifestSchema();
std::string IndexManifestSchema();

}  // namespace headrace
