//===-- ParseOptions.cpp - the words of a command line as options -------------------------------------------------===//

#include "ParseOptions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace shardc::driver;
using llvm::formatv;
using llvm::StringRef;

namespace {

constexpr char kUsage[] = "shardc MODEL.onnx [options] -o DIR";

std::string spell(StringRef name) { return (name.size() == 1 ? "-" : "--") + name.str(); }

/// Takes the words one after another.
class Parser {
public:
  Parser(llvm::ArrayRef<const char *> words, const std::vector<OptionRow> &table, Options &options)
      : words(words), table(table), options(options) {}

  std::optional<OptionError> run() {
    bool areOptions = true;
    while (!words.empty()) {
      StringRef word = words.consume_front();
      if (areOptions && word == "--") {
        areOptions = false;
        continue;
      }
      bool isOption = areOptions && word.size() > 1 && word.starts_with("-");
      if (auto error = isOption ? takeOption(word) : takeModel(word))
        return error;
    }
    if (options.model.empty())
      return OptionError{"the model is missing [option-syntax]", kUsage};
    return {};
  }

private:
  std::optional<OptionError> takeModel(StringRef word) {
    if (word.empty())
      return OptionError{"the name of the model is empty [option-syntax]", kUsage};
    if (!options.model.empty())
      return OptionError{
          formatv("'{0}' and '{1}' are both no options, expected one model [option-syntax]", options.model, word),
          kUsage};
    options.model = word.str();
    return {};
  }

  std::optional<OptionError> takeOption(StringRef word) {
    StringRef text = word.drop_front(word.starts_with("--") ? 2 : 1);
    size_t equals = text.find('=');
    StringRef name = text.take_front(equals);
    auto row = llvm::find_if(table, [&](const OptionRow &entry) { return entry.name == name; });
    if (row == table.end())
      return OptionError{
          formatv("option '{0}': is not known [option-syntax]", word.take_until([](char c) { return c == '='; })),
          findLikely(name)};
    if (!row->mayRepeat && options.isGiven(name))
      return OptionError{formatv("option '{0}': is given twice [option-syntax]", spell(name)), "give it once"};
    if (equals == StringRef::npos && words.empty())
      return OptionError{formatv("option '{0}': its value is missing [option-syntax]", spell(name)),
                         formatv("write {0} {1}", spell(name), row->value)};
    StringRef value = equals == StringRef::npos ? StringRef(words.consume_front()) : text.drop_front(equals + 1);
    if (value.empty())
      return OptionError{formatv("option '{0}': its value is empty [option-syntax]", spell(name)),
                         formatv("write {0} {1}", spell(name), row->value)};
    options.given.push_back(name.str());
    return row->set(value);
  }

  /// The note for a name that does not exist.
  std::string findLikely(StringRef name) const {
    constexpr unsigned kMostEdits = 2;
    const OptionRow *best = nullptr;
    unsigned least = kMostEdits + 1;
    for (const OptionRow &row : table)
      if (unsigned edits = row.name.edit_distance(name, /*AllowReplacements=*/true, kMostEdits + 1);
          edits < least && edits < name.size()) {
        best = &row;
        least = edits;
      }
    return best ? formatv("did you mean {0}?", spell(best->name)).str() : "shardc --help lists the options";
  }

  llvm::ArrayRef<const char *> words;
  const std::vector<OptionRow> &table;
  Options &options;
};

} // namespace

std::optional<OptionError> shardc::driver::parseOptions(llvm::ArrayRef<const char *> words,
                                                        const std::vector<OptionRow> &table, Options &options) {
  return Parser(words, table, options).run();
}

void shardc::driver::printHelp(const std::vector<OptionRow> &table, llvm::raw_ostream &out) {
  constexpr int kColumn = 44;
  out << "shardc - compiles an ONNX model to a training plan for a mesh of ranks\n\nUsage: " << kUsage << "\n";
  StringRef group;
  for (const OptionRow &row : table) {
    if (row.group != group)
      out << "\n" << row.group << ":\n";
    group = row.group;
    std::string left = spell(row.name) + " " + row.value.str();
    out << "  " << llvm::left_justify(left, kColumn) << " " << row.help << "\n";
  }
}
