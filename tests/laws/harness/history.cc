#include "tests/laws/harness/history.h"

#include "base/random.h"

namespace headrace::laws {
namespace {

using scenario::Statement;
using scenario::Verb;

constexpr FaultKind kFaults[] = {FaultKind::kFail,
                                 FaultKind::kStop,
                                 FaultKind::kStop,
                                 FaultKind::kTearAndStop,
                                 FaultKind::kDiskFull,
                                 FaultKind::kPublishUnknown,
                                 FaultKind::kPublishUnknownLost,
                                 FaultKind::kPublishLate,
                                 FaultKind::kPublishDoneAndStop};

class Historian {
 public:
  Historian(uint64_t seed, const HistoryOptions& options)
      : random_(seed), options_(options), shape_(&random_, options.buckets) {
    statements_.push_back(shape_.create());
    if (random_.OneIn(2)) Add(Verb::kMemory, "64 mb").full = true;
  }

  std::vector<Statement> Tell() {
    while (static_cast<int>(statements_.size()) < options_.steps) Step();
    if (failing_) Add(Verb::kRestart);
    return std::move(statements_);
  }

 private:
  Statement& Add(Verb verb, std::string name = "") {
    Statement& statement = statements_.emplace_back();
    statement.verb = verb;
    statement.name = std::move(name);
    return statement;
  }

  std::string AnyWriter() {
    return "w" + std::to_string(random_.Below(static_cast<uint64_t>(shape_.writers())) + 1);
  }

  void Step() {
    // A fault is not awaited for ever.
    if (failing_ && random_.OneIn(3)) return EndFault();
    const uint64_t choice = random_.Below(100);
    if (choice < 36) return Write();
    if (choice < 60) return Commit();
    if (choice < 65) {
      Add(Verb::kFlush, AnyWriter());
      return;
    }
    if (choice < 70) {
      Add(Verb::kCompactWriter, AnyWriter()).full = random_.OneIn(2);
      return;
    }
    if (choice < 74 && shape_.may_forget_commits()) {
      Add(Verb::kPrepare, AnyWriter());
      return;
    }
    if (choice < 77) {
      Add(Verb::kCompact).full = random_.OneIn(2);
      return;
    }
    if (choice < 79) {
      Add(Verb::kClose, AnyWriter());
      return;
    }
    if (choice < 82) {
      Add(Verb::kRestart);
      failing_ = false;
      return;
    }
    if (choice < 85) return shape_.one_job() ? Write() : Overwrite();
    if (choice < 87) {
      shape_.ChangeOption(&Add(Verb::kAlter));
      return;
    }
    if (choice < 90) {
      Add(Verb::kExpire);
      return;
    }
    if (choice < 92) {
      Add(Verb::kClock).number = random_.Between(1, random_.OneIn(3) ? 4'000'000 : 100'000);
      return;
    }
    if (options_.faults && !failing_) BeginFault();
  }

  void Write() {
    const int most = random_.OneIn(6) ? 60 : 8;
    Add(Verb::kWrite, AnyWriter()).rows = shape_.Rows(static_cast<int>(random_.Between(1, most)));
  }

  void Commit() {
    Statement& commit = Add(Verb::kCommit, AnyWriter());
    if (shape_.writers() == 1 || !random_.OneIn(6)) return;
    std::string other = AnyWriter();
    if (other != commit.name) commit.text = std::move(other);
  }

  void Overwrite() {
    Statement& overwrite = Add(Verb::kOverwrite);
    const int count = static_cast<int>(random_.Below(6));
    if (!shape_.partitioned() || random_.OneIn(3)) {
      overwrite.rows = shape_.Rows(count);
      return;
    }
    const std::string partition = shape_.Partition();
    overwrite.options["p"] = partition;
    overwrite.rows = shape_.Rows(count, &partition);
  }

  void BeginFault() {
    Statement& fault = Add(Verb::kFault);
    fault.fault = kFaults[random_.Below(std::size(kFaults))];
    fault.number = random_.Between(0, random_.OneIn(2) ? 6 : 60);
    if (random_.OneIn(2)) fault.operation = "changes";
    failing_ = true;
    fault_ = fault.fault;
  }

  void EndFault() {
    const bool stops = fault_ == FaultKind::kStop || fault_ == FaultKind::kTearAndStop ||
                       fault_ == FaultKind::kPublishDoneAndStop;
    Add(stops || random_.OneIn(3) ? Verb::kRestart : Verb::kHeal);
    failing_ = false;
  }

  Random random_;
  const HistoryOptions options_;
  Shape shape_;
  std::vector<Statement> statements_;
  bool failing_ = false;
  FaultKind fault_ = FaultKind::kNone;
};

}  // namespace

std::vector<Statement> MakeHistory(uint64_t seed, const HistoryOptions& options) {
  return Historian(seed, options).Tell();
}

}  // namespace headrace::laws
