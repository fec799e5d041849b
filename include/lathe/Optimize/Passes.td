//===- Passes.td - Rewrites of the model-level dialect ---------*- tablegen -*-===//
//
// lathe -> lathe, on the model's functions. All keep the model's values; where a pass changes how they are rounded, its
// description says so.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_OPTIMIZE_PASSES
#define LATHE_OPTIMIZE_PASSES

include "mlir/Pass/PassBase.td"

def SimplifyGraph : Pass<"lathe-simplify-graph", "::mlir::ModuleOp"> {
  let summary = "Remove ops that change nothing, and write one thing in one way";
  let description = [{
    Algebraic identities that hold for every value, NaN, infinities and signed zeros included, and canonical forms of what
    frontends write in several ways:
      - `x * 1`, `x / 1`, `x + (-0)`, `x - 0`, integer `x + 0`; double negation; selects with one outcome;
      - slices of the whole, joins of one, pads by nothing, casts there and back through a wider type;
      - `pow(x, 2)` is `x * x`, `pow(x, 3)` is `x * x * x`, `pow(x, 0.5)` is `sqrt(x)` where x is not negative (a
        sum or mean of squares with a non-negative constant added, an abs, an exp), `1 / sqrt(x)` is `rsqrt(x)`;
      - `x / c` is `x * (1 / c)` where c is a power of two (exact).

    Before:
    ```mlir
    %one = lathe.constant dense<1.0> : tensor<4xf32>
    %two = lathe.constant dense<2.0> : tensor<4xf32>
    %0 = lathe.mul %x, %one : tensor<4xf32>
    %1 = lathe.pow %0, %two : tensor<4xf32>
    ```
    After:
    ```mlir
    %1 = lathe.mul %x, %x : tensor<4xf32>
    ```
  }];
}

def ExpandNarrowTypes : Pass<"lathe-expand-narrow-types", "::mlir::ModuleOp"> {
  let summary = "Keep the elements of narrow types in bytes, and write their conversions out";
  let description = [{
    Inside of the model each element of a float8, float4, 4-bit or 2-bit type has a byte, i8 for signed integers and ui8 for the
    others. At the boundary elements of less than a byte are packed, the first in the low bits; the type that the caller sees
    stays in the attribute `lathe.type` of the argument or result. Casts from a narrow float read a table of its values, casts to one
    are arithmetic on the bits of an f32. With `float8` f8E4M3FN and f8E5M2 stay as they are: a kernel's conversions are the machine's.

    Before:
    ```mlir
    func.func @main(%x: tensor<3xui4>) -> tensor<3xf32> {
      %0 = lathe.cast %x : tensor<3xui4> -> tensor<3xf32>
    ```
    After:
    ```mlir
    func.func @main(%x: tensor<2xui8> {lathe.type = tensor<3xui4>}) -> tensor<3xf32> {
      ... // the low and the high halves of the bytes, interleaved: %1
      %2 = lathe.cast %1 : tensor<3xui8> -> tensor<3xf32>
    ```
  }];
  let options = [Option<"float8", "float8", "bool", "false", "f8E4M3FN and f8E5M2 stay">];
  let dependentDialects = ["::lathe::ir::LatheDialect"];
}

def Float8Products : Pass<"lathe-float8-products", "::mlir::ModuleOp"> {
  let summary = "Products of floats of 8 bits are products of what lies in memory, with scales behind the sum";
  let description = [{
    Where both operands of a product in floats of up to 32 bits are f8E4M3FN or f8E5M2, cast to the product's type and perhaps times scales that
    do not vary along the sum, a `lathe.contract` or `lathe.conv` of the operands as they lie sums in f32, and scales are multiplied with the
    sum. Each product of two such numbers is exact in f32; what the sum's additions round is the target's (CudaContraction.md). What a cast to a
    narrower type than f32 rounded between the scale and the product is not rounded any more.

    Before:
    ```mlir
    %0 = lathe.cast %x : tensor<8x64xf8E4M3FN> -> tensor<8x64xf32>
    %1 = lathe.cast %w : tensor<64x32xf8E4M3FN> -> tensor<64x32xf32>
    %2 = lathe.mul %1, %scale : tensor<64x32xf32>
    %3 = lathe.contract %0, %2 batch [] x [] over [1] x [0] : tensor<8x64xf32>, tensor<64x32xf32> -> tensor<8x32xf32>
    ```
    After:
    ```mlir
    %0 = lathe.contract %x, %w batch [] x [] over [1] x [0] : tensor<8x64xf8E4M3FN>, tensor<64x32xf8E4M3FN> -> tensor<8x32xf32>
    %1 = lathe.mul %0, %scale : tensor<8x32xf32>
    ```
  }];
  let dependentDialects = ["::lathe::ir::LatheDialect"];
}

