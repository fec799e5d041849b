//===- Pipeline.cpp - The optimisations in order ---------------------------===//

#include "lathe/Optimize/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace lathe;

void opt::buildOptimizePipeline(OpPassManager &pm, const PipelineOptions &options) {
  // First, so that what a transform is made of is simplified as if it were the model's.
  ExpandTransformsOptions transforms;
  transforms.whole = options.wholeTransforms;
  pm.addPass(createExpandTransforms(transforms));
  ExpandNarrowTypesOptions narrow;
  narrow.float8 = options.float8;
  pm.addPass(createExpandNarrowTypes(narrow));
  // While zero points and scales still stand where the model has them.
  IntegerProductsOptions integers;
  integers.weights = integers.depthwise = options.multipliesBytes;
  pm.addPass(createIntegerProducts(integers));
  if (options.float8)
    pm.addPass(createFloat8Products());
  pm.addPass(createBlockedWeights());
  // One form for each thing, one op for each value: what the later passes match against.
  pm.addPass(createSimplifyGraph());
  pm.addPass(createFoldConstants());
  pm.addPass(createCSEPass());
  pm.addPass(createRecognizeAttention());
  integers.computed = true;
  pm.addPass(createIntegerProducts(integers));
  // Behind attention's matching, which knows scores as they are written.
  pm.addPass(createByteTables());
  // Behind attention's matching, too, which would otherwise see slices where the projections were.
  pm.addPass(createMergeContractions());
  // What attention no longer reads goes, and the views that it built fold.
  pm.addPass(createSimplifyGraph());
  pm.addPass(createFoldConstants());
  pm.addPass(createCSEPass());
}

void opt::registerOptimizePipeline() {
  PassPipelineRegistration<>("lathe-optimize", "All optimisations of the model-level dialect, in order",
                             [](OpPassManager &pm) { buildOptimizePipeline(pm); });
}
