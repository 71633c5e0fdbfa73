// A Store that makes nothing new once its anchor is gone: a writer must not bring back the folder of a table that was dropped.
//
// Everything goes to the store below. Before a file is made, published or replaced, the anchor (a folder that lives as long as the table)
// is looked for; where it is not there the call is kNotFound and nothing was made. Between the look and the file there remains the moment that
// no file system closes. Reading and deleting need no anchor. Thread-safe as far as the store below is.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "io/store.h"

namespace headrace {

// `what` is for the message: "table db.t".
std::shared_ptr<Store> Anchored(std::shared_ptr<Store> below, std::string anchor, std::string what);

}  // namespace headrace
