//===-- EvaluateTest.cpp - the parts of the evaluator that have known answers -------------------------------------===//

#include "dialects/nn/Evaluate.h"

#include "gtest/gtest.h"

using namespace shardc::nn;

// Known answers of Random123's kat_vectors.
TEST(Evaluate, PhiloxKnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), 0x6627e8d5u);
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}), 0x408f276du);
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}), 0xd16cfe09u);
}
