//===-- ParseErrors.cpp - what CLI11 finds wrong, in our words ----------------------------------------------------===//

#include "tools/ParseErrors.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace shardc::tools {
namespace {

/// The names of an app's commands, for a note.
std::string listCommands(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::App *command : app.get_subcommands([](const CLI::App *) { return true; }))
    names.push_back(command->get_name());
  return fmt::format("{}", fmt::join(names, ", "));
}

/// The command that the line has got to, whose options it is about.
const CLI::App &innermost(const CLI::App &app) {
  auto parsed = app.get_subcommands();
  return parsed.empty() ? app : *parsed.front();
}

std::string describeExtra(const CLI::App &app) {
  std::vector<std::string> extra = app.remaining(/*recurse=*/true);
  // The value of an unknown option is left over too.
  auto option = std::ranges::find_if(extra, [](const std::string &text) { return text.starts_with("-"); });
  std::string first = option != extra.end() ? *option : extra.empty() ? std::string() : extra.front();
  if (first.starts_with("-"))
    return fmt::format("option '{}': unknown", first.substr(0, first.find('=')));
  return fmt::format("argument '{}': one too many", first);
}

/// CLI11 writes "--name: what" for failed checks, and "--name requires …" and the like for the rest.
std::string describeValue(const std::string &text) {
  size_t end = text.find_first_of(": ");
  if (!text.starts_with("-") || end == std::string::npos)
    return text;
  std::string name = text.substr(0, end);
  if (text[end] == ':' && text.find(" got ") == end + 1)
    return fmt::format("option '{}':{}", name, text.substr(end + 1));
  return fmt::format("option '{}': no value, or more than one", name);
}

std::string describe(const CLI::App &app, const CLI::ParseError &error) {
  std::string text = error.what();
  text = text.substr(0, text.find('\n'));
  if (dynamic_cast<const CLI::ExtrasError *>(&error))
    return describeExtra(app);
  bool isMissing = dynamic_cast<const CLI::RequiredError *>(&error);
  if (isMissing && text.find("subcommand") != std::string::npos) {
    std::vector<std::string> extra = app.remaining();
    return extra.empty() ? "no command given" : fmt::format("command '{}': unknown", extra.front());
  }
  if (isMissing)
    return "no plan given";
  if (dynamic_cast<const CLI::ExcludesError *>(&error))
    return "options that exclude one another: " + text;
  return describeValue(text);
}

} // namespace

std::string renderParseError(const CLI::App &app, const CLI::ParseError &error) {
  const CLI::App &command = innermost(app);
  std::string note = fmt::format("{} --help lists what it takes", app.get_name());
  if (dynamic_cast<const CLI::RequiredError *>(&error) && &command == &app && !listCommands(app).empty())
    note = fmt::format("the commands are {}", listCommands(app));
  else if (&command != &app)
    note = fmt::format("{} {} --help lists what it takes", app.get_name(), command.get_name());
  return fmt::format("error: {}\nnote: {}\n", describe(app, error), note);
}

template <typename T> CLI::Validator between(T least, T most) {
  return CLI::Validator(
      [least, most](std::string &text) {
        T value;
        if (CLI::detail::lexical_cast(text, value) && value >= least && value <= most)
          return std::string();
        std::string expected = most == std::numeric_limits<T>::max()
                                   ? fmt::format("a number of at least {}", least)
                                   : fmt::format("a number from {} to {}", least, most);
        return fmt::format("got '{}', expected {}", text, expected);
      },
      "");
}
template CLI::Validator between(int32_t, int32_t);
template CLI::Validator between(int64_t, int64_t);
template CLI::Validator between(uint64_t, uint64_t);
template CLI::Validator between(double, double);

} // namespace shardc::tools
