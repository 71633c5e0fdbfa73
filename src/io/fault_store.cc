// Counting, logging and failing; what is not made to fail goes to the store below.
#include "io/fault_store.h"

#include <utility>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>

#include "base/lock.h"

namespace headrace {

std::string_view NameOf(StoreOperation operation) {
  switch (operation) {
    case StoreOperation::kList: return "list";
    case StoreOperation::kStat: return "stat";
    case StoreOperation::kReadAll: return "read all";
    case StoreOperation::kOpenForRead: return "open for reading";
    case StoreOperation::kRead: return "read";
    case StoreOperation::kOpenForWrite: return "open for writing";
    case StoreOperation::kWrite: return "write";
    case StoreOperation::kClose: return "close";
    case StoreOperation::kReplace: return "replace";
    case StoreOperation::kPublish: return "publish";
    case StoreOperation::kDelete: return "delete";
    case StoreOperation::kDeleteRecursively: return "delete recursively";
    case StoreOperation::kDeleteIfEmpty: return "delete if empty";
    case StoreOperation::kRename: return "rename";
  }
  return "unknown";
}

bool Changes(StoreOperation operation) {
  switch (operation) {
    case StoreOperation::kList:
    case StoreOperation::kStat:
    case StoreOperation::kReadAll:
    case StoreOperation::kOpenForRead:
    case StoreOperation::kRead: return false;
    case StoreOperation::kOpenForWrite:
    case StoreOperation::kWrite:
    case StoreOperation::kClose:
    case StoreOperation::kReplace:
    case StoreOperation::kPublish:
    case StoreOperation::kDelete:
    case StoreOperation::kDeleteRecursively:
    case StoreOperation::kDeleteIfEmpty:
    case StoreOperation::kRename: return true;
  }
  return true;
}

std::string_view NameOf(FaultKind kind) {
  switch (kind) {
    case FaultKind::kNone: return "none";
    case FaultKind::kFail: return "fail";
    case FaultKind::kStop: return "stop";
    case FaultKind::kTearAndStop: return "tear and stop";
    case FaultKind::kDiskFull: return "disk full";
    case FaultKind::kPublishUnknown: return "publish unknown";
    case FaultKind::kPublishUnknownLost: return "publish unknown and lost";
    case FaultKind::kPublishLate: return "publish late";
    case FaultKind::kPublishDoneAndStop: return "publish done and stop";
  }
  return "unknown";
}

namespace {

bool IsPublishKind(FaultKind kind) {
  return kind == FaultKind::kPublishUnknown || kind == FaultKind::kPublishUnknownLost ||
         kind == FaultKind::kPublishLate || kind == FaultKind::kPublishDoneAndStop;
}

bool NeedsSpace(StoreOperation operation) {
  return Changes(operation) && operation != StoreOperation::kDelete &&
         operation != StoreOperation::kDeleteRecursively && operation != StoreOperation::kDeleteIfEmpty;
}

}  // namespace

struct FaultStore::State {
  // What becomes of one operation.
  enum class Verdict {
    kDo,
    kFail,
    kTear,
    kDoAndForget,
    kDoAndAnswerUnknown,
    kSkipAndAnswerUnknown,
    kDelayAndAnswerUnknown
  };

  explicit State(std::shared_ptr<Store> store) : below(std::move(store)) {}

  const std::shared_ptr<Store> below;
  Mutex mutex;
  FaultPlan plan GUARDED_BY(mutex);
  std::function<void(StoreOperation, const std::string&)> hook GUARDED_BY(mutex);
  int64_t counted GUARDED_BY(mutex) = 0;
  bool fired GUARDED_BY(mutex) = false;
  bool stopped GUARDED_BY(mutex) = false;
  bool full GUARDED_BY(mutex) = false;
  std::vector<LoggedOperation> log GUARDED_BY(mutex);

  struct Delayed {
    std::string path;
    std::string bytes;
  };
  std::optional<Delayed> delayed GUARDED_BY(mutex);  // a publish still on its way

  struct Begun {
    Verdict verdict;
    size_t number;  // in the log
  };

