//===- KernelOps.td - The kernel dialect ------------------------*- tablegen -*-===//
//
// A kernel is one launch: an op with a region that says what is computed for each point of an iteration domain. See
// docs/Rationale/KernelDialect.md for why it has this form.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_KERNEL_OPS
#define LATHE_KERNEL_OPS

include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Kernel_Dialect : Dialect {
  let name = "kernel";
  let cppNamespace = "::lathe::kernel";
  let summary = "Kernels: iteration domains over symbols, with flat memory accesses";
  let description = [{
    Between fusion and code generation a model is a list of `kernel.generic` ops over tensors. What is inside one never
    goes through memory; what is between two always does. Tensors here are buffers: contiguous, row-major, and every
    access is a **flat element offset**, a polynomial (lathe::shape::Expr, written as text) over
      - the kernel's axes: fusion calls them `i0`, `i1`, ..., kernels written by hand may use other words (`n`, `d`, ...),
      - the module's size symbols (`batch`, `'i0'`, `k[0]`, ...),
      - indirect indices `$0`, `$1`, ...: the op's i64 operands, in order.
    Views, transposes, broadcasts and slices are no ops at this level: they are part of the offsets.
  }];
  let useDefaultTypePrinterParser = 1;
}

class Kernel_Type<string name, string typeMnemonic> : TypeDef<Kernel_Dialect, name> { let mnemonic = typeMnemonic; }

