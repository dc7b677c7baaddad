#ifndef SHARDC_NN_ELEMENTWISE_TD
#define SHARDC_NN_ELEMENTWISE_TD

include "dialects/nn/NNBase.td"

class NN_Unary<string mnemonic, string text, list<string> sharding = []> :
    NN_Op<mnemonic, [SameOperandsAndResultType, NN_Differentiable, NN_Fusible], sharding> {
  let summary = text;
  let description = "Example: `%1 = nn." # mnemonic # " %0 : tensor<4x64xf32>`";
  let arguments = (ins NN_Tensor:$input);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

def NN_NegOp : NN_Unary<"neg", "−x", ["getLinearOperands"]>;
def NN_ExpOp : NN_Unary<"exp", "eˣ">;
def NN_LogOp : NN_Unary<"log", "The natural logarithm">;
def NN_SqrtOp : NN_Unary<"sqrt", "The square root">;
def NN_RsqrtOp : NN_Unary<"rsqrt", "1 / √x">;
def NN_TanhOp : NN_Unary<"tanh", "The hyperbolic tangent">;
def NN_ErfOp : NN_Unary<"erf", "The error function">;
def NN_LogisticOp : NN_Unary<"logistic", "1 / (1 + e⁻ˣ)">;
def NN_SinOp : NN_Unary<"sin", "The sine">;
def NN_CosOp : NN_Unary<"cos", "The cosine">;

class NN_Binary<string mnemonic, string text, list<Trait> traits = [], list<string> sharding = []> :
    NN_Op<mnemonic, [SameOperandsAndResultType, NN_Differentiable, NN_Fusible] # traits, sharding> {
  let summary = text;
  let description = "Shapes are equal; nn.broadcast_in_dim makes them so. Example: `%2 = nn." # mnemonic #
                    " %0, %1 : tensor<4x64xf32>`";
  let arguments = (ins NN_Tensor:$lhs, NN_Tensor:$rhs);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}

def NN_AddOp : NN_Binary<"add", "a + b", [Commutative], ["getLinearOperands"]>;
def NN_SubOp : NN_Binary<"sub", "a − b", [], ["getLinearOperands"]>;
def NN_MulOp : NN_Binary<"mul", "a · b", [Commutative], ["getLinearOperands"]>;
def NN_DivOp : NN_Binary<"div", "a / b; integers round towards zero", [], ["getLinearOperands"]>;
def NN_MaxOp : NN_Binary<"max", "The larger; at ties each operand gets half of the cotangent; NaN wins">;
def NN_MinOp : NN_Binary<"min", "The smaller; at ties each operand gets half of the cotangent; NaN wins">;
def NN_PowOp : NN_Binary<"pow", "aᵇ; the cotangent of b is guarded at a ≤ 0, that of a at b = 0">;

class NN_Logical<string mnemonic, string text> :
    NN_Op<mnemonic, [SameOperandsAndResultType, NN_Fusible, Commutative]> {
  let summary = text;
  let description = "Example: `%2 = nn." # mnemonic # " %0, %1 : tensor<4xi1>`";
  let arguments = (ins TensorOf<[AnySignlessInteger]>:$lhs, TensorOf<[AnySignlessInteger]>:$rhs);
  let results = (outs TensorOf<[AnySignlessInteger]>:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}

def NN_AndOp : NN_Logical<"and", "Bitwise and">;
def NN_OrOp : NN_Logical<"or", "Bitwise or">;
def NN_XorOp : NN_Logical<"xor", "Bitwise exclusive or">;

def NN_CompareDirection : I32EnumAttr<"CompareDirection", "an ordered comparison (NaN compares unequal)", [
    I32EnumAttrCase<"EQ", 0, "eq">, I32EnumAttrCase<"NE", 1, "ne">, I32EnumAttrCase<"LT", 2, "lt">,
    I32EnumAttrCase<"LE", 3, "le">, I32EnumAttrCase<"GT", 4, "gt">, I32EnumAttrCase<"GE", 5, "ge">]> {
  let cppNamespace = "::shardc::nn";
  let genSpecializedAttr = 0;
}
def NN_CompareDirectionAttr : EnumAttr<NN_Dialect, NN_CompareDirection, "direction">;

def NN_CompareOp : NN_Op<"compare", [NN_Infer, SameTypeOperands, NN_Fusible]> {
  let summary = "Compares elements; the result is i1. Integers are signed";
  let description = "Example: `%2 = nn.compare lt, %0, %1 : tensor<4xf32> -> tensor<4xi1>`";
  let arguments = (ins NN_CompareDirectionAttr:$direction, NN_Tensor:$lhs, NN_Tensor:$rhs);
  let results = (outs TensorOf<[I1]>:$result);
  let assemblyFormat = "$direction `,` $lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
}

def NN_SelectOp : NN_Op<"select", [NN_Differentiable, NN_Fusible, AllTypesMatch<["onTrue", "onFalse", "result"]>,
                                   AllShapesMatch<["predicate", "result"]>], ["getLinearOperands"]> {
  let summary = "Elements of one tensor or the other";
  let description = "Example: `%3 = nn.select %0, %1, %2 : tensor<4xi1>, tensor<4xf32>`";
  let arguments = (ins TensorOf<[I1]>:$predicate, NN_Tensor:$onTrue, NN_Tensor:$onFalse);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$predicate `,` $onTrue `,` $onFalse attr-dict `:` type($predicate) `,` type($result)";
}

def NN_ConvertOp : NN_Op<"convert", [AllShapesMatch<["input", "result"]>, NN_Differentiable, NN_Fusible], ["getLinearOperands"]> {
  let summary = "Converts the element type: to integers rounds towards zero and saturates, to i1 is x ≠ 0";
  let description = "Example: `%1 = nn.convert %0 : tensor<4xi64> -> tensor<4xf32>`";
  let arguments = (ins NN_Tensor:$input);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

#endif
