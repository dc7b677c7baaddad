//===-- Npy.cpp - arrays in NumPy's file format -------------------------------------------------------------------===//

#include "runtime/io/Npy.h"

#include "runtime/format/Query.h"

#include <charconv>
#include <cstring>
#include <fmt/format.h>
#include <map>

namespace shardc::rt {
namespace {

/// The descriptions that we read. '|' stands for types of one byte.
const std::map<std::string_view, plan::ElementType> &types() {
  static const std::map<std::string_view, plan::ElementType> map = {
      {"<f4", plan::F32}, {"<f8", plan::F64}, {"<f2", plan::F16}, {"<i8", plan::I64},
      {"<i4", plan::I32}, {"|b1", plan::I1},  {"|i1", plan::I8},  {"|u1", plan::U8},
  };
  return map;
}

/// Reads the Python dictionary of a header: the three keys in any order, and nothing else.
class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : text(text) {}

  bool parse() {
    if (!take('{'))
      return false;
    while (!take('}')) {
      std::string_view key;
      if (!takeString(key) || !take(':') || !takeValue(key))
        return false;
      take(',');
    }
    return seen == 7;
  }

  std::string_view description;
  bool fortranOrder = false;
  std::vector<int64_t> shape;

private:
  void skipSpace() {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\n'))
      text.remove_prefix(1);
  }
  bool take(char expected) {
    skipSpace();
    if (text.empty() || text.front() != expected)
      return false;
    text.remove_prefix(1);
    return true;
  }
  bool takeWord(std::string_view word) {
    skipSpace();
    if (!text.starts_with(word))
      return false;
    text.remove_prefix(word.size());
    return true;
  }
  bool takeString(std::string_view &value) {
    skipSpace();
    if (text.empty() || (text.front() != '\'' && text.front() != '"'))
      return false;
    size_t end = text.find(text.front(), 1);
    if (end == std::string_view::npos)
      return false;
    value = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    return true;
  }
  bool takeNumber(int64_t &value) {
    skipSpace();
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || value < 0)
      return false;
    text.remove_prefix(end - text.data());
    return true;
  }
  bool takeShape() {
    if (!take('('))
      return false;
    while (!take(')')) {
      if (!takeNumber(shape.emplace_back()))
        return false;
      take(',');
    }
    return true;
  }
  bool takeValue(std::string_view key) {
    if (key == "descr") {
      seen |= 1;
      return takeString(description);
    }
    if (key == "fortran_order") {
      seen |= 2;
      fortranOrder = takeWord("True");
      return fortranOrder || takeWord("False");
    }
    seen |= 4;
    return key == "shape" && takeShape();
  }

  std::string_view text;
  int seen = 0;
};

Status damaged(const std::string &path, const char *what) {
  return Status(StatusKind::Corrupt, fmt::format("array '{}': {} [data-file]", path, what),
                "save the array again with numpy.save");
}

/// Splits the file into the text of its header and its data.
Status splitFile(const MappedFile &file, std::string_view &header, std::string_view &data) {
  std::string_view bytes = file.contents();
  if (bytes.empty())
    return damaged(file.path(), "the file is empty");
  if (bytes.starts_with("PK"))
    return Status(StatusKind::Unsupported,
                  fmt::format("array '{}': an .npz archive, expected one array [data-file]", file.path()),
                  "save each of its arrays on its own, with numpy.save");
  if (!bytes.starts_with("\x93NUMPY") || bytes.size() < 10)
    return damaged(file.path(), "not a .npy file");
  int major = static_cast<unsigned char>(bytes[6]);
  if (major != 1 && major != 2)
    return Status(StatusKind::Unsupported,
                  fmt::format("array '{}': .npy version {}, expected 1 or 2 [data-file]", file.path(), major),
                  "numpy.save writes version 1");
  size_t prefix = major == 1 ? 10 : 12;
  if (bytes.size() < prefix)
    return damaged(file.path(), "the header is truncated");
  uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 8, major == 1 ? 2 : 4);
  if (bytes.size() - prefix < length)
    return damaged(file.path(), "the header is truncated");
  header = bytes.substr(prefix, length);
  data = bytes.substr(prefix + length);
  return {};
}

} // namespace

std::string_view numpyName(plan::ElementType type) {
  switch (type) {
  case plan::F32:
    return "float32";
  case plan::F64:
    return "float64";
  case plan::F16:
    return "float16";
  case plan::I64:
    return "int64";
  case plan::I32:
    return "int32";
  case plan::I1:
    return "bool";
  case plan::I8:
    return "int8";
  case plan::U8:
    return "uint8";
  default:
    return "no NumPy type";
  }
}

Result<NpyArray> openNpy(const std::string &path) {
  NpyArray array;
  SHARDRT_ASSIGN(array.file, MappedFile::open(path));
  std::string_view header, data;
  SHARDRT_RETURN_IF_ERROR(splitFile(array.file, header, data));
  HeaderParser parser(header);
  if (!parser.parse())
    return damaged(path, "the header cannot be read");
  auto type = types().find(parser.description);
  if (type == types().end())
    return Status(StatusKind::Unsupported,
                  fmt::format("array '{}': element type '{}' is not supported [data-type]", path, parser.description),
                  "little-endian float32, float64, float16, int64, int32, int8, uint8 and bool are");
  if (parser.fortranOrder)
    return Status(StatusKind::Unsupported, fmt::format("array '{}': Fortran order, expected C order [data-file]", path),
                  "save numpy.ascontiguousarray(array)");
  array.type = type->second;
  array.shape = std::move(parser.shape);
  int64_t bytes = elementBytes(array.type);
  for (int64_t size : array.shape)
    if (__builtin_mul_overflow(bytes, size, &bytes))
      return damaged(path, "its shape is beyond any file");
  if (static_cast<int64_t>(data.size()) != bytes)
    return Status(StatusKind::Corrupt,
                  fmt::format("array '{}': {} bytes of data, expected {} for shape {} of {} [data-file]", path,
                              data.size(), bytes, formatShape(array.shape), numpyName(array.type)),
                  "the file is truncated or damaged; save the array again with numpy.save");
  array.data = data.data();
  return array;
}

} // namespace shardc::rt