def Kernel_Ref : Kernel_Type<"Ref", "ref"> {
  let summary = "Inside a kernel: a buffer of elements of one type";
  let description = [{ `!kernel.ref<f32>`. Element types are signless integers (i1 takes one byte in memory, 0 or 1) or floats. }];
  let parameters = (ins "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $elementType `>`";
}

def Kernel_ClassAttr : I32EnumAttr<"KernelClass", "how a kernel is scheduled", [
    I32EnumAttrCase<"Loop", 0, "loop">,               // no reduction: every point on its own
    I32EnumAttrCase<"Reduction", 1, "reduction">,     // row program: reductions over inner axes, results at several depths
    I32EnumAttrCase<"Contraction", 2, "contraction">, // exactly one kernel.contract and its epilogue
    I32EnumAttrCase<"Attention", 3, "attention">,     // exactly one kernel.attention
    I32EnumAttrCase<"Scan", 4, "scan">,               // exactly one kernel.scan, no reduction
    I32EnumAttrCase<"Sort", 5, "sort">,               // exactly one kernel.sort, no reduction
    I32EnumAttrCase<"Transform", 6, "transform">,     // exactly one kernel.fft, no reduction
    I32EnumAttrCase<"Scatter", 7, "scatter">]> {      // a cover of its result, then stores through indices, one after the other
  let cppNamespace = "::lathe::kernel";
}
def Kernel_CombinerAttr : I32EnumAttr<"Combiner", "the combining function of a reduction", [
    I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Mul", 1, "mul">,
    I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">, // floats: NaN propagates; ints: signed
    I32EnumAttrCase<"UMax", 4, "umax">, I32EnumAttrCase<"UMin", 5, "umin">,
    I32EnumAttrCase<"And", 6, "and">, I32EnumAttrCase<"Or", 7, "or">, I32EnumAttrCase<"Xor", 8, "xor">,
    I32EnumAttrCase<"LogAddExp", 9, "logaddexp">]> { // log(exp(x) + exp(y)) of floats; of scans alone
  let cppNamespace = "::lathe::kernel";
}

def Kernel_TransformKindAttr : I32EnumAttr<"TransformKind", "which numbers of a Fourier transform are real", [
    I32EnumAttrCase<"C2C", 0, "c2c">,   // complex numbers of complex ones
    I32EnumAttrCase<"R2C", 1, "r2c">,   // complex numbers of real ones
    I32EnumAttrCase<"C2R", 2, "c2r">]> { // real numbers of the frequencies up to half of the length, the others being their mirror image
  let cppNamespace = "::lathe::kernel";
}

class Kernel_Op<string mnemonic, list<Trait> traits = []> : Op<Kernel_Dialect, mnemonic, traits>;

def Kernel_GenericOp : Kernel_Op<"generic", [IsolatedFromAbove, SingleBlock, NoTerminator, Pure,
                                            DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "One kernel";
  let description = [{
    Ordered axes with extents span the iteration domain. The block's arguments are the operands, then the results, each as
    a `!kernel.ref`. The body is a DAG of scalar ops (`arith`, `math`, and this dialect's): a value is computed at every
    point of the axes it mentions, directly (through `kernel.load`, `kernel.index`) or through its operands; `kernel.reduce`
    removes axes. Axis order is outermost first: the parallel axes are a prefix, reduced axes come last.

    ```mlir
    // Layer norm without the affine part, rows n, columns d.
    %y = kernel.generic reduction @layer_norm axes(n = "batch*seq", d = "768")
        ins(%x : tensor<?x?x768xf32, #lathe.dims<"batch", "seq", "768">>)
        outs(tensor<?x?x768xf32, #lathe.dims<"batch", "seq", "768">>) {
    ^bb0(%x: !kernel.ref<f32>, %out: !kernel.ref<f32>):
      %0 = kernel.load %x["768*n + d"] : !kernel.ref<f32>
      %s = kernel.reduce add %0 over ["d"] : f32
      %c = arith.constant 0.00130208337 : f32
      %mean = arith.mulf %s, %c : f32
      %1 = arith.subf %0, %mean : f32
      kernel.store %1, %out["768*n + d"] : !kernel.ref<f32>
    }
    ```

    Constraints (the verifier names them):
      K1. as many block arguments as operands and results, with their element types;
      K2. axis names are identifiers and unique, no axis name is a size symbol's, extents mention size symbols alone;
      K3. every offset mentions only axes, size symbols and its own indirect indices, and reductions go over axes. (Size symbols are those that the module
          declares; in a module that declares none, a kernel on its own, every other name is a size;)
      K4. every result is stored to;
      K5. class `contraction` has exactly one `kernel.contract`, `attention` exactly one `kernel.attention`, `scan` exactly one
          `kernel.scan`, `sort` exactly one `kernel.sort`, `transform` exactly one `kernel.fft`, other classes none; `loop`, `scan`,
          `sort`, `transform` and `scatter` have no `kernel.reduce`; stores with a combiner are in class `scatter` alone, which has one result, one store that covers it,
          then one through indices.
    Those of memory are proven with the module's sizes by the pass `lathe-verify-accesses` (lathe/Dialect/Kernel/Legality.h):
      K6. the stores of a result write each of its elements once: each writes a block, where its offset, a number in a mixed
          radix of its axes, names each element once, and the blocks partition the result. A predicate may say that an axis which was
          split into residues is inside, parts * quotient + residue < extent. Stores through indices come on top.
          A list of chosen elements in class `scan` has one store alone: under a predicate, through how often it has held before;
      K7. every load, store and operand of a product stays inside of its buffer at all points at which its predicate holds;
      K8. what is computed from a load under a predicate without a fill is used only where the predicate holds.
  }];
  let arguments = (ins Kernel_ClassAttr:$kernelClass, StrAttr:$name, StrArrayAttr:$axisNames, StrArrayAttr:$axisExtents,
                       Variadic<AnyRankedTensor>:$inputs,
                       OptionalAttr<StrArrayAttr>:$nodes,     // model nodes that it covers
                       OptionalAttr<StrArrayAttr>:$unfused,   // "producer -> consumer: reason" for each edge left unfused
                       OptionalAttr<DictionaryAttr>:$schedule // forced or chosen schedule parameters
                   );
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    unsigned getNumAxes() { return getAxisNames().size(); }
    ::llvm::StringRef getAxisName(unsigned i) { return ::llvm::cast<::mlir::StringAttr>(getAxisNames()[i]).getValue(); }
    ::lathe::shape::Expr getAxisExtent(unsigned i);
    /// The extent of the axis of this name; nothing when there is none.
    std::optional<::lathe::shape::Expr> getExtent(::llvm::StringRef axis);
    ::mlir::BlockArgument getInputRef(unsigned i) { return getBody().getArgument(i); }
    ::mlir::BlockArgument getOutputRef(unsigned i) { return getBody().getArgument(getInputs().size() + i); }
    /// Whether the body's argument is a constant of the model: no kernel writes it.
    bool isConstant(::mlir::BlockArgument ref);
    /// Size symbols that the body or the extents mention, sorted by name: the kernel's size parameters, in this order.
    std::vector<std::string> getSizeSymbols();
  }];
}

