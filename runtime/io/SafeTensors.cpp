//===-- SafeTensors.cpp - tensors in a file -----------------------------------------------------------------------===//

#include "runtime/io/SafeTensors.h"

#include "runtime/base/File.h"

#include <cstring>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace shardc::rt {

Status writeSafeTensors(const std::string &path, const std::vector<NamedTensor> &tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  size_t offset = 0;
  for (const NamedTensor &tensor : tensors) {
    if (header.contains(tensor.name))
      return Status(StatusKind::Internal, fmt::format("tensor '{}': written twice to '{}'", tensor.name, path));
    size_t bytes = tensor.values.size() * sizeof(float);
    header[tensor.name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' '); // the data are aligned to 8 bytes
  uint64_t length = text.size();
  std::string contents(reinterpret_cast<const char *>(&length), sizeof(length));
  contents.reserve(contents.size() + text.size() + offset);
  contents += text;
  for (const NamedTensor &tensor : tensors)
    contents.append(reinterpret_cast<const char *>(tensor.values.data()), tensor.values.size() * sizeof(float));
  return writeFile(path, contents);
}

} // namespace shardc::rt
