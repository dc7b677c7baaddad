//===-- CpuFeatures.h - what this CPU can do, in LLVM's names -----------------------------------------------------===//
#ifndef SHARDC_RUNTIME_FORMAT_CPUFEATURES_H
#define SHARDC_RUNTIME_FORMAT_CPUFEATURES_H

#include <string>
#include <vector>

namespace shardc::rt {

/// Of the features in `needed` (LLVM's names, a leading '+' allowed, those with '-' skipped) the ones that this CPU
/// lacks. Features that the operating system does not report (tuning hints, features of the system only) count as
/// present.
std::vector<std::string> missingCpuFeatures(const std::vector<std::string> &needed);

} // namespace shardc::rt

#endif
