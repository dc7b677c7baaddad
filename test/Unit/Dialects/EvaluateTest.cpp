//===-- EvaluateTest.cpp - the parts of the evaluator that have known answers -------------------------------------===//

#include "dialects/nn/Evaluate.h"

#include "gtest/gtest.h"

#include "mlir/Parser/Parser.h"

#include <cmath>
#include <limits>

using namespace shardc::nn;

// Known answers of Random123's kat_vectors.
TEST(Evaluate, PhiloxKnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), 0x6627e8d5u);
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}), 0x408f276du);
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}), 0xd16cfe09u);
}

// 16-bit floats are rounded after each op, to the nearest, ties to even; what they overflow to is infinite.
TEST(Evaluate, SixteenBitFloatsAreRounded) {
  mlir::MLIRContext context;
  context.loadDialect<NNDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(
    func.func @f(%x: tensor<4xf32>) -> (tensor<4xbf16>, tensor<4xf16>, tensor<4xbf16>) {
      %0 = nn.convert %x : tensor<4xf32> -> tensor<4xbf16>
      %1 = nn.convert %x : tensor<4xf32> -> tensor<4xf16>
      %2 = nn.add %0, %0 : tensor<4xbf16>
      %3 = nn.add %2, %0 : tensor<4xbf16>
      return %0, %1, %3 : tensor<4xbf16>, tensor<4xf16>, tensor<4xbf16>
    })",
                                                        &context);
  ASSERT_TRUE(module);
  auto function = module->lookupSymbol<mlir::func::FuncOp>("f");
  Tensor x = Tensor::getZeros(mlir::cast<mlir::RankedTensorType>(function.getArgumentTypes()[0]));
  x.floats = {1 + 0x1p-8, 1 + 0x3p-8, 70000, 1 + 0x1p-7};
  mlir::FailureOr<Tensors> results = evaluate(function, Tensors{x}, {});
  ASSERT_TRUE(mlir::succeeded(results));
  EXPECT_EQ((*results)[0].floats, (std::vector<double>{1, 1 + 0x1p-6, 70144, 1 + 0x1p-7}));
  EXPECT_EQ((*results)[1].floats,
            (std::vector<double>{1 + 0x1p-8, 1 + 0x3p-8, std::numeric_limits<double>::infinity(), 1 + 0x1p-7}));
  // 3 · (1 + 2⁻⁷) = 3 + 3 · 2⁻⁷ lies halfway between 3 + 2⁻⁶ and 3 + 2⁻⁵, which is the even one.
  EXPECT_EQ((*results)[2].floats[3], 3 + 0x1p-5);
}
