//===-- ParseErrors.cpp - what CLI11 finds wrong, in our words ----------------------------------------------------===//

#include "tools/ParseErrors.h"

#include <algorithm>
#include <charconv>
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
const CLI::App *innermost(const CLI::App *app) {
  auto parsed = app->get_subcommands();
  return parsed.empty() ? app : parsed.front();
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

/// How often a value was given for an option that takes one.
std::string describeCount(const CLI::Option &option) {
  std::string name = option.get_name();
  if (option.get_items_expected_max() == 0)
    return fmt::format("option '{}': takes no value", name);
  size_t given = option.results().size();
  if (given > 1)
    return fmt::format("option '{}': given {} times", name, given);
  return fmt::format("option '{}': no value, expected {}", name, option.get_type_name());
}

/// CLI11 writes "--name: what" for failed checks, and the name somewhere in its own sentence for the rest.
std::string describeValue(const CLI::App &command, const std::string &text) {
  size_t begin = text.find("--");
  size_t end = std::min(text.find_first_of(": ", begin), text.size());
  if (begin == std::string::npos)
    return text;
  std::string name = text.substr(begin, end - begin);
  if (begin == 0 && text.substr(end).starts_with(": got "))
    return fmt::format("option '{}'{}", name, text.substr(end));
  const CLI::Option *option = command.get_option_no_throw(name);
  return option ? describeCount(*option) : fmt::format("option '{}': {}", name, text);
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
  return describeValue(*innermost(&app), text);
}

} // namespace

std::string renderParseError(const CLI::App &app, const CLI::ParseError &error) {
  const CLI::App &command = *innermost(&app);
  std::string note = fmt::format("{} --help lists what it takes", app.get_name());
  if (dynamic_cast<const CLI::RequiredError *>(&error) && &command == &app && !listCommands(app).empty())
    note = fmt::format("the commands are {}", listCommands(app));
  else if (&command != &app)
    note = fmt::format("{} {} --help lists what it takes", app.get_name(), command.get_name());
  return fmt::format("error: {}\nnote: {}\n", describe(app, error), note);
}

template <typename T> bool parseNumber(const std::string &text, T &value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

/// Whether it is a number, but none that T has.
template <typename T> static bool isBeyond(const std::string &text) {
  T value;
  return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc::result_out_of_range;
}

template <typename T> CLI::Validator between(T least, T most) {
  return CLI::Validator(
      [least, most](std::string &text) {
        T value;
        if (parseNumber(text, value) && value >= least && value <= most) {
          text = fmt::format("{}", value); // CLI11 would read 010 as octal
          return std::string();
        }
        // The largest number of a type is told only to those who exceed it.
        bool isUnbounded = most == std::numeric_limits<T>::max() && !isBeyond<T>(text);
        std::string expected = isUnbounded ? fmt::format("a number of at least {}", least)
                                           : fmt::format("a number from {} to {}", least, most);
        return fmt::format("got '{}', expected {}", text, expected);
      },
      "");
}

template bool parseNumber(const std::string &, double &);
template CLI::Validator between(int32_t, int32_t);
template CLI::Validator between(int64_t, int64_t);
template CLI::Validator between(uint64_t, uint64_t);

} // namespace shardc::tools
