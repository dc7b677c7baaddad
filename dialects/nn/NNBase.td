#ifndef SHARDC_NN_BASE_TD
#define SHARDC_NN_BASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/nn/NNInterfaces.td"

def NN_Dialect : Dialect {
  let name = "nn";
  let cppNamespace = "::shardc::nn";
  let summary = "Tensors and mathematics";
  let description = [{
    What a model computes, on tensors of static shape. Every op says once how its types follow, how it is
    differentiated, which factors it has for sharding, what it costs and how one element is computed; the rest of the
    compiler knows interfaces, not ops.

    Discardable attributes: `nn.origin` (i64) is the id of the imported op that an op stems from, `nn.backward` marks
    what differentiation made, `nn.gradient_sum` marks the additions that combine the uses of a parameter. Function
    arguments carry `nn.input` (a name), `nn.parameter` (a dictionary: name, file, offset, bytes, trainable, decays),
    function results `nn.loss` ("sum", "weight") and `nn.gradient` (a parameter's name).
  }];
  let hasConstantMaterializer = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::shardc::dist::DistDialect"];
}

// `sharding` and `cost` name the methods of these interfaces that the op defines itself; the defaults are elementwise.
class NN_Op<string mnemonic, list<Trait> traits = [], list<string> sharding = [], list<string> cost = []> :
    Op<NN_Dialect, mnemonic, [Pure,
    DeclareOpInterfaceMethods<NN_ShardableOpInterface, sharding>,
    DeclareOpInterfaceMethods<NN_CostOpInterface, cost>] # traits>;

defvar NN_Tensor = AnyStaticShapeTensor;

defvar NN_Infer = InferTypeOpAdaptor;
defvar NN_Differentiable = DeclareOpInterfaceMethods<NN_DifferentiableOpInterface>;
// The same for ops of which only some results are differentiable.
defvar NN_PartlyDifferentiable = DeclareOpInterfaceMethods<NN_DifferentiableOpInterface, ["isDifferentiableResult"]>;
defvar NN_Fusible = DeclareOpInterfaceMethods<NN_FusibleOpInterface>;

#endif
