// A table's rows under a primary key that begins with another column of theirs, so that a step of touched keys reads a part of them. A plain value.
#pragma once

#include <string>
#include <vector>

namespace headrace::pipeline {

// The first column of a copy's primary key, which queries do not see: the value of KeyedCopy::column, or `null_as`.
inline constexpr char kCopyKeyColumn[] = "_copy_key";

struct KeyedCopy {
  std::string source;   // "db.orders"
  std::string column;   // what is touched: "customer_id"
  std::string name;     // "db.orders_by_customer_id"
  std::string null_as;  // SQL: what stands for null in the key, beside the rows that have that value
  std::vector<std::string> columns = {};  // those that both tables have, in the source's order
};

}  // namespace headrace::pipeline
