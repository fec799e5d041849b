//===- Passes.td - Kernels to code, stage by stage --------------*- tablegen -*-===//
#ifndef LATHE_TARGET_BACKENDS_PASSES
#define LATHE_TARGET_BACKENDS_PASSES

include "mlir/Pass/PassBase.td"

def EmitCode : Pass<"lathe-emit-code", "::mlir::ModuleOp"> {
  let summary = "Each kernel as code for a machine, in MLIR's own dialects";
  let description = [{
    What backends do with each kernel by itself before anything is lowered, for reading and for tests: a module in its place, named like it, in scf,
    arith, math, vector and llvm ops. A kernel of a GPU gives two of them, `lathe.part = "device"` and `"plan"`. The functions that held the kernels
    go. A kernel runs in the ways that `schedule.cases` says (`--lathe-schedule`), or in those that templates propose.

    Before:
    ```mlir
    %y = kernel.generic loop @relu axes(i = "1000") ins(%x : tensor<1000xf32>) outs(tensor<1000xf32>) ...
    ```
    After, with `machine=avx2`:
    ```mlir
    module @relu {
      func.func @relu.body(%i0: i64, ...) { scf.for ... { ... vector<8xf32> ... } }
      func.func @relu(...)
      func.func @relu_plan(...)
    }
    ```
  }];
  let options = [Option<"machine", "machine", "std::string", "\"avx2\"", "A row of the table of machines">];
}

def LowerCode : Pass<"lathe-lower-code", "::mlir::ModuleOp"> {
  let summary = "What --lathe-emit-code gives, in the llvm dialect";
  let description = [{
    Functions of numbers become polynomials or calls of libdevice, products and sums one instruction where the machine has it, types that it cannot
    compute in others; then everything becomes ops of the llvm dialect (and nvvm's). What is left of a target is LLVM's work.

    Before: `math.exp %x : vector<8xf32>`; after, with `machine=avx2`: `llvm.intr.fma` and its kin.
  }];
  let options = [Option<"machine", "machine", "std::string", "\"avx2\"", "A row of the table of machines">];
}

#endif // LATHE_TARGET_BACKENDS_PASSES
