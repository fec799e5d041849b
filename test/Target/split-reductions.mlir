// A long reduction of few rows becomes a kernel for its parts and one that combines them, with as many kernels in between as reductions need one another.
// RUN: lathe-opt %s --lathe-split-reductions | FileCheck %s

// CHECK-LABEL: func.func @variance
// CHECK: %[[SUMS:.*]] = kernel.generic reduction @variance_parts axes(n = "3", [[PART:i[0-9]+]] = "64", [[IN:i[0-9]+]] = "15625") ins(%arg0 : tensor<3x1000000xf32>) outs(tensor<3x64xf32>)
// CHECK:   %[[X:.*]] = kernel.load %{{.*}}["15625*[[PART]] + [[IN]] + 1000000*n"]
// CHECK:   %[[S:.*]] = kernel.reduce add %[[X]] over {{\[}}"[[IN]]"]
// CHECK:   kernel.store %[[S]], %{{.*}}["[[PART]] + 64*n"]
// CHECK: %[[SQUARES:.*]] = kernel.generic reduction @variance_parts axes(n = "3", [[PART]] = "64", [[IN]] = "15625", [[ALL:i[0-9]+]] = "64") ins(%arg0, %[[SUMS]] : {{.*}}) outs(tensor<3x64xf32>)
// CHECK:   %[[P:.*]] = kernel.load %{{.*}}["[[ALL]] + 64*n"]
// CHECK:   kernel.reduce add %[[P]] over {{\[}}"[[ALL]]"]
// CHECK:   kernel.reduce add %{{.*}} over {{\[}}"[[IN]]"]
// CHECK: kernel.generic reduction @variance axes(n = "3", [[ALL]] = "64") ins(%[[SQUARES]] : tensor<3x64xf32>) outs(tensor<3xf32>)
// CHECK:   kernel.reduce add %{{.*}} over {{\[}}"[[ALL]]"]
func.func @variance(%x: tensor<3x1000000xf32>) -> tensor<3xf32> {
  %0 = kernel.generic reduction @variance axes(n = "3", c = "1000000") ins(%x : tensor<3x1000000xf32>) outs(tensor<3xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %c = arith.constant 1.0e-06 : f32
    %1 = kernel.load %in["1000000*n + c"] : <f32> -> f32
    %2 = kernel.reduce add %1 over ["c"] : f32
    %3 = arith.mulf %2, %c : f32
    %4 = arith.subf %1, %3 : f32
    %5 = arith.mulf %4, %4 : f32
    %6 = kernel.reduce add %5 over ["c"] : f32
    kernel.store %6, %out["n"] : f32, <f32>
  }
  return %0 : tensor<3xf32>
}

// Two that need nothing of one another are made together. Of 500 rows of 1,001 columns it is rows that parts have. What is computed from them at each element keeps its axes.
// CHECK-LABEL: func.func @scaled
// CHECK: %[[BOTH:.*]]:2 = kernel.generic reduction @scaled_parts axes([[PART:i[0-9]+]] = "50", [[IN:i[0-9]+]] = "10", c = "1001") ins(%arg0 : {{.*}}) outs(tensor<50xf32>, tensor<50xf32>)
// CHECK: kernel.generic reduction @scaled axes(n = "500", c = "1001", [[ALL:i[0-9]+]] = "50") ins(%arg0, %[[BOTH]]#0, %[[BOTH]]#1
// CHECK:   kernel.store %{{.*}}, %{{.*}}["1001*n + c"]
func.func @scaled(%x: tensor<500x1001xf32>) -> tensor<500x1001xf32> {
  %0 = kernel.generic reduction @scaled axes(n = "500", c = "1001") ins(%x : tensor<500x1001xf32>) outs(tensor<500x1001xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %in["1001*n + c"] : <f32> -> f32
    %2 = kernel.reduce max %1 over ["n", "c"] : f32
    %3 = kernel.reduce min %1 over ["n", "c"] : f32
    %4 = arith.subf %2, %3 : f32
    %5 = arith.divf %1, %4 : f32
    kernel.store %5, %out["1001*n + c"] : f32, <f32>
  }
  return %0 : tensor<500x1001xf32>
}

// Lengths without a divisor and open ones stay whole.
// CHECK-LABEL: func.func @uneven
// CHECK-NOT: _parts
func.func @uneven(%p: tensor<1000003xf32>, %o: tensor<?xf32, #lathe.dims<"k">>) {
  %0 = kernel.generic reduction @prime axes(c = "1000003") ins(%p : tensor<1000003xf32>) outs(tensor<f32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %a = kernel.load %in["c"] : <f32> -> f32
    %b = kernel.reduce max %a over ["c"] : f32
    kernel.store %b, %out["0"] : f32, <f32>
  }
  %1 = kernel.generic reduction @open axes(c = "k") ins(%o : tensor<?xf32, #lathe.dims<"k">>) outs(tensor<f32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %a = kernel.load %in["c"] : <f32> -> f32
    %b = kernel.reduce add %a over ["c"] : f32
    kernel.store %b, %out["0"] : f32, <f32>
  }
  return
}

// Many rows, short ones, sums of 16 bits, searches, and a softmax, which computes its exponentials once, stay one kernel.
// CHECK-LABEL: func.func @others
// CHECK-NOT: _parts
func.func @others(%x: tensor<16x200000xf32>, %y: tensor<100000xf32>, %h: tensor<1000000xf16>, %l: tensor<1000000xf32>) {
  %0 = kernel.generic reduction @many axes(n = "16", c = "200000") ins(%x : tensor<16x200000xf32>) outs(tensor<16xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %a = kernel.load %in["200000*n + c"] : <f32> -> f32
    %b = kernel.reduce add %a over ["c"] : f32
    kernel.store %b, %out["n"] : f32, <f32>
  }
  %1 = kernel.generic reduction @short axes(c = "100000") ins(%y : tensor<100000xf32>) outs(tensor<f32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %a = kernel.load %in["c"] : <f32> -> f32
    %b = kernel.reduce add %a over ["c"] : f32
    kernel.store %b, %out["0"] : f32, <f32>
  }
  %4 = kernel.generic reduction @halves axes(c = "1000000") ins(%h : tensor<1000000xf16>) outs(tensor<f16>) {
  ^bb0(%in: !kernel.ref<f16>, %out: !kernel.ref<f16>):
    %a = kernel.load %in["c"] : <f16> -> f16
    %b = kernel.reduce add %a over ["c"] : f16
    kernel.store %b, %out["0"] : f16, <f16>
  }
  %5 = kernel.generic reduction @search axes(c = "1000000") ins(%l : tensor<1000000xf32>) outs(tensor<i64>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<i64>):
    %a = kernel.load %in["c"] : <f32> -> f32
    %b = kernel.reduce max %a over ["c"] : f32
    %e = arith.cmpf oeq, %a, %b : f32
    %i = kernel.index "c"
    %z = arith.constant 1000000 : i64
    %s = arith.select %e, %i, %z : i64
    %m = kernel.reduce min %s over ["c"] : i64
    kernel.store %m, %out["0"] : i64, <i64>
  }
  %6 = kernel.generic reduction @softmax axes(c = "1000000") ins(%l : tensor<1000000xf32>) outs(tensor<1000000xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %a = kernel.load %in["c"] : <f32> -> f32
    %b = kernel.reduce max %a over ["c"] : f32
    %d = arith.subf %a, %b : f32
    %e = math.exp %d : f32
    %s = kernel.reduce add %e over ["c"] : f32
    %q = arith.divf %e, %s : f32
    kernel.store %q, %out["c"] : f32, <f32>
  }
  return
}
