// `headrace completion`: scripts that complete commands and options, made from the program's own definition.
#include <cstdio>
#include <memory>

#include "cli/session.h"

namespace headrace::cli {
namespace {

// "--format --output …" of a command; long names alone.
std::string OptionsOf(const CLI::App& command) {
  std::string words;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) words += (words.empty() ? "--" : " --") + name;
  }
  return words;
}

std::string CommandsOf(const CLI::App& app) {
  std::string words;
  for (const CLI::App* sub : app.get_subcommands({})) words += (words.empty() ? "" : " ") + sub->get_name();
  return words;
}

void PrintBash(const CLI::App& app) {
  std::printf("_headrace() {\n  local word=${COMP_WORDS[COMP_CWORD]} command= w\n");
  std::printf(
      "  for w in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do case $w in -*) ;; *) command=$w; break ;; esac; "
      "done\n");
  std::printf("  local global='%s'\n  case $command in\n", OptionsOf(app).c_str());
  for (const CLI::App* sub : app.get_subcommands({})) {
    std::printf("    %s) words='%s' ;;\n", sub->get_name().c_str(), OptionsOf(*sub).c_str());
  }
  std::printf("    *) words='%s' ;;\n  esac\n", CommandsOf(app).c_str());
  std::printf(
      "  if [[ $word == -* || -z $command ]]; then COMPREPLY=($(compgen -W \"$words $global\" -- "
      "\"$word\"))\n");
  std::printf(
      "  else COMPREPLY=($(compgen -f -- \"$word\")); fi\n}\ncomplete -o filenames -F _headrace headrace\n");
}

void PrintZsh(const CLI::App& app) {
  std::printf("autoload -U +X compinit && compinit -u\nautoload -U +X bashcompinit && bashcompinit\n");
  PrintBash(app);
}

// As fish reads it between single quotes.
std::string QuotedForFish(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

void PrintFish(const CLI::App& app) {
  for (const CLI::App* sub : app.get_subcommands({})) {
    std::printf("complete -c headrace -n __fish_use_subcommand -a %s -d %s\n", sub->get_name().c_str(),
                QuotedForFish(sub->get_description()).c_str());
    for (const CLI::Option* option : sub->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        std::printf("complete -c headrace -n '__fish_seen_subcommand_from %s' -l %s\n",
                    sub->get_name().c_str(), name.c_str());
      }
    }
  }
}

}  // namespace

void AddCompletion(CLI::App* app, Chosen* chosen) {
  auto shell = std::make_shared<std::string>();
  CLI::App* sub = app->add_subcommand("completion", "Print a completion script for a shell");
  sub->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  sub->footer("\nExample:\n  source <(headrace completion bash)");
  OnGiven(sub, chosen, [app, shell](Session&) -> Result<int> {
    if (*shell == "bash") PrintBash(*app);
    if (*shell == "zsh") PrintZsh(*app);
    if (*shell == "fish") PrintFish(*app);
    return kDone;
  });
}

}  // namespace headrace::cli
