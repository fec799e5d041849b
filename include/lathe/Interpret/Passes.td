//===- Passes.td - The interpreter as a pass --------------------*- tablegen -*-===//
#ifndef LATHE_INTERPRET_PASSES
#define LATHE_INTERPRET_PASSES

include "mlir/Pass/PassBase.td"

def Interpret : Pass<"lathe-interpret", "::mlir::ModuleOp"> {
  let summary = "Run a module of the lathe or of the kernel dialect, and print what @main gives";
  let description = [{
    The module is left as it is. Inputs are the arrays of a file, by the names of the arguments, or numbers that follow from `seed`;
    `dims` then gives open sizes their values (others are 2, or the least that is allowed). A fault of the module, such as an element
    of a kernel's result that nothing writes, is an error.

    lathe-opt model.mlir --lathe-interpret="seed=1 dims=batch=3,seq=7"
  }];
  let constructor = "::lathe::interpret::createInterpret({})"; // files come with registerInterpretPass
  let options = [
    Option<"inputs", "inputs", "std::string", "", "A file of arrays (.npz)">,
    Option<"outputs", "outputs", "std::string", "", "A file of arrays (.npz) to write the results to, instead of printing them">,
    Option<"seed", "seed", "uint64_t", "0", "Of the inputs, where no file gives them">,
    Option<"roundings", "roundings", "uint64_t", "0",
           "Not 0: moves what ops of the lathe dialect give by what another implementation may, in a way that follows from this">,
    ListOption<"dims", "dims", "std::string", "Values of open sizes: NAME=N,...">,
  ];
}

#endif // LATHE_INTERPRET_PASSES
