#include "tests/laws/harness/shrink.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/text.h"
#include "tests/scenarios/words.h"

namespace headrace::laws {
namespace {

using scenario::Row;
using scenario::Statement;
using scenario::Verb;

class Shrinker {
 public:
  Shrinker(std::vector<Statement> history, const Failure& failure, const TrialOptions& options,
           int most_trials)
      : options_(options), most_trials_(most_trials), best_{std::move(history), failure, 0} {}

  Shrunk Run() {
    best_.history.resize(std::min(best_.history.size(), best_.failure.statement + 1));
    size_t before = 0;
    do {
      before = Size();
      LeaveOutStatements();
      LeaveOutRows();
      LeaveOutOptions();
      LeaveOutColumns();
      Simplify();
    } while (Size() < before && best_.trials < most_trials_);
    return std::move(best_);
  }

 private:
  // What is to become smaller.
  size_t Size() const {
    size_t size = best_.history.size();
    for (const Statement& statement : best_.history)
      size +=
          statement.rows.size() + statement.options.size() + statement.text.size() + statement.name.size();
    return size;
  }

  bool Accept(std::vector<Statement> candidate) {
    if (best_.trials >= most_trials_) return false;
    ++best_.trials;
    TrialResult result = Try(candidate, options_);
    if (!result.failure.has_value() || result.failure->law != best_.failure.law) return false;
    candidate.resize(std::min(candidate.size(), result.failure->statement + 1));
    best_.history = std::move(candidate);
    best_.failure = std::move(*result.failure);
    return true;
  }

  // Leaves out pieces of a list of `size` elements, halves first. `without(begin, end)` is the history without those.
  template <typename T>
  void LeaveOut(const std::function<std::vector<T>*(std::vector<Statement>*)>& list_in, size_t first) {
    for (size_t piece = std::max<size_t>(1, list_in(&best_.history)->size() / 2); piece > 0; piece /= 2) {
      for (size_t begin = first; begin < list_in(&best_.history)->size();) {
        std::vector<Statement> candidate = best_.history;
        std::vector<T>& list = *list_in(&candidate);
        const size_t end = std::min(list.size(), begin + piece);
        list.erase(list.begin() + static_cast<int64_t>(begin), list.begin() + static_cast<int64_t>(end));
        if (!Accept(std::move(candidate))) begin += piece;
        if (best_.trials >= most_trials_) return;
      }
    }
  }

  // The create stays.
  void LeaveOutStatements() {
    LeaveOut<Statement>([](std::vector<Statement>* history) { return history; }, 1);
  }

  void LeaveOutRows() {
    for (size_t i = 1; i < best_.history.size(); ++i) {
      if (best_.history[i].rows.empty()) continue;
      // A trial may make the history shorter than i.
      static thread_local std::vector<Row> none;
      LeaveOut<Row>(
          [i](std::vector<Statement>* history) {
            none.clear();
            return i < history->size() ? &(*history)[i].rows : &none;
          },
          0);
    }
  }

  void LeaveOutOptions() {
    const std::map<std::string, std::string> options = best_.history[0].options;
    for (const auto& [key, value] : options) {
      std::vector<Statement> candidate = best_.history;
      candidate[0].options.erase(key);
      if (key == "bucket") candidate[0].options[key] = value == "-1" ? "-1" : "1";
      if (candidate[0].options != best_.history[0].options) Accept(std::move(candidate));
    }
  }

  void LeaveOutColumns() {
    const auto count = scenario::SplitList(best_.history[0].text).size();
    for (size_t i = count; i-- > 0;) {
      std::vector<Statement> candidate = best_.history;
      std::vector<std::string> columns = ColumnsOf(candidate[0]);
      if (columns.size() < 2 || i >= columns.size()) continue;
      const std::string name = columns[i].substr(0, columns[i].find(' '));
      if (IsNeeded(candidate[0], name)) continue;
      columns.erase(columns.begin() + static_cast<int64_t>(i));
      candidate[0].text = Joined(columns);
      for (Statement& statement : candidate)
        for (Row& row : statement.rows)
          if (i < row.cells.size()) row.cells.erase(row.cells.begin() + static_cast<int64_t>(i));
      Accept(std::move(candidate));
    }
  }

  // "a INT, d DECIMAL(20, 2)": commas inside of brackets part nothing.
  static std::vector<std::string> ColumnsOf(const Statement& create) {
    std::vector<std::string> columns;
    for (const std::string& part : scenario::SplitList(create.text)) {
      const bool inside =
          !columns.empty() && std::count(columns.back().begin(), columns.back().end(), '(') >
                                  std::count(columns.back().begin(), columns.back().end(), ')');
      if (inside) {
        columns.back() += ", " + part;
      } else {
        columns.push_back(part);
      }
    }
    return columns;
  }

  static bool IsNeeded(const Statement& create, const std::string& name) {
    const auto has = [&](const std::vector<std::string>& names) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (has(create.primary_key) || has(create.partition_by)) return true;
    return std::any_of(create.options.begin(), create.options.end(),
                       [&](const auto& option) { return option.second == name; });
  }

  // Fewer writers, and commits that nobody overtakes.
  void Simplify() {
    for (size_t i = 1; i < best_.history.size(); ++i) {
      if (best_.history[i].verb != Verb::kCommit || best_.history[i].text.empty()) continue;
      std::vector<Statement> candidate = best_.history;
      candidate[i].text.clear();
      Accept(std::move(candidate));
    }
    for (const char* name : {"w3", "w2"}) {
      std::vector<Statement> candidate = best_.history;
      bool met = false;
      for (Statement& statement : candidate) {
        if (statement.name == name) statement.name = "w1", met = true;
        if (statement.text == name) statement.text.clear();
      }
      if (met) Accept(std::move(candidate));
    }
  }

  const TrialOptions& options_;
  const int most_trials_;
  Shrunk best_;
};

}  // namespace

Shrunk Shrink(std::vector<Statement> history, const Failure& failure, const TrialOptions& options,
              int most_trials) {
  return Shrinker(std::move(history), failure, options, most_trials).Run();
}

}  // namespace headrace::laws