def IntegerProducts : Pass<"lathe-integer-products", "::mlir::ModuleOp"> {
  let summary = "Products of quantised operands are products of bytes, with zero points and scales behind the sum";
  let description = [{
    An operand that is (bytes - zero point), as i32 or f32 and there times a scale, is multiplied as bytes: a `lathe.contract` or
    `lathe.conv` of 8-bit operands sums in i32, exactly. What the zero points add is sums over the other operand,
        sum (a - za)(b - zb) = sum a*b - za * sum b - zb * sum a + K * za * zb,
    and those of a constant are computed here. A constant second operand becomes i8, without a zero point where that fits. In
    floats the scales of both operands are multiplied with the sum; one of them is a constant. This is exact where the sum in
    floats rounds, so results differ in the last places.

    Before:
    ```mlir
    %0 = lathe.cast %x : tensor<8x64xui8> -> tensor<8x64xi32>
    %1 = lathe.sub %0, %zero : tensor<8x64xi32>
    %2 = lathe.cast %w : tensor<64x32xi8> -> tensor<64x32xi32>
    %3 = lathe.contract %1, %2 batch [] x [] over [1] x [0] : tensor<8x64xi32>, tensor<64x32xi32> -> tensor<8x32xi32>
    ```
    After:
    ```mlir
    %0 = lathe.contract %x, %w batch [] x [] over [1] x [0] : tensor<8x64xui8>, tensor<64x32xi8> -> tensor<8x32xi32>
    %1 = lathe.mul %zero, %sums : tensor<8x32xi32>
    %2 = lathe.sub %0, %1 : tensor<8x32xi32>
    ```
  }];
  let options = [Option<"weights", "weights", "bool", "true", "Quantised weights that floats are multiplied with stay bytes">,
                 Option<"depthwise", "depthwise", "bool", "true", "Convolutions of single channels stay bytes, where windows and zero points allow">,
                 Option<"computed", "computed", "bool", "false", "Products of floats of which both operands are computed, too">];
  let dependentDialects = ["::lathe::ir::LatheDialect"];
}

def FoldConstants : Pass<"lathe-fold-constants", "::mlir::ModuleOp"> {
  let summary = "Compute at compile time what depends on constants alone";
  let description = [{
    Whole constant subgraphs are evaluated; what has no elements is constant whatever it is computed from. A result becomes a constant when that is smaller than what it was computed from,
    or small, or at most 4 MiB and costly to compute again. Cheap tables of indices (a causal mask) and broadcasts stay as
    they are: the kernels that use them compute them in registers.

    Before:
    ```mlir
    %f = lathe.constant dense<[0.0, 1.0]> : tensor<2xf32>
    %0 = lathe.exp %f : tensor<2xf32>
    ```
    After:
    ```mlir
    %0 = lathe.constant dense<[1.0, 2.71828175]> : tensor<2xf32>
    ```
  }];
}

def RecognizeAttention : Pass<"lathe-recognize-attention", "::mlir::ModuleOp"> {
  let summary = "Make attention that is written out one op, in memory linear in the rows";
  let description = [{
    A contraction of queries and keys, elementwise work on the scores, softmax over the keys and a contraction with the
    values become one `lathe.attention`; the work on the scores becomes its region. Looked through are casts, the guards that
    turn rows without a finite score into zeros, batch and head merged into one dimension, key heads repeated for several query
    heads, and constant factors on queries and keys (which move to the score: the product is rounded once, at another
    place).

    Inside the region, masks and biases that follow from indices (causal, sliding window, ALiBi) are arithmetic on b, h, q
    and k; what has fewer elements than the scores is an extra operand; other [.., Q, K] tensors are extra operands where they
    cannot be computed cheaply. Nothing of the size of the scores that the model computes from smaller things is kept in memory.
    Scores, and work on them that the model does in a half type, are f32. A mask that adds or chooses a number below -1e37
    becomes one of -inf where every query provably sees the key at its own place and nothing else is added to the score
    (scores of magnitude 1e37 or more set aside, the weights of masked keys are 0 either way).

    Before:
    ```mlir
    %s = lathe.contract %q, %k batch [0, 1] x [0, 1] over [3] x [3] : ... -> tensor<2x4x8x8xf32>
    %m = lathe.reduce max %s axes [3] : ...
    ... // exp(s - m), its sum, the quotient %p
    %o = lathe.contract %p, %v batch [0, 1] x [0, 1] over [3] x [2] : ... -> tensor<2x4x8x16xf32>
    ```
    After:
    ```mlir
    %o = lathe.attention %q, %k, %v : ... -> tensor<2x4x8x16xf32> {
    ^bb0(%score: f32, %b: i64, %h: i64, %qi: i64, %ki: i64):
      lathe.yield %score : f32
    }
    ```
  }];
}

