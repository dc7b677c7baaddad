//===-- SafeTensors.h - tensors in a file -------------------------------------------------------------------------===//
//
// The safetensors format: eight bytes with the length of a JSON header, the header (name → dtype, shape, data_offsets),
// then the data.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_IO_SAFETENSORS_H
#define SHARDC_RUNTIME_IO_SAFETENSORS_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardc::rt {

/// A tensor of f32, row-major.
struct NamedTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> values;
};

/// Writes tensors in the order given. An error if two have the same name, or the file cannot be written.
Status writeSafeTensors(const std::string &path, const std::vector<NamedTensor> &tensors);

} // namespace shardc::rt

#endif