def Kernel_LoadOp : Kernel_Op<"load", [AttrSizedOperandSegments]> {
  let summary = "Read one element of a buffer";
  let description = [{
    `kernel.load %x["768*n + d"]`; with indirect indices `kernel.load %table["768*$0 + d"] indirect(%row)`; under a
    predicate `kernel.load %x["n"] if %p else %zero`: nothing is read where the predicate is false, the value is the fill
    there. Without a fill, `kernel.load %x["n"] if %p`, there is no value where the predicate is false, and nothing that is
    computed from it may be used there (K8). `guarded` marks a load whose predicate compares the offset itself with the buffer's
    size, since its bounds were not proven: the layout of its buffer is not to be changed.
  }];
  let arguments = (ins Kernel_Ref:$ref, StrAttr:$offset, Variadic<I64>:$indices, Optional<I1>:$predicate, Optional<AnyType>:$fill);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $ref `[` $offset `]` (`indirect` `(` $indices^ `)`)? (`if` $predicate^)? (`else` $fill^)? attr-dict `:` type($ref)
    (`else` type($fill)^)? `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{ ::lathe::shape::Expr getOffsetExpr(); }];
}

def Kernel_StoreOp : Kernel_Op<"store", [AttrSizedOperandSegments]> {
  let summary = "Write one element of a result at every point of the axes that the offset or the value mention";
  let description = [{
    `kernel.store %v, %out["768*n + d"]`, optionally `indirect(...)` and `if %p` (skipped where false).
    In a kernel of class `scatter`, the store through indices writes once the other one has written the whole result: point after
    point in the order of the axes, the last axis fastest. What comes later replaces what is there, or with `combine add` is
    combined with it.
  }];
  let arguments = (ins AnyType:$value, Kernel_Ref:$ref, StrAttr:$offset, Variadic<I64>:$indices, Optional<I1>:$predicate,
                       OptionalAttr<Kernel_CombinerAttr>:$combiner);
  let builders = [OpBuilder<(ins "::mlir::Value":$value, "::mlir::Value":$ref, "::mlir::StringAttr":$offset,
                                 "::mlir::ValueRange":$indices, "::mlir::Value":$predicate), [{
    build($_builder, $_state, value, ref, offset, indices, predicate, CombinerAttr());
  }]>];
  let assemblyFormat = [{
    $value `,` $ref `[` $offset `]` (`indirect` `(` $indices^ `)`)? (`if` $predicate^)? (`combine` $combiner^)? attr-dict
    `:` type($value) `,` type($ref)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{ ::lathe::shape::Expr getOffsetExpr(); }];
}

def Kernel_IndexOp : Kernel_Op<"index", [Pure]> {
  let summary = "An expression over axes and sizes as an i64";
  let description = [{ `kernel.index "n"`, `kernel.index "seq - 1"`, `kernel.index "4*$0 + n" indirect(%row)`. }];
  let arguments = (ins StrAttr:$expr, Variadic<I64>:$indices);
  let results = (outs I64:$result);
  let assemblyFormat = "$expr (`indirect` `(` $indices^ `)`)? attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{ ::lathe::shape::Expr getIndexExpr(); }];
}

def Kernel_ReduceOp : Kernel_Op<"reduce", [AllTypesMatch<["value", "result"]>]> {
  let summary = "Combine a value over axes";
  let description = [{ `kernel.reduce add %v over ["d"] : f32`. Half types accumulate in f32: the importer of the reduction
    casts, this op combines in its own type. An empty axis gives the combiner's identity. The order is fixed for a target,
    schedule and thread count. Not pure: it must not be hoisted or merged across different axes by generic passes. }];
  let arguments = (ins Kernel_CombinerAttr:$kind, AnyType:$value, StrArrayAttr:$axes);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$kind $value `over` $axes attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Kernel_ScanOp : Kernel_Op<"scan", [AllTypesMatch<["value", "result"]>]> {
  let summary = "Combine a value with those before it along an axis";
  let description = [{
    `kernel.scan add %v along "d" : f32`: at point d of the axis the combination of the values at 0 to d. With `exclusive` that at
    d itself is left out (the first result is the combiner's identity), with `reverse` it is those at d and behind it. The order
    in which floats are combined is fixed for a target and schedule. Not pure, as `kernel.reduce`.
  }];
  let arguments = (ins Kernel_CombinerAttr:$kind, AnyType:$value, StrAttr:$axis, UnitAttr:$exclusive, UnitAttr:$reverse);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$kind $value `along` $axis attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Kernel_SortOp : Kernel_Op<"sort"> {
  let summary = "The order of keys along an axis: where the first, the second, .. of them stands";
  let description = [{
    `kernel.sort %key along "d" to "p" : f32`: at point p of the axis `to` the index along `d` of the key that p others precede.
    That axis is at most as long as the other; a shorter one selects. Smaller keys come first, with `descending` larger ones;
    equal keys (and -0 and 0) stay in the order of their indices. A NaN is larger than every number. Integers are signed but
    with `unsigned_keys`. Keys and their indices are told apart by 32 bits of the index: the axis has at most 2^32 points.
    What else is wanted in that order is loaded through the index. Not pure, as `kernel.reduce`.
  }];
  let arguments = (ins AnyType:$key, StrAttr:$axis, StrAttr:$rankAxis, UnitAttr:$descending, UnitAttr:$unsigned_keys);
  let results = (outs I64:$result);
  let assemblyFormat = "$key `along` $axis `to` $rankAxis attr-dict `:` type($key)";
  let hasVerifier = 1;
}

def Kernel_FftOp : Kernel_Op<"fft", [AllTypesMatch<["value", "result"]>]> {
  let summary = "A discrete Fourier transform along an axis";
  let description = [{
    `kernel.fft c2c %x along "d" to "f" parts "p" length 1000 : f32`: frequency f of the numbers along d, the sum over d of x(d) times
    e^(-2 pi i d f / length), with `inverse` of e^(+2 pi i d f / length). Nothing is scaled. Complex numbers are values along the axis
    `parts`, which has two points: the real part, then the imaginary one. Of `r2c` the value is real and does not depend on that axis; of `c2r`
    the result does not: the value is the frequencies up to length / 2, whose mirror image the others are (the imaginary parts of the
    first, and of that at half of an even length, do not count). The axis `to` may be shorter than the length; then these
    frequencies are all that is wanted.

    `turned "c" of 65536` multiplies the result with e^(-2 pi i f c / 65536) (inverse: +), where c is the point of that axis: what stands
    between two transforms that make a longer one.

    Constraints: F1. the length is a product of primes up to 13 and at most 8192, of f64 4096, of real numbers whose length is even twice that
    (lathe/Dialect/Kernel/Transform.h). F2. The axes `along`, `to` and `parts` are different axes of the kernel; `along` has length points,
    of `c2r` length / 2 + 1; `to` has at most length points, of `c2r` length; `parts` has two. F3. Numbers are f32 or f64. F4. Real
    results are not turned; a frequency times a point of the axis stays below a whole turn, and that below 2^31. Not pure, as `kernel.reduce`.
  }];
  let arguments = (ins Kernel_TransformKindAttr:$kind, AnyType:$value, StrAttr:$axis, StrAttr:$frequencyAxis, StrAttr:$parts,
                       I64Attr:$length, OptionalAttr<StrAttr>:$turnAxis, OptionalAttr<I64Attr>:$turns, UnitAttr:$inverse);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $kind $value `along` $axis `to` $frequencyAxis `parts` $parts `length` $length (`turned` $turnAxis^ `of` $turns)? attr-dict
    `:` type($value)
  }];
  let hasVerifier = 1;
}

def Kernel_ContractOp : Kernel_Op<"contract"> {
  let summary = "The sum of products of two operands over the contracted axes";
  let description = [{
    `kernel.contract %a["512*m + k"], %b["768*k + n"] over ["k"] : (!kernel.ref<f32>, !kernel.ref<f32>) -> f32`.
    Axes in both offsets and not contracted are batch axes; those only in the first are rows (m), only in the second columns
    (n). The result is accumulated in f32 (or wider) whatever the operands are, and is a value at the batch, row and column
    axes for the epilogue.

    `packed`, once a target chose a layout for a constant second operand, holds {n_panel}: the operand then is an array
    [ceil(N / n_panel)][K][n_panel], zero-filled, of a `kernel.pack`, and its offset is the one before packing.
  }];
  let arguments = (ins Kernel_Ref:$lhs, StrAttr:$lhsOffset, Kernel_Ref:$rhs, StrAttr:$rhsOffset, StrArrayAttr:$axes,
                       OptionalAttr<DictionaryAttr>:$packed);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $lhs `[` $lhsOffset `]` `,` $rhs `[` $rhsOffset `]` `over` $axes (`packed` $packed^)? attr-dict `:` `(` type($lhs) `,` type($rhs) `)` `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::lathe::shape::Expr getLhsExpr();
    ::lathe::shape::Expr getRhsExpr();
  }];
}

