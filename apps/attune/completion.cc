#include "apps/attune/completion.h"

#include <algorithm>
#include <string_view>

namespace attune {
namespace {

// Appends the options of `app` and of its groups, which are apps without a name.
void CollectOptions(const CLI::App& app, std::vector<const CLI::Option*>& options) {
  const auto own = app.get_options();
  options.insert(options.end(), own.begin(), own.end());
  for (const CLI::App* group :
       app.get_subcommands([](const CLI::App* sub) { return sub->get_name().empty(); })) {
    CollectOptions(*group, options);
  }
}

// True for an option whose value is the next word: --tag, but not --tag=x.
bool TakesNextWord(const CLI::App& program, const CLI::App& verb, const std::string& word) {
  if (!word.starts_with("-")) return false;
  std::vector<const CLI::Option*> options;
  CollectOptions(verb, options);
  CollectOptions(program, options);
  return std::any_of(options.begin(), options.end(), [&](const CLI::Option* option) {
    return option->check_name(word) && option->get_items_expected_max() > 0;
  });
}

// The verb that `words` name, or its subcommand.
const CLI::App* AppAfter(const CLI::App& program, const std::vector<std::string>& words) {
  const CLI::App* app = &program;
  for (size_t i = 0; i < words.size(); ++i) {
    const auto subcommands = app->get_subcommands([&](const CLI::App* sub) {
      return !sub->get_name().empty() && sub->get_name() == words[i];
    });
    if (!subcommands.empty()) app = subcommands.front();
    if (TakesNextWord(program, *app, words[i])) ++i;
  }
  return app;
}

std::string FirstLine(std::string_view text) {
  std::string line(text.substr(0, text.find('\n')));
  std::replace(line.begin(), line.end(), '\t', ' ');
  return line;
}

class Lines {
 public:
  explicit Lines(std::string_view begin) : begin_(begin) {}
  void Add(std::string_view word, std::string_view description) {
    if (!word.starts_with(begin_)) return;
    text_ += std::string(word) + '\t' + FirstLine(description) + '\n';
  }
  std::string text() && { return std::move(text_); }

 private:
  const std::string_view begin_;
  std::string text_;
};

}  // namespace

std::string Completions(const CLI::App& program, const std::vector<Extension>& extensions,
                        const std::vector<std::string>& words) {
  const std::vector<std::string> before(words.begin(), words.end() - 1);
  // The command line of another program begins after '--'.
  if (std::find(before.begin(), before.end(), "--") != before.end()) return "";
  const CLI::App* app = AppAfter(program, before);
  std::vector<const CLI::Option*> options;
  CollectOptions(*app, options);
  if (app != &program) CollectOptions(program, options);
  if (!before.empty() && TakesNextWord(program, *app, before.back())) return "";
  Lines lines(words.back());
  if (words.back().starts_with("-")) {
    for (const CLI::Option* option : options) {
      for (const std::string& name : option->get_lnames()) {
        lines.Add("--" + name, option->get_description());
      }
    }
    return std::move(lines).text();
  }
  for (const CLI::App* sub : app->get_subcommands(nullptr)) {
    if (!sub->get_name().empty()) lines.Add(sub->get_name(), sub->get_description());
  }
  if (app != &program) return std::move(lines).text();
  for (const Extension& extension : extensions) {
    for (const Extension::Verb& verb : extension.verbs) lines.Add(verb.name, verb.description);
  }
  return std::move(lines).text();
}

}  // namespace attune
