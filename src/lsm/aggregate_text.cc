// listagg: texts joined by a delimiter. Blank texts add nothing; `distinct` leaves out the parts that are there already.
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <arrow/array.h>
#include <arrow/builder.h>

#include "lsm/aggregate_column.h"

namespace headrace {
namespace {

// Java's Character.isWhitespace: what may stand in a blank text.
constexpr std::array<std::string_view, 15> kWideBlanks = {"\u1680", "\u2000", "\u2001", "\u2002", "\u2003",
                                                          "\u2004", "\u2005", "\u2006", "\u2008", "\u2009",
                                                          "\u200A", "\u2028", "\u2029", "\u205F", "\u3000"};

size_t BlankLength(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first == ' ' || (first >= 9 && first <= 13) || (first >= 28 && first <= 31)) return 1;
  if (first < 0x80) return 0;
  for (const std::string_view blank : kWideBlanks) {
    if (text.starts_with(blank)) return blank.size();
  }
  return 0;
}

bool IsBlank(std::string_view text) {
  while (!text.empty()) {
    const size_t length = BlankLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

// Calls visit(part) for what stands between delimiters; an empty delimiter parts at spaces.
template <typename Visit>
void ForEachPart(std::string_view text, std::string_view delimiter, Visit&& visit) {
  if (delimiter.empty()) delimiter = " ";
  while (!text.empty()) {
    const size_t end = text.find(delimiter);
    visit(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + delimiter.size());
  }
}

class ListaggReducer final : public ColumnReducer {
 public:
  ListaggReducer(const DataField& column, AggregateRule rule) : type_(column.type), rule_(std::move(rule)) {}

  Result<std::shared_ptr<arrow::Array>> Reduce(ColumnSources sources, const Steps& steps,
                                               arrow::MemoryPool* pool, size_t* /*failed*/) const override {
    arrow::StringBuilder builder(pool == nullptr ? arrow::default_memory_pool() : pool);
    HEADRACE_RETURN_NOT_OK(builder.Reserve(static_cast<int64_t>(steps.count())));
    std::string text;
    for (size_t i = 0; i < steps.count(); ++i) {
      bool has = false;
      for (size_t at = steps.starts[i]; at < steps.end(i); ++at) {
        const RowRef ref = steps.rows[at];
        const auto& array = static_cast<const arrow::StringArray&>(*sources[ref.batch]);
        std::optional<std::string_view> value;
        if (array.IsValid(ref.row)) value = array.GetView(ref.row);
        Take(steps.steps[at], value, &has, &text);
      }
      HEADRACE_RETURN_NOT_OK(has ? builder.Append(text) : builder.AppendNull());
    }
    return builder.Finish();
  }

 private:
  void Take(Step step, std::optional<std::string_view> value, bool* has, std::string* text) const {
    if (step == Step::kWhole || step == Step::kStart) {
      *has = value.has_value() && (step == Step::kWhole || !type_.nullable);
      if (*has) text->assign(*value);
      return;
    }
    if (step != Step::kLateAdd) {
      if (!value.has_value() || IsBlank(*value)) return;
      if (*has && !IsBlank(*text)) return Join(text, *value);
      *has = true;
      text->assign(*value);
      return;
    }
    // Late: what is there joins the value. A blank one gives way to nothing.
    if (!*has || IsBlank(*text)) {
      *has = value.has_value();
      if (*has) text->assign(*value);
      return;
    }
    if (!value.has_value() || IsBlank(*value)) return;
    std::string joined(*value);
    Join(&joined, *text);
    *text = std::move(joined);
  }

  void Join(std::string* text, std::string_view more) const {
    if (!rule_.distinct) {
      text->append(rule_.delimiter).append(more);
      return;
    }
    std::unordered_set<std::string> known;
    ForEachPart(*text, rule_.delimiter, [&](std::string_view part) { known.emplace(part); });
    ForEachPart(more, rule_.delimiter, [&](std::string_view part) {
      if (IsBlank(part) || !known.emplace(part).second) return;
      text->append(rule_.delimiter).append(part);
    });
  }

  const DataType type_;
  const AggregateRule rule_;
};

}  // namespace

std::unique_ptr<ColumnReducer> MakeListaggReducer(const DataField& column, const AggregateRule& rule) {
  return std::make_unique<ListaggReducer>(column, rule);
}

}  // namespace headrace
