//===- Passes.td - A pass without file, test, or its right name ------------===//
def LoseLoops : Pass<"lathe-lose-the-loops", "::mlir::ModuleOp"> {
}
