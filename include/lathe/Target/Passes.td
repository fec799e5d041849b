//===- Passes.td - Target-specific passes on kernels ------------*- tablegen -*-===//
#ifndef LATHE_TARGET_PASSES
#define LATHE_TARGET_PASSES

include "mlir/Pass/PassBase.td"

def PackWeights : Pass<"lathe-pack-weights", "::mlir::ModuleOp"> {
  let summary = "Constant second operands of contractions in the layout that micro-kernels read";
  let description = [{
    Where a contraction's second operand is a constant matrix with constant strides, it becomes a `kernel.pack` into panels of
    `panel` columns, and the contraction says so. The pack is evaluated when the artifact is written. With a `precision`, panels
    of f32 are rounded to that type; products and sums stay in f32. With panels of 0 columns the constants that are bytes, multiplied by
    bytes, become [columns][depth], rows of a matrix filled up to 16, and the load of them reads there; no other is packed.

    Before:
    ```mlir
    %w = lathe.constant dense_resource<w> : tensor<768x3072xf32>
    ... kernel.contract %a["768*m + k"], %b["3072*k + n"] over ["k"]
    ```
    After:
    ```mlir
    %p = kernel.pack %w {k = 768, kStride = 3072, n = 3072, nStride = 1, panel = 32} : tensor<768x3072xf32> -> tensor<96x768x32xf32>
    ... kernel.contract %a["768*m + k"], %b["3072*k + n"] over ["k"] packed {n_panel = 32}
    ```
  }];
  let options = [Option<"panel", "panel", "int64_t", "32", "Columns of a panel; 0: a row of bytes for each column">,
                 Option<"precision", "precision", "std::string", "\"\"", "bf16, f16: of panels of f32; empty or f32: as they are">];
  let dependentDialects = ["::lathe::kernel::KernelDialect"];
}

def WidenHalf : Pass<"lathe-widen-half", "::mlir::ModuleOp"> {
  let summary = "Half-precision operands that are multiplied many times, converted once";
  let description = [{
    The first operand of a contraction, where it is of a half type, is written as f32 by a kernel of its own; the constant filter of
    a convolution becomes a constant in f32. What is summed is the same.

    Before:
    ```mlir
    %y = kernel.generic contraction @matmul axes(m = "8", n = "16", k = "4") ins(%x, %w : tensor<8x4xf16>, tensor<4x16xf16>) ...
    ```
    After:
    ```mlir
    %0 = kernel.generic loop @widen axes(i = "32") ins(%x : tensor<8x4xf16>) outs(tensor<8x4xf32>) ...
    %y = kernel.generic contraction @matmul axes(m = "8", n = "16", k = "4") ins(%0, %w : tensor<8x4xf32>, tensor<4x16xf16>) ...
    ```
  }];
  let dependentDialects = ["::lathe::kernel::KernelDialect", "::mlir::arith::ArithDialect"];
}

