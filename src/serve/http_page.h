// One page of text that others fetch by HTTP.
//
// The page is answered from threads of its own until the object ends; Put replaces it. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"

namespace headrace::serve {

class HttpPage {
 public:
  // Port 0: any that is free. `path` is "/metrics"; others are 404. kIo when the address cannot be listened on.
  static Result<std::unique_ptr<HttpPage>> Open(const std::string& address, int port, const std::string& path,
                                                const std::string& content_type);
  virtual ~HttpPage() = default;

  virtual void Put(std::string text) = 0;
  virtual int port() const = 0;
};

}  // namespace headrace::serve
