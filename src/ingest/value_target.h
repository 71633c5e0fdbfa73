// The cell that a value goes into, and how a value that does not fit is refused. See value_decoder.h.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "ingest/event.h"
#include "ingest/json_tape.h"
#include "ingest/row_buffer.h"
#include "ingest/value_decoder.h"

namespace headrace::ingest {

struct Target {
  const ValueModes& modes;
  ColumnBuffer* column;
  std::string* why;

  const DataType& type() const { return column->type(); }
  bool Refuse(std::string reason) const {
    *why = std::move(reason);
    return false;
  }
  bool Misfit(const JsonToken& value, std::string_view wanted) const {
    return Refuse("is " + std::string(NameOf(value.kind)) + " (" + Excerpt(value) +
                  "), but a column of type " + ToSql(type()) + " takes " + std::string(wanted));
  }
  // `text` is the value as it came, `reason` what is wrong with it.
  bool Wrong(std::string_view text, std::string_view reason) const {
    std::string shown(text.substr(0, 60));
    if (text.size() > 60) shown += "…";
    return Refuse("is " + shown + " in a column of type " + ToSql(type()) + ": " + std::string(reason));
  }
};

}  // namespace headrace::ingest