def Kernel_AttentionOp : Kernel_Op<"attention", [SingleBlock]> {
  let summary = "softmax over keys of a modified score, times values: O(rows) memory";
  let description = [{
    For every point of the batch axes, query row `queryAxis` and value column `valueAxis`:
      score(k) = modify(sum over d of Q[...d] * K[...d])
      result   = sum over k of softmax_k(score)(k) * V[k, valueAxis]
    The region is the score's modification: its argument is the raw score, its terminator yields the modified one; it may
    load and index over the batch axes, the query axis and the key axis. A row whose scores are all -inf gives NaN unless
    `zero_masked` is set (then 0). The scale belongs to the region.

    ```mlir
    %o = kernel.attention %q["64*(q + seq*h) + d"], %k["64*(k + seq*h) + d"], %v["64*(k + seq*h) + e"]
        query "q" key "k" depth "d" value "e" : (!kernel.ref<f32>, !kernel.ref<f32>, !kernel.ref<f32>) -> f32 {
    ^bb0(%s: f32):
      %c = arith.constant 0.125 : f32
      %t = arith.mulf %s, %c : f32
      kernel.yield %t : f32
    }
    ```
    Axes of the kernel: batch axes, then q, then e, then k, d.
  }];
  let arguments = (ins Kernel_Ref:$q, StrAttr:$qOffset, Kernel_Ref:$k, StrAttr:$kOffset, Kernel_Ref:$v, StrAttr:$vOffset,
                       StrAttr:$queryAxis, StrAttr:$keyAxis, StrAttr:$depthAxis, StrAttr:$valueAxis, UnitAttr:$zero_masked);
  let results = (outs AnyType:$result);
  let regions = (region SizedRegion<1>:$score);
  let assemblyFormat = [{
    $q `[` $qOffset `]` `,` $k `[` $kOffset `]` `,` $v `[` $vOffset `]` `query` $queryAxis `key` $keyAxis `depth` $depthAxis
    `value` $valueAxis attr-dict `:` `(` type($q) `,` type($k) `,` type($v) `)` `->` type($result) $score
  }];
  let hasVerifier = 1;
}

