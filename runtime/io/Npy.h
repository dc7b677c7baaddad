//===-- Npy.h - arrays in NumPy's file format ---------------------------------------------------------------------===//
//
// Versions 1.0 and 2.0 of the format (numpy/lib/format.py), little-endian, C order.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_IO_NPY_H
#define SHARDC_RUNTIME_IO_NPY_H

#include "runtime/base/File.h"
#include "runtime/format/plan.pb.h"

#include <vector>

namespace shardc::rt {

/// An array in a mapped file.
struct NpyArray {
  MappedFile file;
  plan::ElementType type = plan::ELEMENT_TYPE_UNSPECIFIED;
  std::vector<int64_t> shape;
  const char *data = nullptr; // row-major, in the mapping
};

/// Maps a .npy file; an error names the file and what is wrong with it.
Result<NpyArray> openNpy(const std::string &path);

/// NumPy's name of a type: "float32", …
std::string_view numpyName(plan::ElementType type);

} // namespace shardc::rt

#endif
