// What a condition says of a column: how it compares with a constant, that it is one of several, or that it is null or not.
#pragma once

namespace headrace {

enum class Comparison { kEqual, kLess, kLessOrEqual, kGreater, kGreaterOrEqual, kIn, kNull, kNotNull };

}  // namespace headrace