  Begun Begin(StoreOperation operation, const std::string& path, int64_t bytes = 0) {
    std::function<void(StoreOperation, const std::string&)> before;
    {
      MutexLock lock(mutex);
      before = hook;
    }
    if (before) before(operation, path);
    MutexLock lock(mutex);
    log.push_back({operation, path, bytes, false});
    return {Judge(operation, path), log.size() - 1};
  }

  Verdict Judge(StoreOperation operation, const std::string& path) REQUIRES(mutex) {
    if (stopped || (full && NeedsSpace(operation))) return Verdict::kFail;
    const bool looked_at = (!plan.counts || plan.counts(operation, path)) &&
                           (!IsPublishKind(plan.kind) || operation == StoreOperation::kPublish) &&
                           (plan.kind != FaultKind::kDiskFull || NeedsSpace(operation));
    if (!looked_at || counted++ != plan.at) return Verdict::kDo;
    return Strike(operation);
  }

  Verdict Strike(StoreOperation operation) REQUIRES(mutex) {
    fired = plan.kind != FaultKind::kNone;
    switch (plan.kind) {
      case FaultKind::kNone: return Verdict::kDo;
      case FaultKind::kFail: return Verdict::kFail;
      case FaultKind::kStop: stopped = true; return Verdict::kFail;
      case FaultKind::kTearAndStop:
        stopped = true;
        return operation == StoreOperation::kWrite || operation == StoreOperation::kClose ? Verdict::kTear
                                                                                          : Verdict::kFail;
      case FaultKind::kDiskFull: full = true; return Verdict::kFail;
      case FaultKind::kPublishUnknown: return Verdict::kDoAndAnswerUnknown;
      case FaultKind::kPublishUnknownLost: return Verdict::kSkipAndAnswerUnknown;
      case FaultKind::kPublishLate: return Verdict::kDelayAndAnswerUnknown;
      case FaultKind::kPublishDoneAndStop: stopped = true; return Verdict::kDoAndForget;
    }
    return Verdict::kDo;
  }

  void Done(size_t number, int64_t bytes = -1) {
    MutexLock lock(mutex);
    log[number].done = true;
    if (bytes >= 0) log[number].bytes = bytes;
  }

  void Delay(const std::string& path, std::string_view bytes) {
    MutexLock lock(mutex);
    delayed = Delayed{path, std::string(bytes)};
  }

  // What was on its way gets there; whether it is in time is nobody's concern any more.
  void Arrive() {
    std::optional<Delayed> arrived;
    {
      MutexLock lock(mutex);
      arrived = std::exchange(delayed, std::nullopt);
    }
    if (arrived.has_value()) (void)below->PublishIfAbsent(arrived->path, arrived->bytes);
  }

  Status Failure(StoreOperation operation, const std::string& path) {
    MutexLock lock(mutex);
    const std::string_view why = stopped ? "the store has stopped"
                                 : full  ? "no space left (injected)"
                                         : "injected failure";
    return IoError(NameOf(operation), " ", path, ": ", why);
  }

  // An operation that either goes to the store below or fails whole.
  template <typename Call>
  auto Pass(StoreOperation operation, const std::string& path, int64_t bytes, Call call) -> decltype(call()) {
    const Begun begun = Begin(operation, path, bytes);
    if (begun.verdict != Verdict::kDo) return Failure(operation, path);
    auto result = call();
    if (result.ok()) Done(begun.number);
    return result;
  }
};

class FaultStore::Stream final : public arrow::io::OutputStream {
 public:
  Stream(std::shared_ptr<State> state, std::string path, std::shared_ptr<arrow::io::OutputStream> below)
      : state_(std::move(state)), path_(std::move(path)), below_(std::move(below)) {}

  Status Write(const void* data, int64_t bytes) override {
    const State::Begun begun = state_->Begin(StoreOperation::kWrite, path_, bytes);
    if (begun.verdict == State::Verdict::kTear) {
      HEADRACE_RETURN_NOT_OK(below_->Write(data, bytes / 2));
      return LeaveTorn(StoreOperation::kWrite);
    }
    if (begun.verdict != State::Verdict::kDo) return state_->Failure(StoreOperation::kWrite, path_);
    HEADRACE_RETURN_NOT_OK(below_->Write(data, bytes));
    state_->Done(begun.number);
    return Status::OK();
  }
  using Writable::Write;