def ChannelsLast : Pass<"lathe-channels-last", "::mlir::ModuleOp"> {
  let summary = "Images between kernels with their channels side by side";
  let description = [{
    Results of kernels that are images, [image][channel][pixels..], become [image][pixels..][channel] where every kernel that
    writes or reads them works with that, and a convolution is among them. The offsets change, and the order of the axes. With
    `copies` an image that has to stay as it is (the model's input, what a norm over channels reads) is copied into that order for the
    convolutions whose windows read it many times.

    Before:
    ```mlir
    %y = kernel.generic loop @relu axes(n = "1", c = "64", p = "3136") ... outs(tensor<1x64x56x56xf32>)
      kernel.store %v, %o["3136*c + p"] : f32, !kernel.ref<f32>
    ```
    After:
    ```mlir
    %y = kernel.generic loop @relu axes(n = "1", p = "3136", c = "64") ... outs(tensor<1x56x56x64xf32>)
      kernel.store %v, %o["64*p + c"] : f32, !kernel.ref<f32>
    ```
  }];
  let options = [Option<"halves", "halves", "bool", "false", "Images of 16-bit floats too">,
                 Option<"bytes", "bytes", "bool", "false", "Images of bytes and of their sums too, where their products read rows as they lie">,
                 Option<"copies", "copies", "bool", "false", "Images that cannot be rearranged where they are made are copied for windows">];
  let dependentDialects = ["::lathe::kernel::KernelDialect", "::mlir::arith::ArithDialect"];
}

def PackFilters : Pass<"lathe-pack-filters", "::mlir::ModuleOp"> {
  let summary = "Constant filters of convolutions in the layout that micro-kernels read";
  let description = [{
    The filter of a convolution whose result and image have their channels last becomes panels [columns / panel][k][panel], k
    in the order of the kernel's summed axes, and the load of it is marked `packed` (its offset remains the one before). The
    filter of a depthwise convolution becomes [taps..][channel], and its load reads there. With panels of 0 columns a filter becomes
    [columns][k], and its load reads there.

    Where a window of three taps slides over the image and fewer products pay, the filter becomes what Winograd's minimal filtering
    multiplies, [columns / panel][place][k][panel] with k without these taps, and `winograd` says how many results a tile has:
    ```mlir
    %p = kernel.pack %w {kExtents = array<i64: 3, 3, 64>, n = 64 : i64, panel = 32 : i64, winograd = array<i64: 4, 4>, ...}
        : tensor<64x64x3x3xf32> -> tensor<2x2304x32xf32>
    ... kernel.load %b["9*c + 576*o + 3*u + v"] {packed, winograd = array<i64: 4, 4>}
    ```
    Where sizes of a run decide, the kernel has both, the second one as its last operand, whose number is `winograd_filter`.

    With a precision panels of f32 that are no tiles' become narrower; in bf16 two neighbouring points of the innermost summed axis lie side by side,
    [columns / panel][k / 2][panel][2], as machines multiply them, where that axis has an even number of 32 points or more:
    ```mlir
    %p = kernel.pack %w {kExtents = array<i64: 64>, n = 48 : i64, panel = 32 : i64, ...} : tensor<48x64xf32> -> tensor<2x32x32x2xbf16>
    ... %f = kernel.load %b["64*o + c"] {packed} : !kernel.ref<bf16> -> bf16
    ... arith.extf %f : bf16 to f32
    ```
  }];
  let options = [Option<"panel", "panel", "int64_t", "32", "Columns of a panel; 0: a row for each column">,
                 Option<"halves", "halves", "bool", "false", "Filters of 16-bit floats too">,
                 Option<"winograd", "winograd", "bool", "true", "Filters for minimal filtering, where it pays">,
                 Option<"precision", "precision", "std::string", "\"\"", "Of other panels: bf16 or f16, where it is not empty">];
  let dependentDialects = ["::lathe::kernel::KernelDialect", "::lathe::schedule::ScheduleDialect", "::mlir::arith::ArithDialect"];
}

def DenseGroups : Pass<"lathe-dense-groups", "::mlir::ModuleOp"> {
  let summary = "Convolutions of narrow groups, of 16-bit floats, as plain ones";
  let description = [{
    A convolution of groups of at most 32 output channels, with a constant filter, becomes one of all channels whose filter has zeros between the groups,
    as long as that has at most 8 MiB: tensor cores multiply whole tiles, most of which a narrow group leaves empty.

    Before:
    ```mlir
    kernel.generic reduction @conv axes(g = "8", n = "4", y = "9", x = "9", c = "4", u = "3", v = "3")
      ... kernel.load %image[...]; kernel.load %filter["144*g + 36*n + 9*c + 3*u + v"]
    ```
    After:
    ```mlir
    kernel.generic reduction @conv axes(n = "32", y = "9", x = "9", c = "32", u = "3", v = "3")
      ... kernel.load %image[...]; kernel.load %dense["288*n + 9*c + 3*u + v"]
    ```
  }];
  let dependentDialects = ["::lathe::kernel::KernelDialect", "::lathe::ir::LatheDialect"];
}

def UpdateInPlace : Pass<"lathe-update-in-place", "::mlir::ModuleOp"> {
  let summary = "Results that take the place of an operand that nobody reads afterwards";
  let description = [{
    A kernel that reads each element of an operand at the point that writes the same element of its one result, and is the last
    to read that operand, says `in_place = N`: its result lies where operand N lies. What is read while a sum is made stays.

    Before:
    ```mlir
    %y = kernel.generic contraction @add axes(m = "8", n = "32", k = "16") ins(%x, %w, %residual : ...) outs(tensor<8x32xf32>)
    ```
    After:
    ```mlir
    %y = kernel.generic contraction @add axes(m = "8", n = "32", k = "16") ins(%x, %w, %residual : ...) outs(tensor<8x32xf32>) attributes {in_place = 2 : i64}
    ```
  }];
}

def SplitReductions : Pass<"lathe-split-reductions", "::mlir::ModuleOp"> {
  let summary = "Long reductions of few rows, in parts that threads share out";
  let description = [{
    A kernel whose reductions all go over the same axes, of 2^17 points or more or of an open number in fewer than 16 rows, becomes several: for reductions
    that need no other ones a kernel with a value for each part of a row and one that combines these, again two for those that need them, and at last the kernel itself.
    That combines the last reductions where its result has values of rows alone, and is of class `loop` where it has not. Parts are 4 to 64, and as many as divide an axis;
    where none does, or the axis is open, whole lines of a cache, at least 8,192 points and at most 64 parts, and what is left has a kernel of its own. Sums in 16 bits stay as they are, and so
    do, below 2^19 points, kernels whose result is made of a function that is reduced, as a softmax: they compute it once; and those of which the parts' accesses are not proven to
    stay inside.

    Before:
    ```mlir
    %y = kernel.generic reduction @center axes(c = "1048576") ins(%x : tensor<1048576xf32>) outs(tensor<1048576xf32>) {
      %0 = kernel.load %x["c"] : <f32> -> f32
      %1 = kernel.reduce max %0 over ["c"] : f32
      %2 = arith.subf %0, %1 : f32
    ```
    After:
    ```mlir
    %p = kernel.generic reduction @center_parts axes(i1 = "64", i2 = "16384") ins(%x : tensor<1048576xf32>) outs(tensor<64xf32>) {
      %0 = kernel.load %x["16384*i1 + i2"] : <f32> -> f32
      %1 = kernel.reduce max %0 over ["i2"] : f32
      kernel.store %1, %out["i1"] : f32, <f32>
    }
    %m = kernel.generic reduction @center_whole axes(i3 = "64") ins(%p : tensor<64xf32>) outs(tensor<1xf32>) {
      %0 = kernel.load %p["i3"] : <f32> -> f32
      %1 = kernel.reduce max %0 over ["i3"] : f32
      kernel.store %1, %out["0"] : f32, <f32>
    }
    %y = kernel.generic loop @center axes(c = "1048576") ins(%x, %m : ...) outs(tensor<1048576xf32>) {
      %0 = kernel.load %x["c"] : <f32> -> f32
      %1 = kernel.load %m["0"] : <f32> -> f32
      %2 = arith.subf %0, %1 : f32
    ```
  }];
  let dependentDialects = ["::lathe::kernel::KernelDialect"];
}

def SplitScatters : Pass<"lathe-split-scatters", "::mlir::ModuleOp"> {
  let summary = "The data of a scatter are made by a kernel of their own, and updated in place";
  let description = [{
    What a scatter's data are is written by a kernel of class `loop`; the scatter then says `in_place = N`: its result lies where
    operand N, these data, lie, and only updates are left to do. The kernel of the data is marked `updated`: they are to stay in a cache. Where an operand holds the data as they are, and nobody reads it
    afterwards, it is updated itself.

    Before:
    ```mlir
    %y = kernel.generic scatter @scatter axes(i0 = "50", i1 = "20") ins(%x, %i, %u : ...) outs(tensor<50xf32>) {
      %0 = kernel.load %x["i0"] : <f32> -> f32
      %1 = arith.mulf %0, %c : f32
      kernel.store %1, %out["i0"] : f32, <f32>
      %2 = kernel.load %u["i1"] : <f32> -> f32
      kernel.store %2, %out["$0"] indirect(%at) if %inside combine add : f32, <f32>
    ```
    After:
    ```mlir
    %d = kernel.generic loop @scatter_data axes(i0 = "50") ins(%x : ...) outs(tensor<50xf32>) attributes {updated} {
      %0 = kernel.load %x["i0"] : <f32> -> f32
      %1 = arith.mulf %0, %c : f32
      kernel.store %1, %out["i0"] : f32, <f32>
    %y = kernel.generic scatter @scatter axes(i0 = "50", i1 = "20") ins(%i, %u, %d : ...) outs(tensor<50xf32>) attributes {in_place = 2 : i64} {
      %0 = kernel.load %d["i0"] : <f32> -> f32
      kernel.store %0, %out["i0"] : f32, <f32>
      %1 = kernel.load %u["i1"] : <f32> -> f32
      kernel.store %1, %out["$0"] indirect(%at) if %inside combine add : f32, <f32>
    ```
  }];
  let dependentDialects = ["::lathe::kernel::KernelDialect"];
}

def DotProducts : Pass<"lathe-dot-products", "::mlir::ModuleOp"> {
  let summary = "Products without rows and columns become sums";
  let description = [{
    A contraction of which each batch leaves one element is written as a reduction, which a target divides among its threads.

    Before:
    ```mlir
    %y = kernel.generic contraction @dot axes(k = "1000000") ins(%x, %w : ...) outs(tensor<f32>) {
      %s = kernel.contract %a["k"], %b["k"] over ["k"] : (!kernel.ref<f32>, !kernel.ref<f32>) -> f32
    ```
    After:
    ```mlir
    %y = kernel.generic reduction @dot axes(k = "1000000") ins(%x, %w : ...) outs(tensor<f32>) {
      %1 = kernel.load %a["k"] : <f32> -> f32
      %2 = kernel.load %b["k"] : <f32> -> f32
      %3 = arith.mulf %1, %2 : f32
      %s = kernel.reduce add %3 over ["k"] : f32
    ```
  }];
  let dependentDialects = ["::lathe::kernel::KernelDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def OrderScatters : Pass<"lathe-order-scatters", "::mlir::ModuleOp"> {
  let summary = "Updates of whole rows are listed in the order of their places by a kernel of their own";
  let description = [{
    Where floats are added to rows whose place depends on one axis of the updates, a kernel of class `sort` lists their numbers by place,
    those that are not stored behind all others. The scatter says `order = N`: operand N, which its body does not read, is that list.

    Before:
    ```mlir
    %y = kernel.generic scatter @scatter axes(r = "50", c = "64", n = "900") ins(%i, %u, %d : ...) outs(tensor<50x64xf32>) attributes {in_place = 2 : i64} {
      ...
      kernel.store %v, %out["64*$0 + c"] indirect(%at) combine add : f32, <f32>
    ```
    After:
    ```mlir
    %o = kernel.generic sort @scatter_order axes(n_rank = "900", n = "900") ins(%i : ...) outs(tensor<900xi64>) {
      ...
      %s = kernel.sort %key along "n" to "n_rank" : i32
      kernel.store %s, %order["n_rank"] : i64, <i64>
    %y = kernel.generic scatter @scatter axes(r = "50", c = "64", n = "900") ins(%i, %u, %d, %o : ...) outs(tensor<50x64xf32>) attributes {in_place = 2 : i64, order = 3 : i64} {
    ```
  }];
  let dependentDialects = ["::lathe::kernel::KernelDialect", "::mlir::arith::ArithDialect"];
}

def ShareSizes : Pass<"lathe-share-sizes", "::mlir::ModuleOp"> {
  let summary = "Quotients and the like that kernels run over become sizes, where such kernels share their code";
  let description = [{
    An axis that is as long as a quotient, a minimum or the like gets a size of its own, where the kernel asks for nothing else of what is
    in that term, and where the kernel then is equal to another one. Kernels of equal text are compiled once.

    Before:
    ```mlir
    %a = kernel.generic loop @level axes(i0 = "floordiv(h, 32)") ...
    %b = kernel.generic loop @level_1 axes(i0 = "floordiv(h, 64)") ...
    ```
    After:
    ```mlir
    lathe.symbol "'floordiv(h, 32)'" range[0, -1] is "floordiv(h, 32)" {lathe.launch_size}
    lathe.symbol "'floordiv(h, 64)'" range[0, -1] is "floordiv(h, 64)" {lathe.launch_size}
    %a = kernel.generic loop @level axes(i0 = "'floordiv(h, 32)'") ...
    %b = kernel.generic loop @level_1 axes(i0 = "'floordiv(h, 64)'") ...
    ```
  }];
  let dependentDialects = ["::lathe::kernel::KernelDialect", "::lathe::ir::LatheDialect"];
}

def ShareNumbers : Pass<"lathe-share-numbers", "::mlir::ModuleOp"> {
  let summary = "Numbers in which kernels differ become sizes, so that the kernels share their code";
  let description = [{
    Of kernels that are equal but for numbers, at least `fewest` with different ones get these as sizes that are known. Kernels of equal
    text are compiled once. Numbers are constants that are stored, chosen, added or multiplied (of f32 and short integers their bits),
    and in class `loop` indices that are stored, chosen or added, and the constant terms of offsets.

    Before:
    ```mlir
    %a = kernel.generic loop @scores axes(i0 = "3234") ... { %0 = kernel.load %x["91*i0 + 1"] ...
    %b = kernel.generic loop @scores_1 axes(i0 = "3234") ... { %0 = kernel.load %x["91*i0 + 2"] ...
    ```
    After:
    ```mlir
    lathe.symbol "'number 0 is 1'" range[1, 1] is "1" {lathe.launch_size}
    lathe.symbol "'number 0 is 2'" range[2, 2] is "2" {lathe.launch_size}
    %a = kernel.generic loop @scores axes(i0 = "3234") ... { %0 = kernel.load %x["'number 0 is 1' + 91*i0"] ...
    %b = kernel.generic loop @scores_1 axes(i0 = "3234") ... { %0 = kernel.load %x["'number 0 is 2' + 91*i0"] ...
    ```
  }];
  let options = [Option<"fewest", "fewest", "int64_t", "4", "Kernels with different numbers that are worth it">];
  let dependentDialects = ["::lathe::kernel::KernelDialect", "::lathe::ir::LatheDialect"];
}

def LimitFirst : Pass<"lathe-limit-first", "::mlir::ModuleOp"> {
  let summary = "What becomes a byte is limited before it is rounded";
  let description = [{
    round(x) + zero within limits is round(x within the limits less zero) + zero, where these are integers. What is limited so is rounded and converted by
    one sum, and a Dequantize behind it asks for the rounded number alone, neither as a byte nor with its zero point. A maximum with 0 in front of
    a limit of 0 is left out. Zero points of bytes are subtracted before these become floats.

    Before:
    ```mlir
    %r = math.roundeven %x : f32
    %s = arith.addf %r, %zero : f32
    %a = arith.cmpf ogt, %s, %c0 : f32
    %l = arith.select %a, %s, %c0 : f32
    %b = arith.cmpf olt, %l, %c255 : f32
    %h = arith.select %b, %l, %c255 : f32
    %i = arith.fptosi %h : f32 to i32
    %q = arith.trunci %i : i32 to i8
    ```
    After, of a zero point of 127:
    ```mlir
    %a = arith.cmpf ogt, %x, %low : f32
    %l = arith.select %a, %x, %low : f32
    %b = arith.cmpf olt, %l, %c128 : f32
    %h = arith.select %b, %l, %c128 : f32
    %s = arith.addf %h, %magic : f32
    %bits = arith.bitcast %s : f32 to i32
    %i = arith.addi %bits, %offset : i32
    %q = arith.trunci %i : i32 to i8
    ```
  }];
  let dependentDialects = ["::lathe::kernel::KernelDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def CudaPrecision : Pass<"lathe-cuda-precision", "::mlir::ModuleOp"> {
  let summary = "Operands of contractions and attentions in the type that tensor cores take";
  let description = [{
    With a half type, every f32 operand of a `kernel.contract` or `kernel.attention` becomes one of the half type: a constant
    is converted when the artifact is written (a `kernel.pack`), the result of a kernel is stored in the half type by that
    kernel (beside the f32 result where somebody else reads it), an input of the model is converted by a kernel of its own.
    Sums stay f32. With `windows` it is the images and filters of convolutions that become so, before their layouts are chosen; an image that is more than
    a read stays. With `tf32` operands stay as they are, constants are laid out as [n][k] and the kernels, those of convolutions
    too, say `precision = "tf32"` in their schedule.

    Before:
    ```mlir
    %h = kernel.generic loop @gelu ... outs(tensor<8x768xf32>)
    %y = kernel.generic contraction @project ins(%h, %w : tensor<8x768xf32>, tensor<768x64xf32>)
    ```
    After:
    ```mlir
    %h = kernel.generic loop @gelu ... outs(tensor<8x768xbf16>)
    %p = kernel.pack %w {...} : tensor<768x64xf32> -> tensor<64x768xbf16>
    %y = kernel.generic contraction @project ins(%h, %p : tensor<8x768xbf16>, tensor<64x768xbf16>)
    ```
  }];
  let options = [Option<"precision", "precision", "std::string", "\"bf16\"", "bf16, f16 or tf32">,
                 Option<"windows", "windows", "bool", "false", "Images and filters of convolutions, not operands of contractions">];
  let dependentDialects = ["::lathe::kernel::KernelDialect", "::mlir::arith::ArithDialect"];
}

#endif // LATHE_TARGET_PASSES
