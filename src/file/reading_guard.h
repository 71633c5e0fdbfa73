// Errors of reading one data file: they name its path once and have the right kind, and no exception gets past.
//
// A failure of the store keeps its kind; whatever else goes wrong with the bytes is kCorruption. Any thread.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>

#include <parquet/exception.h>

#include "base/error.h"

namespace headrace {

// The store's own errors name the file already.
inline Status NamedOnce(const std::string& path, const Status& status) {
  return status.message().find(path) == std::string::npos ? WithContext("reading " + path, status) : status;
}

// Errors of the store keep their kind; anything else that goes wrong with the bytes is a corrupt file.
inline Status Named(const std::string& path, const Status& status) {
  if (status.ok()) return status;
  if (status.detail() != nullptr || status.IsOutOfMemory()) return NamedOnce(path, status);
  return Corruption("reading ", path, ": ", status.message());
}

template <typename Act>
Status Guarded(const std::string& path, Act&& act) {
  try {
    return Named(path, act());
  } catch (const parquet::ParquetStatusException& error) {
    return Named(path, error.status());
  } catch (const std::bad_alloc&) {
    return Status::OutOfMemory("reading ", path);
  } catch (const std::exception& error) {
    return Corruption("reading ", path, ": ", error.what());
  }
}

}  // namespace headrace
