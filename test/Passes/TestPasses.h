//===-- TestPasses.h - passes that only tests need
//-------------------------------------------------------------------===//
#ifndef SHARDC_TEST_PASSES_TESTPASSES_H
#define SHARDC_TEST_PASSES_TESTPASSES_H

namespace shardc::test {

void registerEvaluatePass();

inline void registerTestPasses() { registerEvaluatePass(); }

} // namespace shardc::test

#endif
