// plan-fault FAULT PLAN.pb OUT.pb: writes a plan with a fault planted. For tests only: what must be refused is made
// with it. Without arguments it lists the faults, with the labels that the verifier must give them.
#include "Faults.h"
#include "runtime/base/File.h"
#include "runtime/format/LoadPlan.h"

#include <cstdio>

using namespace shardc::rt;

static int fail(const std::string &text) {
  std::fputs(text.c_str(), stderr);
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    for (const test::Fault &fault : test::faults())
      std::printf("%s [%s]: %s\n", fault.name, fault.label, fault.summary);
    return argc == 1 ? 0 : 1;
  }
  Result<std::string> bytes = readFile(argv[2]);
  if (!bytes.isOk())
    return fail(bytes.status().render());
  Result<shardc::plan::Plan> plan = parsePlan(*bytes, argv[2]);
  if (!plan.isOk())
    return fail(plan.status().render());
  if (!shardc::rt::test::plantFault(*plan, argv[1]))
    return fail("error: no such fault, or no place for it\n");
  Status written = writeFile(argv[3], serializePlan(*plan));
  return written.isOk() ? 0 : fail(written.render());
}
