//===-- TestPasses.h - passes that only tests need ----------------------------------------------------------------===//
#ifndef SHARDC_TEST_PASSES_TESTPASSES_H
#define SHARDC_TEST_PASSES_TESTPASSES_H

namespace shardc::test {

void registerEvaluatePass();
void registerPipelinePass();

inline void registerTestPasses() {
  registerEvaluatePass();
  registerPipelinePass();
}

} // namespace shardc::test

#endif