def MergeContractions : Pass<"lathe-merge-contractions", "::mlir::ModuleOp"> {
  let summary = "Compute several projections of one tensor as one product";
  let description = [{
    Contractions of one tensor with constant matrices, each with a constant bias or none, become one contraction with
    the matrices side by side, and slices of its result: the queries, keys and values of an attention. Each element is the
    same sum as before. Results that elementwise ops read are left alone, because these become the contraction's epilogue.

    Before:
    ```mlir
    %q = lathe.contract %x, %wq batch [] x [] over [1] x [0] : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
    %k = lathe.contract %x, %wk batch [] x [] over [1] x [0] : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
    ```
    After:
    ```mlir
    %0 = lathe.contract %x, %w batch [] x [] over [1] x [0] : tensor<8x64xf32>, tensor<64x128xf32> -> tensor<8x128xf32>
    %q = lathe.slice %0 starts ["0", "0"] steps [1, 1] : tensor<8x128xf32> -> tensor<8x64xf32>
    %k = lathe.slice %0 starts ["0", "64"] steps [1, 1] : tensor<8x128xf32> -> tensor<8x64xf32>
    ```
  }];
}

def ExpandTransforms : Pass<"lathe-expand-transforms", "::mlir::ModuleOp"> {
  let summary = "Write Fourier transforms as stages of products, or as transforms that a block of a GPU holds";
  let description = [{
    A transform becomes a product with a matrix and an elementwise op for each factor of its length. With `whole`, one that a block of a GPU
    can hold stays as it is, a longer one becomes several of those, and one whose length has a large prime a convolution made of them.
    See docs/Rationale/Fourier.md.

    Before:
    ```mlir
    %0 = lathe.fft %x axis 1 parts 2 length 65536 : tensor<8x65536x2xf32> -> tensor<8x65536x2xf32>
    ```
    After, with `whole`:
    ```mlir
    %0 = lathe.reshape %x : tensor<8x65536x2xf32> -> tensor<8x256x256x2xf32>
    %1 = lathe.fft %0 axis 1 parts 3 length 256 {turnDim = 2 : i64, turns = 65536 : i64} : tensor<8x256x256x2xf32> -> tensor<8x256x256x2xf32>
    %2 = lathe.fft %1 axis 2 parts 3 length 256 : tensor<8x256x256x2xf32> -> tensor<8x256x256x2xf32>
    %3 = lathe.transpose %2 perm [0, 2, 1, 3] : tensor<8x256x256x2xf32> -> tensor<8x256x256x2xf32>
    %4 = lathe.reshape %3 : tensor<8x256x256x2xf32> -> tensor<8x65536x2xf32>
    ```
  }];
  let options = [Option<"whole", "whole", "bool", /*default=*/"false", "Keep transforms that a block of a GPU can hold">];
}

def ByteTables : Pass<"lathe-byte-tables", "::mlir::ModuleOp"> {
  let summary = "Read functions of one byte from tables";
  let description = [{
    Elementwise ops that start from one value of bytes and otherwise read numbers that are the same for all elements have 256
    results. Where they take longer than a load from a table (an activation between Dequantize and Quantize), the results are
    computed here. Functions of a byte that has several readers start from that byte. Where each result is the byte itself, as
    that of Dequantize, a Reshape or Transpose and the same Quantize, nothing is computed.

    Before:
    ```mlir
    %0 = lathe.cast %x : tensor<8xui8> -> tensor<8xf32>
    %1 = lathe.erf %0 : tensor<8xf32>
    ... // divided, rounded, limited
    %9 = lathe.cast %8 : tensor<8xf32> -> tensor<8xui8>
    ```
    After:
    ```mlir
    %table = lathe.constant dense<[...]> : tensor<256xi32>
    %0 = lathe.cast %x : tensor<8xui8> -> tensor<8xi64>
    %1 = lathe.gather %table, %0 axis 0 : tensor<256xi32>, tensor<8xi64> -> tensor<8xi32>
    %9 = lathe.cast %1 : tensor<8xi32> -> tensor<8xui8>
    ```
  }];
}

def BlockedWeights : Pass<"lathe-blocked-weights", "::mlir::ModuleOp"> {
  let summary = "Keep constant matrices of 4 or 8 bits with a scale per block as they are";
  let description = [{
    The second operand of a product that is codes of a constant, less zero points, times scales, both of which are the same for runs
    of 16 to 256 rows of each column, becomes words of codes in panels of 32 columns, and the product a sum over these. Each
    element is computed as before, in registers; one that was rounded to a half type is not. Panels and blocks are filled up: behind the first
    operand's columns there are zeros then, and columns of the result that fill a panel are cut off.

    Before:
    ```mlir
    %q = lathe.cast %codes : tensor<64x32xi8> -> tensor<64x32xf32>
    %w = lathe.mul %q, %scales : tensor<64x32xf32>
    %y = lathe.contract %x, %w batch [] x [] over [1] x [0] : tensor<5x64xf32>, tensor<64x32xf32> -> tensor<5x32xf32>
    ```
    After:
    ```mlir
    %words = lathe.constant dense_resource<weights> : tensor<1x2x4x1x32xi32>
    ... // (words >> 4 * i) & 15, less the zero points, times the scales
    %p = lathe.mul %rows, %w : tensor<5x1x2x4x8x32xf32>
    %y = lathe.reduce sum %p axes [2, 3, 4] : tensor<5x1x2x4x8x32xf32> -> tensor<5x1x32xf32>
    ```
  }];
}

#endif // LATHE_OPTIMIZE_PASSES
