//===-- shardc-opt.cpp - runs single passes of the compiler -------------------------------------------------------===//

#include "shardc/Driver/Register.h"

#include "test/Passes/TestPasses.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  shardc::driver::registerDialects(registry);
  shardc::driver::registerPasses();
  shardc::test::registerTestPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "shardc's pass driver\n", registry));
}
