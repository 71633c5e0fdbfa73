// The name that was meant by one that is not there, for messages: "did you mean shop.orders?". Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headrace {

// The one of `names` that the fewest changed letters make of `word`; empty when none is near.
std::string NearestName(const std::vector<std::string>& names, std::string_view word);

}  // namespace headrace
