//===- Pipeline.cpp - The optimisations in order ---------------------------===//

#include "lathe/Optimize/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace lathe;

void opt::buildOptimizePipeline(OpPassManager &pm, bool multipliesBytes, bool wholeTransforms) {
  // First, so that what a transform is made of is simplified as if it were the model's.
  ExpandTransformsOptions transforms;
  transforms.whole = wholeTransforms;
  pm.addPass(createExpandTransforms(transforms));
  pm.addPass(createExpandNarrowTypes());
  // While zero points and scales still stand where the model has them.
  IntegerProductsOptions integers;
  integers.weights = multipliesBytes;
  pm.addPass(createIntegerProducts(integers));
  pm.addPass(createBlockedWeights());
  // One form for each thing, one op for each value: what the later passes match against.
  pm.addPass(createSimplifyGraph());
  pm.addPass(createFoldConstants());
  pm.addPass(createCSEPass());
  pm.addPass(createRecognizeAttention());
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
