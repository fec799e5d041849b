//===- LatheOps.td - The model-level dialect --------------------*- tablegen -*-===//
//
// Tensor ops with symbolic sizes that both importers target. Small on purpose: broadcasts, casts and shape arithmetic are
// explicit, and most operators of a model format are compositions of these (see lathe/Dialect/Lathe/GraphBuilder.h).
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_OPS
#define LATHE_OPS

include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def Lathe_Dialect : Dialect {
  let name = "lathe";
  let cppNamespace = "::lathe::ir";
  let summary = "Model-level tensor ops with symbolic sizes";
  let description = [{
    Values are ranked tensors. A tensor with a dynamic dimension carries `#lathe.dims<...>`, one size expression per
    dimension (lathe::shape::Expr as text): `tensor<?x?x768xf32, #lathe.dims<"batch", "seq", "768">>`; a static tensor
    carries none. Element types: f64 f32 f16 bf16, signless i1 (bool) i8 i16 i32 i64, unsigned ui8 ui16 ui32 ui64.
    Narrow types (the float8 formats, `!lathe.f8E8M0`, `!lathe.f4E2M1`, i4 ui4 i2 ui2) are for storage: casts, bitcasts and what
    moves elements take them, until --lathe-expand-narrow-types writes them out. For targets that have them f8E4M3FN and f8E5M2
    stay, and are operands of products, which sum in f32 (--lathe-float8-products).
    Sizes are declared by `lathe.symbol` and related by `lathe.relation` at the top of the module; the function @main is the
    model, its arguments and results named by the attributes `lathe.name`.

    Operands of elementwise ops have the same type: broadcasts and casts are ops of their own. Every op carries its model
    nodes in its location (a NameLoc, or a FusedLoc of several).
  }];
  let hasConstantMaterializer = 1;
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

class Lathe_NarrowFloat<string name, string text> : TypeDef<Lathe_Dialect, name> {
  let mnemonic = name;
  let summary = text;
}
def Lathe_f8E8M0 : Lathe_NarrowFloat<"f8E8M0", "A power of two, 2^-127 to 2^127, or NaN">;
def Lathe_f4E2M1 : Lathe_NarrowFloat<"f4E2M1", "0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives">;

def Lathe_DimsAttr : AttrDef<Lathe_Dialect, "Dims", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "dims";
  let summary = "One size expression per dimension";
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$exprs);
  let assemblyFormat = "`<` $exprs `>`";
}

def Lathe_CompareKind : I32EnumAttr<"CompareKind", "comparison", [
    I32EnumAttrCase<"EQ", 0, "eq">, I32EnumAttrCase<"NE", 1, "ne">, I32EnumAttrCase<"LT", 2, "lt">,
    I32EnumAttrCase<"LE", 3, "le">, I32EnumAttrCase<"GT", 4, "gt">, I32EnumAttrCase<"GE", 5, "ge">]> {
  let cppNamespace = "::lathe::ir";
}
def Lathe_ReduceKind : I32EnumAttr<"ReduceKind", "reduction", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Prod", 1, "prod">, I32EnumAttrCase<"Max", 2, "max">,
    I32EnumAttrCase<"Min", 3, "min">, I32EnumAttrCase<"And", 4, "and">, I32EnumAttrCase<"Or", 5, "or">]> {
  let cppNamespace = "::lathe::ir";
}
def Lathe_ScanKind : I32EnumAttr<"ScanKind", "what a scan combines with", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Prod", 1, "prod">, I32EnumAttrCase<"Max", 2, "max">,
    I32EnumAttrCase<"Min", 3, "min">, I32EnumAttrCase<"LogAddExp", 4, "logaddexp">]> {
  let cppNamespace = "::lathe::ir";
}

def ElementwiseInterface : OpInterface<"ElementwiseInterface"> {
  let cppNamespace = "::lathe::ir";
  let description = [{ An op that computes each element of its result from the elements of its operands at the same place. }];
  let methods = [InterfaceMethod<
    [{ Builds the op on scalars (signless; `elementTypes` are the operands' tensor element types, which tell signedness) with
       `arith` and `math` ops; the same code works on vectors of the scalar type. }],
    "::mlir::Value", "buildScalar",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$scalars), "",
    [{ return ::lathe::ir::buildScalar($_op, builder, loc, scalars); }]>];
}

