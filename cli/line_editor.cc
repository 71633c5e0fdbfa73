// libedit behind the line editor: reading characters by poll, so that a signal is seen; completion of the word before the cursor.
#include "cli/line_editor.h"

#include <histedit.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cwchar>
#include <utility>

#include "cli/stop_signal.h"

namespace headrace::cli {
namespace {

constexpr int kHistoryEntries = 1000;

bool IsWordByte(unsigned char c) {
  return std::isalnum(c) || c == '_' || c == '.' || c == '$' || c == '\\' || c >= 0x80;
}

class EditLineEditor final : public LineEditor {
 public:
  EditLineEditor(std::string history_file, Complete complete)
      : history_file_(std::move(history_file)), complete_(std::move(complete)) {
    std::setlocale(LC_CTYPE, "");
    edit_ = el_init("headrace", stdin, stdout, stderr);
    el_set(edit_, EL_CLIENTDATA, this);
    el_set(edit_, EL_PROMPT, OnPrompt);
    el_set(edit_, EL_EDITOR, "emacs");
    el_set(edit_, EL_SIGNAL, 0);
    el_set(edit_, EL_GETCFN, OnReadCharacter);
    // The wide form: the narrow one leaks copies of both texts.
    el_wset(edit_, EL_ADDFN, L"headrace-complete", L"Complete the word", OnComplete);
    el_set(edit_, EL_BIND, "^I", "headrace-complete", nullptr);
    el_set(edit_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    history_ = history_init();
    HistEvent event{};
    history(history_, &event, H_SETSIZE, kHistoryEntries);
    history(history_, &event, H_SETUNIQUE, 1);
    if (!history_file_.empty()) history(history_, &event, H_LOAD, history_file_.c_str());
    el_set(edit_, EL_HIST, history, history_);
  }

  ~EditLineEditor() override {
    HistEvent event{};
    if (!history_file_.empty()) history(history_, &event, H_SAVE, history_file_.c_str());
    history_end(history_);
    el_end(edit_);
  }

  End Read(const std::string& prompt, std::string* line) override {
    prompt_ = prompt;
    line->clear();
    int count = 0;
    const char* text = el_gets(edit_, &count);
    if (StopRequested()) {
      ForgetStop();
      el_reset(edit_);
      return End::kInterrupted;
    }
    if (text == nullptr || count <= 0) return End::kEndOfInput;
    line->assign(text, static_cast<size_t>(count));
    while (!line->empty() && (line->back() == '\n' || line->back() == '\r')) line->pop_back();
    return End::kLine;
  }

  void Remember(const std::string& entry) override {
    HistEvent event{};
    history(history_, &event, H_ENTER, entry.c_str());
  }

 private:
  static EditLineEditor* Self(EditLine* edit) {
    void* self = nullptr;
    el_get(edit, EL_CLIENTDATA, &self);
    return static_cast<EditLineEditor*>(self);
  }

  static char* OnPrompt(EditLine* edit) { return Self(edit)->prompt_.data(); }

  // One character of the terminal's encoding; -1 when a signal came, 0 at the end of input.
  static int OnReadCharacter(EditLine*, wchar_t* character) {
    std::mbstate_t state{};
    while (true) {
      pollfd input{STDIN_FILENO, POLLIN, 0};
      const int ready = poll(&input, 1, 100);
      if (StopRequested()) return -1;
      if (ready < 0 && errno != EINTR) return -1;
      if (ready <= 0) continue;
      char byte = 0;
      const ssize_t count = read(STDIN_FILENO, &byte, 1);
      if (count == 0) return 0;
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return -1;
      const size_t decoded = std::mbrtowc(character, &byte, 1, &state);
      if (decoded == static_cast<size_t>(-1)) state = {};  // no character of this encoding
      if (decoded <= 1) return 1;
    }
  }

  static unsigned char OnComplete(EditLine* edit, int) { return Self(edit)->CompleteWord(); }

  unsigned char CompleteWord() {
    const LineInfo* info = el_line(edit_);
    const std::string line(info->buffer, static_cast<size_t>(info->cursor - info->buffer));
    size_t word = line.size();
    while (word > 0 && IsWordByte(static_cast<unsigned char>(line[word - 1]))) --word;
    const std::vector<std::string> words = complete_(line, word);
    if (words.empty()) return CC_ERROR;
    std::string common = words.front();
    for (const std::string& each : words) {
      const auto differs = std::mismatch(common.begin(), common.end(), each.begin(), each.end());
      common.erase(differs.first, common.end());
    }
    if (common.size() > line.size() - word) {
      el_deletestr(edit_, static_cast<int>(line.size() - word));
      el_insertstr(edit_, (words.size() == 1 ? common + " " : common).c_str());
      return CC_REFRESH;
    }
    if (words.size() == 1) return CC_NORM;
    std::printf("\n");
    for (const std::string& each : words) std::printf("%s  ", each.c_str());
    std::printf("\n");
    std::fflush(stdout);
    return CC_REDISPLAY;
  }

  const std::string history_file_;
  const Complete complete_;
  std::string prompt_;
  EditLine* edit_ = nullptr;
  History* history_ = nullptr;
};

}  // namespace

std::unique_ptr<LineEditor> LineEditor::Open(std::string history_file, Complete complete) {
  return std::make_unique<EditLineEditor>(std::move(history_file), std::move(complete));
}

}  // namespace headrace::cli