  Status Flush() override { return below_->Flush(); }

  Status Close() override {
    if (below_->closed()) return Status::OK();
    const State::Begun begun = state_->Begin(StoreOperation::kClose, path_);
    if (begun.verdict == State::Verdict::kTear) return LeaveTorn(StoreOperation::kClose);
    if (begun.verdict != State::Verdict::kDo) return state_->Failure(StoreOperation::kClose, path_);
    HEADRACE_RETURN_NOT_OK(below_->Close());
    state_->Done(begun.number);
    return Status::OK();
  }

  Status Abort() override { return below_->Abort(); }
  bool closed() const override { return below_->closed(); }
  Result<int64_t> Tell() const override { return below_->Tell(); }

 private:
  // The file stays under its name with what it has so far.
  Status LeaveTorn(StoreOperation operation) {
    HEADRACE_RETURN_NOT_OK(below_->Close());
    return state_->Failure(operation, path_);
  }

  const std::shared_ptr<State> state_;
  const std::string path_;
  const std::shared_ptr<arrow::io::OutputStream> below_;
};

class FaultStore::File final : public arrow::io::RandomAccessFile {
 public:
  File(std::shared_ptr<State> state, std::string path, std::shared_ptr<arrow::io::RandomAccessFile> below)
      : state_(std::move(state)), path_(std::move(path)), below_(std::move(below)) {}

  Result<int64_t> ReadAt(int64_t position, int64_t bytes, void* out) override {
    return Reading(bytes, [&] { return below_->ReadAt(position, bytes, out); });
  }
  Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t bytes) override {
    return Reading(bytes, [&] { return below_->ReadAt(position, bytes); });
  }
  Result<int64_t> Read(int64_t bytes, void* out) override {
    return Reading(bytes, [&] { return below_->Read(bytes, out); });
  }
  Result<std::shared_ptr<arrow::Buffer>> Read(int64_t bytes) override {
    return Reading(bytes, [&] { return below_->Read(bytes); });
  }

  Result<int64_t> GetSize() override { return below_->GetSize(); }
  Status Seek(int64_t position) override { return below_->Seek(position); }
  Result<int64_t> Tell() const override { return below_->Tell(); }
  Status Close() override { return below_->Close(); }
  bool closed() const override { return below_->closed(); }

 private:
  template <typename Call>
  auto Reading(int64_t bytes, Call call) -> decltype(call()) {
    return state_->Pass(StoreOperation::kRead, path_, bytes, call);
  }

  const std::shared_ptr<State> state_;
  const std::string path_;
  const std::shared_ptr<arrow::io::RandomAccessFile> below_;
};

FaultStore::FaultStore(std::shared_ptr<Store> below, FaultPlan plan)
    : state_(std::make_shared<State>(std::move(below))) {
  SetPlan(std::move(plan));
}

FaultStore::~FaultStore() = default;

void FaultStore::SetPlan(FaultPlan plan) {
  MutexLock lock(state_->mutex);
  state_->plan = std::move(plan);
  state_->counted = 0;
  state_->fired = false;
  state_->stopped = false;
  state_->full = false;
  state_->delayed.reset();
}

bool FaultStore::fired() const {
  MutexLock lock(state_->mutex);
  return state_->fired;
}

int64_t FaultStore::counted() const {
  MutexLock lock(state_->mutex);
  return state_->counted;
}

std::vector<LoggedOperation> FaultStore::log() const {
  MutexLock lock(state_->mutex);
  return state_->log;
}

void FaultStore::SetHook(std::function<void(StoreOperation, const std::string&)> hook) {
  MutexLock lock(state_->mutex);
  state_->hook = std::move(hook);
}