def Lathe_ScatterKind : I32EnumAttr<"ScatterKind", "what an update does to the element that is there", [
    I32EnumAttrCase<"Set", 0, "set">, I32EnumAttrCase<"Add", 1, "add">, I32EnumAttrCase<"Mul", 2, "mul">,
    I32EnumAttrCase<"Max", 3, "max">, I32EnumAttrCase<"Min", 4, "min">]> {
  let cppNamespace = "::lathe::ir";
}

class Lathe_Op<string mnemonic, list<Trait> traits = []> : Op<Lathe_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Module level
//===----------------------------------------------------------------------===//

def Lathe_SymbolOp : Lathe_Op<"symbol", []> {
  let summary = "Declares a size symbol with its range";
  let description = [{
    `lathe.symbol "seq" range [1, 512] hints [128, 384]`. The range is a contract that the artifact's entry checks; `max` of
    -1 is unbounded. `expected` sizes choose variants. `definition`, where present, says how to compute it from others
    (`floordiv(h, hkv)`), else it is bound by an input's dimension. `element [input, place]` makes it an element of an input of
    rank 0 or 1, read at the entry: `lathe.symbol "k[0]" range [0, 64] element [1, 0]`.
    The name is the symbol's text in expressions (lathe/Shape/Expr.h), as are those that other ops give to sizes: a dimension that a
    model calls `i0` is `lathe.symbol "'i0'"`.
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$min, I64Attr:$max, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$hints,
                       OptionalAttr<StrAttr>:$definition, OptionalAttr<DenseI64ArrayAttr>:$element);
  let assemblyFormat = [{ $name `range` `[` $min `,` $max `]` (`hints` $hints^)? (`is` $definition^)? (`element` $element^)?
                          attr-dict }];
  let hasVerifier = 1;
}
def Lathe_RelationOp : Lathe_Op<"relation", []> {
  let summary = "States a relation between sizes that the entry checks";
  let description = [{ `lathe.relation "total" eq "past + seq"`, `lathe.relation "4" divides "heads"`; `le` (left <= right)
    and `ne` besides. `says` is how a message states it. `holds` is a condition that `says` spells out, true exactly where
    left <= right: `lathe.relation "min(a - b, c - d)" holds "0" says "a <= b or c <= d"`. A relation `in @body` is checked whenever that function of the host
    program runs; any other as soon as its symbols have values. }];
  let arguments = (ins StrAttr:$left, StrAttr:$kind, StrAttr:$right, OptionalAttr<FlatSymbolRefAttr>:$scope,
                       OptionalAttr<StrAttr>:$says);
  let assemblyFormat = "$left $kind $right (`in` $scope^)? (`says` $says^)? attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

def Lathe_ConstantOp : Lathe_Op<"constant", [Pure, ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "A constant tensor";
  let description = [{ Large ones are `dense_resource` attributes whose bytes are mapped from the model file. }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
  let builders = [OpBuilder<(ins "::mlir::ElementsAttr":$value), [{ build($_builder, $_state, value.getType(), value); }]>];
}
def Lathe_SizeOp : Lathe_Op<"size", [Pure]> {
  let summary = "Size expressions as an i64 tensor";
  let description = [{ `lathe.size ["batch", "2*seq"] : tensor<2xi64>`; of rank 0 with exactly one expression. }];
  let arguments = (ins StrArrayAttr:$exprs);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$exprs attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Lathe_IotaOp : Lathe_Op<"iota", [Pure]> {
  let summary = "The index along one dimension, as an element of any numeric type";
  let arguments = (ins I64Attr:$axis);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

class Lathe_Elementwise<string mnemonic, list<Trait> traits = []>
    : Lathe_Op<mnemonic, !listconcat([Pure, ElementwiseInterface], traits)>;

class Lathe_Unary<string mnemonic, string text> : Lathe_Elementwise<mnemonic, [SameOperandsAndResultType]> {
  let summary = text;
  let arguments = (ins AnyRankedTensor:$x);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($result)";
  let description = "Elementwise: `%y = lathe." # mnemonic # " %x : tensor<4xf32>`. " # text # ".";
}
class Lathe_Binary<string mnemonic, string text, list<Trait> traits = []> : Lathe_Elementwise<mnemonic, !listconcat([SameOperandsAndResultType], traits)> {
  let summary = text;
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
  let description = "Elementwise: `%z = lathe." # mnemonic # " %x, %y : tensor<4xf32>`. " # text # ".";
}

def Lathe_NegOp : Lathe_Unary<"neg", "-x (integers wrap)">;
def Lathe_AbsOp : Lathe_Unary<"abs", "|x|">;
def Lathe_SignOp : Lathe_Unary<"sign", "-1, 0 or 1 (NaN stays)">;
def Lathe_ExpOp : Lathe_Unary<"exp", "e to the x">;
def Lathe_Exp2Op : Lathe_Unary<"exp2", "2 to the x">;
def Lathe_Expm1Op : Lathe_Unary<"expm1", "e to the x, minus 1, exact near 0">;
def Lathe_LogOp : Lathe_Unary<"log", "natural logarithm">;
def Lathe_Log1pOp : Lathe_Unary<"log1p", "natural logarithm of 1 + x, exact near 0">;
def Lathe_Log2Op : Lathe_Unary<"log2", "logarithm to base 2">;
def Lathe_SqrtOp : Lathe_Unary<"sqrt", "square root, correctly rounded">;
def Lathe_RsqrtOp : Lathe_Unary<"rsqrt", "1 / sqrt(x)">;
def Lathe_SinOp : Lathe_Unary<"sin", "sine">;
def Lathe_CosOp : Lathe_Unary<"cos", "cosine">;
def Lathe_TanOp : Lathe_Unary<"tan", "tangent">;
def Lathe_AsinOp : Lathe_Unary<"asin", "inverse sine">;
def Lathe_AcosOp : Lathe_Unary<"acos", "inverse cosine">;
def Lathe_AtanOp : Lathe_Unary<"atan", "inverse tangent">;
def Lathe_SinhOp : Lathe_Unary<"sinh", "hyperbolic sine">;
def Lathe_CoshOp : Lathe_Unary<"cosh", "hyperbolic cosine">;
def Lathe_TanhOp : Lathe_Unary<"tanh", "hyperbolic tangent">;
def Lathe_AsinhOp : Lathe_Unary<"asinh", "inverse hyperbolic sine">;
def Lathe_AcoshOp : Lathe_Unary<"acosh", "inverse hyperbolic cosine">;
def Lathe_AtanhOp : Lathe_Unary<"atanh", "inverse hyperbolic tangent">;
def Lathe_ErfOp : Lathe_Unary<"erf", "error function">;
def Lathe_FloorOp : Lathe_Unary<"floor", "largest integer not above x">;
def Lathe_CeilOp : Lathe_Unary<"ceil", "smallest integer not below x">;
def Lathe_RoundOp : Lathe_Unary<"round", "nearest integer, halves to even">;
def Lathe_TruncOp : Lathe_Unary<"trunc", "towards zero">;
def Lathe_NotOp : Lathe_Unary<"not", "bitwise complement; logical on i1">;

def Lathe_AddOp : Lathe_Binary<"add", "x + y (integers wrap)", [Commutative]>;
def Lathe_SubOp : Lathe_Binary<"sub", "x - y">;
def Lathe_MulOp : Lathe_Binary<"mul", "x * y", [Commutative]>;
def Lathe_DivOp : Lathe_Binary<"div", "x / y; integers truncate towards zero, division by 0 gives 0">;
def Lathe_FloorDivOp : Lathe_Binary<"floor_div", "floor(x / y)">;
def Lathe_RemOp : Lathe_Binary<"rem", "remainder with the sign of x (C's fmod and %)">;
def Lathe_ModOp : Lathe_Binary<"mod", "remainder with the sign of y, zeros included (Python's %)">;
def Lathe_PowOp : Lathe_Binary<"pow", "x to the y">;
def Lathe_MaxOp : Lathe_Binary<"max", "maximum; NaN wins", [Commutative]>;
def Lathe_MinOp : Lathe_Binary<"min", "minimum; NaN wins", [Commutative]>;
def Lathe_Atan2Op : Lathe_Binary<"atan2", "angle of (y = lhs, x = rhs)">;
def Lathe_AndOp : Lathe_Binary<"and", "bitwise and; logical on i1", [Commutative]>;
def Lathe_OrOp : Lathe_Binary<"or", "bitwise or; logical on i1", [Commutative]>;
def Lathe_XorOp : Lathe_Binary<"xor", "bitwise exclusive or; logical on i1", [Commutative]>;
def Lathe_ShlOp : Lathe_Binary<"shl", "shift left (0 when y >= width)">;
def Lathe_ShrOp : Lathe_Binary<"shr", "shift right, arithmetic on signed types">;

def Lathe_CompareOp : Lathe_Elementwise<"compare", []> {
  let summary = "Elementwise comparison; false on NaN but for ne";
  let arguments = (ins Lathe_CompareKind:$kind, AnyRankedTensor:$lhs, AnyRankedTensor:$rhs);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1;
}
def Lathe_SelectOp : Lathe_Elementwise<"select", []> {
  let summary = "condition ? lhs : rhs, elementwise";
  let arguments = (ins AnyRankedTensor:$condition, AnyRankedTensor:$lhs, AnyRankedTensor:$rhs);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$condition `,` $lhs `,` $rhs attr-dict `:` type($condition) `,` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1;
}
def Lathe_CastOp : Lathe_Elementwise<"cast", []> {
  let summary = "Element type conversion";
  let description = [{ float to int truncates and saturates (NaN gives 0), to bool is x != 0, int to narrower int wraps, to a
    narrower float rounds to nearest even, what is out of its range becomes an infinity or, where it has none, NaN (the largest
    number where it has neither). To f8E8M0: the power of two not above |x|. }];
  let arguments = (ins AnyRankedTensor:$x);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def Lathe_BitcastOp : Lathe_Elementwise<"bitcast", []> {
  let summary = "The same bits under another element type of the same width";
  let arguments = (ins AnyRankedTensor:$x);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

def Lathe_ReshapeOp : Lathe_Op<"reshape", [Pure]> {
  let summary = "The same elements in row-major order under other dimensions";
  let description = [{ There are as many, and of the same type. Open sizes that differ by a constant are found out here; others are the builder's to know. }];
  let arguments = (ins AnyRankedTensor:$x);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def Lathe_TransposeOp : Lathe_Op<"transpose", [Pure]> {
  let summary = "Permutes dimensions: result dimension i is operand dimension perm[i]";
  let arguments = (ins AnyRankedTensor:$x, DenseI64ArrayAttr:$perm);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x $perm attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def Lathe_BroadcastOp : Lathe_Op<"broadcast", [Pure]> {
  let summary = "Repeats along dimensions of size 1 and new leading dimensions (numpy's rule, right-aligned)";
  let arguments = (ins AnyRankedTensor:$x);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def Lathe_SliceOp : Lathe_Op<"slice", [Pure]> {
  let summary = "A strided box: result[i] = x[start + i * step], per dimension; the sizes are the result's";
  let description = [{ `lathe.slice %x starts ["0", "seq - 1"] steps [1, 1] : ... -> ...`; steps may be negative. }];
  let arguments = (ins AnyRankedTensor:$x, StrArrayAttr:$starts, DenseI64ArrayAttr:$steps);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x `starts` $starts `steps` $steps attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}
def Lathe_ConcatOp : Lathe_Op<"concat", [Pure]> {
  let summary = "Joins along one dimension";
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, I64Attr:$axis);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$inputs `axis` $axis attr-dict `:` type($inputs) `->` type($result)";
  let hasVerifier = 1;
}
def Lathe_PadOp : Lathe_Op<"pad", [Pure]> {
  let summary = "Surrounds with a value; the amounts may be negative (cropping)";
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$value, StrArrayAttr:$low, StrArrayAttr:$high);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x `,` $value `low` $low `high` $high attr-dict `:` type($x) `,` type($value) `->` type($result)";
  let hasVerifier = 1;
}
def Lathe_GatherOp : Lathe_Op<"gather", [Pure]> {
  let summary = "Takes slices along one dimension: numpy.take(x, indices, axis)";
  let description = [{ Result dims: x's before axis, the indices', x's after axis. Negative indices count from the end; what is
    still out of range is clamped to the nearest valid index, so that no access leaves the tensor. }];
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$indices, I64Attr:$axis);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x `,` $indices `axis` $axis attr-dict `:` type($x) `,` type($indices) `->` type($result)";
  let hasVerifier = 1;
}
def Lathe_GatherNdOp : Lathe_Op<"gather_nd", [Pure]> {
  let summary = "Picks elements by index vectors (ONNX GatherND with batch_dims; numpy advanced indexing)";
  let description = [{ indices [b.., i.., n] hold n coordinates of x's dimensions after the batch ones; result dims are b.., i..,
    x's dims after those. Negative and out-of-range coordinates as in `lathe.gather`. }];
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$indices, I64Attr:$batch_dims);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x `,` $indices `batch` $batch_dims attr-dict `:` type($x) `,` type($indices) `->` type($result)";
}

def Lathe_ScatterOp : Lathe_Op<"scatter", [Pure]> {
  let summary = "Data with updates written over it, or combined with it, at computed places";
  let description = [{
    `lathe.scatter add %data, %updates at(%row) places [-1, 1] : tensor<50x8xf32>, tensor<20x8xf32>, tensor<20x8xi64> ->
    tensor<50x8xf32>`: each element of the updates goes to one element of the data. `places` has an entry per dimension of the data: a dimension of the updates
    whose index it is (that dimension of the updates is not longer than the data's), or -1 for the next of the index operands.
    These are integers of the updates' dimensions; a broadcast says that an index is the same along some. Negative ones count
    from the end; an update whose place is outside of the data is left out.
    Updates apply one after the other in row-major order: with `set` the last one stays. Half types combine in f32 and round at
    each step.
  }];
  let arguments = (ins Lathe_ScatterKind:$kind, AnyRankedTensor:$data, AnyRankedTensor:$updates, Variadic<AnyRankedTensor>:$indices,
                       DenseI64ArrayAttr:$places);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{ $kind $data `,` $updates `at` `(` $indices `)` `places` $places attr-dict
                          `:` type($data) `,` type($updates) `,` type($indices) `->` type($result) }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Reductions, contractions, attention
//===----------------------------------------------------------------------===//

def Lathe_ReduceOp : Lathe_Op<"reduce", [Pure]> {
  let summary = "Combines over dimensions, which disappear";
  let description = [{ `lathe.reduce sum %x axes [2] : tensor<2x3x4xf32> -> tensor<2x3xf32>`. Float max and min propagate NaN; an
    empty reduction gives the identity (max: -inf or the smallest integer). Half types accumulate in f32. }];
  let arguments = (ins Lathe_ReduceKind:$kind, AnyRankedTensor:$x, DenseI64ArrayAttr:$axes);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $x `axes` $axes attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}
def Lathe_ScanOp : Lathe_Op<"scan", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "Combines each element with those before it along a dimension";
  let description = [{ `lathe.scan sum %x axis 1 : tensor<2x3xf32>`; `exclusive` leaves the element itself out (the first result is
    the identity), `reverse` goes from the end. Float max and min propagate NaN. Half types accumulate in f32. }];
  let arguments = (ins Lathe_ScanKind:$kind, AnyRankedTensor:$x, I64Attr:$axis, UnitAttr:$exclusive, UnitAttr:$reverse);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $x `axis` $axis attr-dict `:` type($x)";
  let hasVerifier = 1;
}
def Lathe_CompactOp : Lathe_Op<"compact", [Pure]> {
  let summary = "The elements of a list at which a mask is true, one behind the other";
  let description = [{
    `lathe.compact %x where %mask : tensor<9xf32>, tensor<9xi1> -> tensor<?xf32, #lathe.dims<"k">>`. The result has as many elements
    as the mask has true ones, which was read before; elements behind its end are dropped, those that the mask has too few for have no value.
  }];
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$mask);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x `where` $mask attr-dict `:` type($x) `,` type($mask) `->` type($result)";
  let hasVerifier = 1;
}
def Lathe_SortOp : Lathe_Op<"sort", [Pure]> {
  let summary = "Where the smallest elements along a dimension stand, in their order";
  let description = [{
    `lathe.sort %x axis 1 : tensor<2x9xf32> -> tensor<2x4xi64>`: the indices along the dimension of its 4 smallest elements, with
    `descending` of the largest; as many as the result has, at most all. Equal elements (and -0 and 0) stay in the order of
    their indices; a NaN is larger than every number. The dimension has at most 2^32 elements. Gathers of the result give the
    elements themselves.
  }];
  let arguments = (ins AnyRankedTensor:$x, I64Attr:$axis, UnitAttr:$descending);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x `axis` $axis attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}
def Lathe_FftOp : Lathe_Op<"fft", [Pure]> {
  let summary = "A discrete Fourier transform along a dimension of constant length";
  let description = [{
    `lathe.fft %x axis 1 parts 2 length 1000 : tensor<8x1000x2xf32> -> tensor<8x1000x2xf32>`: frequency k along the dimension `axis` is the
    sum over its places j of x(j) times e^(-2 pi i j k / length), with `inverse` of e^(+2 pi i j k / length); all of it times `scale`. The
    dimension `parts` has real and imaginary parts, or has one place where numbers are real. Of an operand with one part, or of
    a result that is wanted only up to some frequency, the result's dimensions say so. A result with one part is that of the frequencies up to
    length / 2, whose mirror image the others are.

    With `turnDim` and `turns` the result is multiplied with e^(-2 pi i k c / turns) (inverse: +), where c is the index of that dimension, whose
    size is known; k * c stays below `turns`, and that below 2^31. f32 or f64.
  }];
  let arguments = (ins AnyRankedTensor:$x, I64Attr:$axis, I64Attr:$parts, I64Attr:$length, OptionalAttr<F64Attr>:$scale,
                       OptionalAttr<I64Attr>:$turnDim, OptionalAttr<I64Attr>:$turns, UnitAttr:$inverse);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x `axis` $axis `parts` $parts `length` $length attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}
def Lathe_ContractOp : Lathe_Op<"contract", [Pure]> {
  let summary = "Sum of products (dot_general): result dims are batch, lhs free, rhs free";
  let description = [{
    `lathe.contract %a, %b batch [0] x [0] over [2] x [1]`: lhs dim 0 pairs with rhs dim 0 as batch, lhs dim 2 with rhs dim 1
    contracted. Free dims keep their order. Floats accumulate in at least f32.
  }];
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs, DenseI64ArrayAttr:$lhsBatch, DenseI64ArrayAttr:$rhsBatch,
                       DenseI64ArrayAttr:$lhsContract, DenseI64ArrayAttr:$rhsContract);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{ $lhs `,` $rhs `batch` $lhsBatch `x` $rhsBatch `over` $lhsContract `x` $rhsContract attr-dict
                          `:` type($lhs) `,` type($rhs) `->` type($result) }];
  let hasVerifier = 1;
}
def Lathe_ConvOp : Lathe_Op<"conv", [Pure]> {
  let summary = "Convolution: x [N, C, spatial..], w [O, C/groups, kernel..] -> [N, O, spatial..]";
  let description = [{ Pads are lows, then highs, per spatial dimension (ONNX's order), as size expressions. }];
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$w, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       StrArrayAttr:$pads, I64Attr:$groups);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x `,` $w `strides` $strides `dilations` $dilations `pads` $pads `groups` $groups attr-dict `:` type($x) `,` type($w) `->` type($result)";
  let hasVerifier = 1;
}
def Lathe_AttentionOp : Lathe_Op<"attention", [Pure, SingleBlock, IsolatedFromAbove]> {
  let summary = "softmax over keys of modified scores, times values";
  let description = [{
    q [B, H, Q, D], k [B, G, K, D], v [B, G, K, E] with G dividing H (query head h reads group h / (H / G)) -> [B, H, Q, E].
    score = sum over d of q*k in f32, then the region: its arguments are the score (f32), one scalar per extra operand
    (rank 4, each dimension 1 or B, H, Q, K: the element at that place), and b, h, q, k as i64; it yields the modified score
    (f32). The scale belongs to the region. A row of all -inf gives NaN, or 0 with `zero_masked`.
  }];
  let arguments = (ins AnyRankedTensor:$q, AnyRankedTensor:$k, AnyRankedTensor:$v, Variadic<AnyRankedTensor>:$extras, UnitAttr:$zero_masked);
  let results = (outs AnyRankedTensor:$result);
  let regions = (region SizedRegion<1>:$score);
  let assemblyFormat = "$q `,` $k `,` $v (`extras` `(` $extras^ `:` type($extras) `)`)? attr-dict `:` type($q) `,` type($k) `,` type($v) `->` type($result) $score";
  let hasVerifier = 1;
}
def Lathe_YieldOp : Lathe_Op<"yield", [Terminator, Pure]> {
  let summary = "The modified score";
  let arguments = (ins AnyType:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

//===----------------------------------------------------------------------===//
// The host program: what is decided while the model runs
//===----------------------------------------------------------------------===//

def Lathe_ReadOp : Lathe_Op<"read"> {
  let summary = "Reads integers on the host: each element becomes a size symbol";
  let description = [{ `lathe.read %count as ["nz.count[]"] : tensor<i64>`. What mentions the symbols runs after it; the order of ops
    in a block does not matter. The symbols are declared in the module, with ranges that are checked when they are read. }];
  let arguments = (ins AnyRankedTensor:$x, StrArrayAttr:$symbols);
  let assemblyFormat = "$x `as` $symbols attr-dict `:` type($x)";
  let hasVerifier = 1;
}
def Lathe_CallOp : Lathe_Op<"call", [Pure]> {
  let summary = "Sequential work on the calling thread, by a function of the runtime";
  let description = [{ `lathe.call "compact"(%mask) sizes ["n"] : (tensor<?xi1, ..>) -> tensor<?xi64, ..>`: see lib/Runtime/HostWork.c for
    the functions, their buffers and their sizes. }];
  let arguments = (ins StrAttr:$function, Variadic<AnyRankedTensor>:$inputs, StrArrayAttr:$sizes);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = "$function `(` $inputs `)` `sizes` $sizes attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Lathe_IfOp : Lathe_Op<"if"> {
  let summary = "Runs one of two functions";
  let description = [{ Both take `passed` and have results of the op's types, but for dimensions that are among `symbols`: those are
    `thenSizes` after the one and `elseSizes` after the other. }];
  let arguments = (ins AnyRankedTensor:$condition, Variadic<AnyRankedTensor>:$passed, FlatSymbolRefAttr:$thenBody,
                       FlatSymbolRefAttr:$elseBody, StrArrayAttr:$symbols, StrArrayAttr:$thenSizes, StrArrayAttr:$elseSizes);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = "$condition `then` $thenBody `else` $elseBody `(` $passed `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Lathe_LoopOp : Lathe_Op<"loop", [AttrSizedOperandSegments]> {
  let summary = "Runs a function again and again";
  let description = [{
    At most `limit` times (no limit when empty), while the condition holds, if there is one: first `condition`, then the body's first
    result (`conditional`). The body takes the carried values, then the captured ones; it gives the next carried values, then what
    each iteration adds to the collected results. Results: the last carried values, then the collected ones, stacked along a
    new first dimension. `counter` is a symbol of the body, the number of the iteration; behind the loop `count`, where there is
    one, is their number. `symbols` are sizes of carried values that change, for the body: `initial` before the first iteration,
    `next` behind each. Behind the loop `finals` have their last values.
  }];
  let arguments = (ins Optional<AnyRankedTensor>:$condition, Variadic<AnyRankedTensor>:$carried,
                       Variadic<AnyRankedTensor>:$captured, FlatSymbolRefAttr:$body, StrAttr:$limit, UnitAttr:$conditional,
                       StrAttr:$counter, StrAttr:$count, StrArrayAttr:$symbols, StrArrayAttr:$initial, StrArrayAttr:$next,
                       StrArrayAttr:$finals);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = [{ $body (`while` $condition^)? `carried` `(` $carried `)` `captured` `(` $captured `)` attr-dict `:`
                          functional-type(operands, results) }];
  let hasVerifier = 1;
}

#endif // LATHE_OPS
