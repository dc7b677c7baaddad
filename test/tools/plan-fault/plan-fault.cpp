// plan-fault FAULT PLAN.pb OUT.pb: writes a plan with a fault planted. For tests only: what must be refused is made
// with it. FAULT "none" copies the plan; PLAN "synthetic" is a plan made by hand (1F1B; "synthetic-gpipe": GPipe).
// Without arguments it lists the faults, with the labels that the verifier must give them.
#include "Faults.h"
#include "SyntheticPlan.h"
#include "runtime/base/File.h"
#include "runtime/base/XxHash.h"
#include "runtime/format/LoadPlan.h"

#include <cstdio>
#include <filesystem>
#include <string_view>

namespace shardc::rt::test {
namespace {

int fail(const std::string &text) {
  std::fputs(text.c_str(), stderr);
  return 1;
}

Result<plan::Plan> readPlan(const std::string &path) {
  if (path.starts_with("synthetic"))
    return makeSyntheticPlan({.pp = 2, .microBatches = 4, .gpipe = path == "synthetic-gpipe", .repetitions = 2});
  SHARDRT_ASSIGN(std::string bytes, readFile(path));
  return parsePlan(bytes, path);
}

int run(const std::string &fault, const std::string &from, const std::string &to) {
  Result<plan::Plan> plan = readPlan(from);
  if (!plan.isOk())
    return fail(plan.status().render());
  if (fault != "none" && !plantFault(*plan, fault))
    return fail("error: no such fault, or no place for it\n");
  bool isSynthetic = from.starts_with("synthetic");
  if (isSynthetic) // the verifier does not look into kernels.so, but it must be the plan's
    plan->set_kernels_checksum(xxHash64({}));
  Status written = writeFile(to, serializePlan(*plan));
  if (written.isOk() && isSynthetic)
    written = writeFile((std::filesystem::path(to).parent_path() / kKernelsFile).string(), {});
  return written.isOk() ? 0 : fail(written.render());
}

} // namespace
} // namespace shardc::rt::test

int main(int argc, char **argv) {
  if (argc == 4)
    return shardc::rt::test::run(argv[1], argv[2], argv[3]);
  for (const auto *list : {&shardc::rt::test::faults(), &shardc::rt::test::evaluationFaults()})
    for (const shardc::rt::test::Fault &fault : *list)
      std::printf("%s [%s]: %s\n", fault.name, fault.label, fault.summary);
  return argc == 1 ? 0 : 1;
}
