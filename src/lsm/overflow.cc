#include "lsm/overflow.h"

#include <memory>
#include <string_view>
#include <utility>

namespace headrace {
namespace {

constexpr char kDetailTypeId[] = "headrace::Overflow";

class OverflowDetail final : public arrow::StatusDetail {
 public:
  const char* type_id() const override { return kDetailTypeId; }
  std::string ToString() const override { return std::string(NameOf(ErrorKind::kInvalid)); }
};

}  // namespace

Status Overflow(std::string message) {
  return Status(arrow::StatusCode::Invalid, std::move(message), std::make_shared<OverflowDetail>());
}

bool IsOverflow(const Status& status) {
  return !status.ok() && status.detail() != nullptr &&
         std::string_view(status.detail()->type_id()) == kDetailTypeId;
}

}  // namespace headrace