Result<std::vector<FileInfo>> FaultStore::List(const std::string& directory) {
  return state_->Pass(StoreOperation::kList, directory, 0, [&] { return state_->below->List(directory); });
}

Result<std::vector<std::string>> FaultStore::ListNames(const std::string& directory,
                                                       std::string_view prefix) {
  return state_->Pass(StoreOperation::kList, directory, 0,
                      [&] { return state_->below->ListNames(directory, prefix); });
}

Result<std::optional<FileInfo>> FaultStore::Stat(const std::string& path) {
  return state_->Pass(StoreOperation::kStat, path, 0, [&] { return state_->below->Stat(path); });
}

Result<std::string> FaultStore::ReadAll(const std::string& path) {
  return state_->Pass(StoreOperation::kReadAll, path, 0, [&] { return state_->below->ReadAll(path); });
}

Result<std::shared_ptr<arrow::io::RandomAccessFile>> FaultStore::OpenForRead(const std::string& path) {
  HEADRACE_ASSIGN_OR_RETURN(
      std::shared_ptr<arrow::io::RandomAccessFile> below,
      state_->Pass(StoreOperation::kOpenForRead, path, 0, [&] { return state_->below->OpenForRead(path); }));
  return std::make_shared<File>(state_, path, std::move(below));
}

Result<std::shared_ptr<arrow::io::OutputStream>> FaultStore::OpenForWrite(const std::string& path) {
  HEADRACE_ASSIGN_OR_RETURN(std::shared_ptr<arrow::io::OutputStream> below,
                            state_->Pass(StoreOperation::kOpenForWrite, path, 0,
                                         [&] { return state_->below->OpenForWrite(path); }));
  return std::make_shared<Stream>(state_, path, std::move(below));
}

Status FaultStore::Replace(const std::string& path, std::string_view bytes) {
  return state_->Pass(StoreOperation::kReplace, path, static_cast<int64_t>(bytes.size()),
                      [&] { return state_->below->Replace(path, bytes); });
}

Result<PublishResult> FaultStore::PublishIfAbsent(const std::string& path, std::string_view bytes) {
  using Verdict = State::Verdict;
  state_->Arrive();
  const State::Begun begun =
      state_->Begin(StoreOperation::kPublish, path, static_cast<int64_t>(bytes.size()));
  if (begun.verdict == Verdict::kFail || begun.verdict == Verdict::kTear)
    return state_->Failure(StoreOperation::kPublish, path);
  if (begun.verdict == Verdict::kSkipAndAnswerUnknown)
    return CommitUnknown("publishing ", path, ": no answer (injected; not done)");
  if (begun.verdict == Verdict::kDelayAndAnswerUnknown) {
    state_->Delay(path, bytes);
    return CommitUnknown("publishing ", path, ": no answer (injected; not done yet)");
  }

  HEADRACE_ASSIGN_OR_RETURN(const PublishResult result, state_->below->PublishIfAbsent(path, bytes));
  state_->Done(begun.number);
  if (begun.verdict == Verdict::kDoAndAnswerUnknown)
    return CommitUnknown("publishing ", path, ": no answer (injected; done)");
  if (begun.verdict == Verdict::kDoAndForget) return state_->Failure(StoreOperation::kPublish, path);
  return result;
}

Status FaultStore::Delete(const std::string& path) {
  return state_->Pass(StoreOperation::kDelete, path, 0, [&] { return state_->below->Delete(path); });
}

Status FaultStore::DeleteRecursively(const std::string& directory) {
  return state_->Pass(StoreOperation::kDeleteRecursively, directory, 0,
                      [&] { return state_->below->DeleteRecursively(directory); });
}

Result<bool> FaultStore::DeleteIfEmpty(const std::string& directory) {
  return state_->Pass(StoreOperation::kDeleteIfEmpty, directory, 0,
                      [&] { return state_->below->DeleteIfEmpty(directory); });
}

Status FaultStore::RenameDirectory(const std::string& from, const std::string& to) {
  return state_->Pass(StoreOperation::kRename, from, 0,
                      [&] { return state_->below->RenameDirectory(from, to); });
}

}  // namespace headrace
