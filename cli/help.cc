#include "cli/help.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

namespace headrace::cli {
namespace {

constexpr size_t kColumns = 80;
constexpr size_t kNameColumns = 30;
constexpr size_t kCommandColumns = 14;

// Descriptions in lines that fit beside the names; CLI11 indents what follows a line break.
std::string Wrapped(const std::string& text) {
  std::istringstream words(text);
  std::string wrapped, word;
  size_t used = 0;
  while (words >> word) {
    const bool fits = used + 1 + word.size() <= kColumns - kNameColumns;
    if (used > 0) wrapped += fits ? " " : "\n";
    used = used > 0 && fits ? used + 1 + word.size() : word.size();
    wrapped += word;
  }
  return wrapped;
}

class HelpPage : public CLI::Formatter {
 public:
  HelpPage() { column_width(kNameColumns); }

  std::string make_option_desc(const CLI::Option* option) const override {
    return Wrapped(Formatter::make_option_desc(option));
  }

  std::string make_subcommand(const CLI::App* command) const override {
    std::ostringstream line;
    CLI::detail::format_help(line, command->get_name(), command->get_description(), kCommandColumns);
    return line.str();
  }

  // The base leaves one blank line before it.
  std::string make_footer(const CLI::App* app) const override {
    const std::string footer = app->get_footer();
    const size_t begin = footer.find_first_not_of('\n');
    return begin == std::string::npos ? "" : footer.substr(begin) + "\n";
  }
};

// Levenshtein's distance.
size_t DistanceOf(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

// The name nearest to `word`; empty when none is near.
std::string NearestOf(const std::vector<std::string>& names, const std::string& word) {
  std::string nearest;
  size_t least = std::max<size_t>(word.size() / 2, 1) + 1;
  for (const std::string& name : names) {
    const size_t distance = DistanceOf(name, word);
    if (distance >= least) continue;
    least = distance;
    nearest = name;
  }
  return nearest;
}

std::string DidYouMean(const std::vector<std::string>& names, const std::string& word) {
  const std::string nearest = NearestOf(names, word);
  return nearest.empty() ? "" : "; did you mean " + nearest + "?";
}

std::vector<std::string> CommandsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> OptionsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// What the command did not expect: "--fromat" rather than the value after it.
std::string StrangerIn(const CLI::App& app) {
  const std::vector<std::string> rest = app.remaining(true);
  const auto option =
      std::find_if(rest.begin(), rest.end(), [](const std::string& word) { return word.rfind('-', 0) == 0; });
  if (option != rest.end()) return option->substr(0, option->find('='));
  return rest.empty() ? "" : rest.front();
}

void Say(const std::string& text) { std::fprintf(stderr, "headrace: wrong usage: %s\n", text.c_str()); }

void TellNoCommand(const CLI::App& app) {
  Say("no command is given; there are:");
  for (const CLI::App* command : app.get_subcommands({})) {
    std::fprintf(stderr, "  %-11s %s\n", command->get_name().c_str(), command->get_description().c_str());
  }
}

std::string MistakeIn(const CLI::App& app, const CLI::App* command, const CLI::ParseError& error) {
  const std::string stranger = StrangerIn(app);
  const bool is_option = stranger.rfind('-', 0) == 0;
  if (command == nullptr && !stranger.empty() && !is_option)
    return "there is no command '" + stranger + "'" + DidYouMean(CommandsOf(app), stranger);
  if (command != nullptr && !is_option && !stranger.empty())
    return command->get_name() + " takes no further argument, and was given '" + stranger + "'";
  if (!is_option) return error.what();
  std::vector<std::string> options = OptionsOf(app);
  if (command == nullptr) return "there is no option " + stranger + DidYouMean(options, stranger);
  const std::vector<std::string> own = OptionsOf(*command);
  options.insert(options.end(), own.begin(), own.end());
  return command->get_name() + " has no option " + stranger + DidYouMean(options, stranger);
}

}  // namespace

void UseHelp(CLI::App* app) { app->formatter(std::make_shared<HelpPage>()); }

void AddHelp(CLI::App* app, Chosen* chosen) {
  auto name = std::make_shared<std::string>();
  CLI::App* sub = app->add_subcommand("help", "Tell about a command, as its --help does");
  sub->add_option("COMMAND", *name, "Its name (default: an overview)");
  OnGiven(sub, chosen, [app, name](Session&) -> Result<int> {
    if (!name->empty()) {
      const std::vector<std::string> names = CommandsOf(*app);
      if (std::find(names.begin(), names.end(), *name) == names.end())
        return UsageError("there is no command '", *name, "'", DidYouMean(names, *name));
    }
    const std::string page =
        name->empty()  // App::help would choose the page of the command that was given: this one
            ? app->get_formatter()->make_help(app, app->get_name(), CLI::AppFormatMode::Normal)
            : app->get_subcommand(*name)->help(app->get_name());
    std::fputs(page.c_str(), stdout);
    return kDone;
  });
}

void TellMistake(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> given = const_cast<CLI::App&>(app).get_subcommands();
  const CLI::App* command = given.empty() ? nullptr : given.front();
  if (command == nullptr && StrangerIn(app).empty() && error.get_name() == "RequiredError") {
    TellNoCommand(app);
  } else {
    Say(MistakeIn(app, command, error));
  }
  const std::string name = command == nullptr ? "" : " " + command->get_name();
  std::fprintf(stderr, "headrace%s --help tells more\n", name.c_str());
}

CLI::Validator WholeNumber(int64_t least, int64_t most) {
  return CLI::Validator(
      [least, most](const std::string& text) -> std::string {
        char* end = nullptr;
        errno = 0;
        const int64_t value = std::strtoll(text.c_str(), &end, 10);
        if (text.empty() || *end != '\0' || errno != 0) return "'" + text + "' is not a whole number";
        if (value < least) return text + " is less than " + std::to_string(least);
        if (value > most) return text + " is more than " + std::to_string(most);
        return "";
      },
      "");
}

}  // namespace headrace::cli