def Kernel_YieldOp : Kernel_Op<"yield", [Terminator, Pure]> {
  let summary = "The modified score";
  let arguments = (ins AnyType:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Kernel_PackOp : Kernel_Op<"pack", [Pure]> {
  let summary = "A constant in the layout that a contraction reads, made at compile time";
  let description = [{
    The constant operand holds a matrix: element (k, n) at offset `k*kStride + n*nStride` (elements). The result is
    [ceil(n / panel)][k][panel] of the result's element type, zero-filled past n. With panel 0: [n][k], row-major.
    A result of four dimensions, [ceil(n / panel)][groups][panel][g], has g points of k side by side, which is how products of
    bytes are summed; each run of the last of kExtents (of k, without them) is filled up to whole groups with zeros.
    With `kExtents` and `kStrides`, k counts through several loops, the last fastest, instead of stepping by kStride.
    With an attribute `pairs` so many rows more follow each panel of bytes, with the list of words that BytePairs.h describes.
    Evaluated by the artifact writer, streaming; never at run time.
  }];
  let arguments = (ins AnyRankedTensor:$source, I64Attr:$k, I64Attr:$n, I64Attr:$kStride, I64Attr:$nStride, I64Attr:$panel,
                       OptionalAttr<DenseI64ArrayAttr>:$kExtents, OptionalAttr<DenseI64ArrayAttr>:$kStrides);
  let results = (outs AnyRankedTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$source, "int64_t":$k, "int64_t":$n,
                                 "int64_t":$kStride, "int64_t":$nStride, "int64_t":$panel), [{
    build($_builder, $_state, result, source, k, n, kStride, nStride, panel, ::mlir::DenseI64ArrayAttr(), ::mlir::DenseI64ArrayAttr());
  }]>];
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
}

#endif // LATHE_KERNEL_OPS
