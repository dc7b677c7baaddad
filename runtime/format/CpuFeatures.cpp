//===-- CpuFeatures.cpp - what this CPU can do, in LLVM's names ---------------------------------------------------===//

#include "runtime/format/CpuFeatures.h"

#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace shardc::rt {
namespace {

/// LLVM's name of each feature that compilers emit instructions for, and the Linux kernel's name in /proc/cpuinfo.
const std::map<std::string, std::string> &kernelNames() {
  static const std::map<std::string, std::string> names = {
      {"sse", "sse"},
      {"sse2", "sse2"},
      {"sse3", "pni"},
      {"ssse3", "ssse3"},
      {"sse4.1", "sse4_1"},
      {"sse4.2", "sse4_2"},
      {"popcnt", "popcnt"},
      {"lzcnt", "abm"},
      {"bmi", "bmi1"},
      {"bmi2", "bmi2"},
      {"movbe", "movbe"},
      {"f16c", "f16c"},
      {"fma", "fma"},
      {"avx", "avx"},
      {"avx2", "avx2"},
      {"avxvnni", "avx_vnni"},
      {"avx512f", "avx512f"},
      {"avx512bw", "avx512bw"},
      {"avx512cd", "avx512cd"},
      {"avx512dq", "avx512dq"},
      {"avx512vl", "avx512vl"},
      {"avx512vnni", "avx512_vnni"},
      {"avx512bf16", "avx512_bf16"},
      {"avx512fp16", "avx512_fp16"},
      {"avx512ifma", "avx512ifma"},
      {"avx512vbmi", "avx512vbmi"},
      {"avx512vbmi2", "avx512_vbmi2"},
      {"avx512bitalg", "avx512_bitalg"},
      {"avx512vpopcntdq", "avx512_vpopcntdq"},
      {"avx512vp2intersect", "avx512_vp2intersect"},
      {"gfni", "gfni"},
      {"vaes", "vaes"},
      {"vpclmulqdq", "vpclmulqdq"},
      {"aes", "aes"},
      {"pclmul", "pclmulqdq"},
      {"sha", "sha_ni"},
      {"amx-tile", "amx_tile"},
      {"amx-int8", "amx_int8"},
      {"amx-bf16", "amx_bf16"},
  };
  return names;
}

/// The flags of the first CPU in /proc/cpuinfo; empty where there is no such file.
std::set<std::string> reportedFlags() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("flags"))
      continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    std::set<std::string> flags;
    for (std::string word; words >> word;)
      flags.insert(word);
    return flags;
  }
  return {};
}

} // namespace

std::vector<std::string> missingCpuFeatures(const std::vector<std::string> &needed) {
  std::set<std::string> flags = reportedFlags();
  std::vector<std::string> missing;
  for (std::string feature : needed) {
    if (feature.starts_with("-"))
      continue;
    if (feature.starts_with("+"))
      feature.erase(0, 1);
    auto known = kernelNames().find(feature);
    if (!flags.empty() && known != kernelNames().end() && !flags.contains(known->second))
      missing.push_back(feature);
  }
  return missing;
}

} // namespace shardc::rt
