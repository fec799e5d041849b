// A long reduction of few rows becomes a kernel for its parts and one that combines them, and again so for reductions that need these.
// RUN: lathe-opt %s --lathe-split-reductions | FileCheck %s

// CHECK-LABEL: func.func @variance
// CHECK: %[[SUMS:.*]] = kernel.generic reduction @variance_parts axes(n = "3", [[PART:i[0-9]+]] = "64", [[IN:i[0-9]+]] = "15625") ins(%arg0 : tensor<3x1000000xf32>) outs(tensor<3x64xf32>)
// CHECK:   %[[X:.*]] = kernel.load %{{.*}}["15625*[[PART]] + [[IN]] + 1000000*n"]
// CHECK:   %[[S:.*]] = kernel.reduce add %[[X]] over {{\[}}"[[IN]]"]
// CHECK:   kernel.store %[[S]], %{{.*}}["[[PART]] + 64*n"]
// CHECK: %[[SUM:.*]] = kernel.generic reduction @variance_whole axes(n = "3", [[ALL:i[0-9]+]] = "64") ins(%[[SUMS]] : tensor<3x64xf32>) outs(tensor<3x1xf32>)
// CHECK:   %[[P:.*]] = kernel.load %{{.*}}["[[ALL]] + 64*n"]
// CHECK:   kernel.reduce add %[[P]] over {{\[}}"[[ALL]]"]
// CHECK: %[[SQUARES:.*]] = kernel.generic reduction @variance_parts axes(n = "3", [[PART]] = "64", [[IN]] = "15625") ins(%arg0, %[[SUM]] : {{.*}}) outs(tensor<3x64xf32>)
// CHECK:   kernel.load %{{.*}}["n"]
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

// Two that need nothing of one another are made together. Of 500 rows of 1,001 columns it is rows that parts have. What is computed from them at each element is a loop.
// CHECK-LABEL: func.func @scaled
// CHECK: %[[BOTH:.*]]:2 = kernel.generic reduction @scaled_parts axes([[PART:i[0-9]+]] = "50", [[IN:i[0-9]+]] = "10", c = "1001") ins(%arg0 : {{.*}}) outs(tensor<50xf32>, tensor<50xf32>)
// CHECK: %[[WHOLE:.*]]:2 = kernel.generic reduction @scaled_whole axes([[ALL:i[0-9]+]] = "50") ins(%[[BOTH]]#0, %[[BOTH]]#1
// CHECK: kernel.generic loop @scaled axes(n = "500", c = "1001") ins(%arg0, %[[WHOLE]]#0, %[[WHOLE]]#1
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

// Lengths without a divisor have parts of whole lines, and so do open ones, short ones none at all; what is behind them has a kernel of its own.
// CHECK-LABEL: func.func @uneven
// CHECK: %[[PARTS:.*]] = kernel.generic reduction @prime_parts axes([[PART:i[0-9]+]] = "63", [[IN:i[0-9]+]] = "15632") ins(%arg0 : {{.*}}) outs(tensor<63xf32>)
// CHECK: %[[REST:.*]] = kernel.generic reduction @prime_rest axes(c = "15187") ins(%arg0 : {{.*}}) outs(tensor<1xf32>)
// CHECK:   kernel.load %{{.*}}["c + 984816"]
// CHECK: kernel.generic reduction @prime axes([[ALL:i[0-9]+]] = "63") ins(%[[PARTS]], %[[REST]]
// CHECK:   %[[P:.*]] = kernel.load %{{.*}}["[[ALL]]"]
// CHECK:   %[[M:.*]] = kernel.reduce max %[[P]] over {{\[}}"[[ALL]]"]
// CHECK:   %[[R:.*]] = kernel.load %{{.*}}["0"]
// CHECK:   arith.maximumf %[[M]], %[[R]]
// CHECK: kernel.generic reduction @open_parts axes({{i[0-9]+}} = "floordiv(k, 16*max(512, floordiv(k + 1023, 1024)))", {{i[0-9]+}} = "16*max(512, floordiv(k + 1023, 1024))")
// CHECK: kernel.generic reduction @open_rest axes(c = "-16*floordiv(k, 16*max(512, floordiv(k + 1023, 1024)))*max(512, floordiv(k + 1023, 1024)) + k")
// CHECK: kernel.generic reduction @open axes({{i[0-9]+}} = "floordiv(k, 16*max(512, floordiv(k + 1023, 1024)))")
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

// A search is for the largest one and then for its place. Exponentials of a softmax are computed twice where the row is beyond caches.
// CHECK-LABEL: func.func @searches
// CHECK: %[[MAX:.*]] = kernel.generic reduction @search_whole
// CHECK: kernel.generic reduction @search_parts axes([[PART:i[0-9]+]] = "64", [[IN:i[0-9]+]] = "15625") ins(%arg0, %[[MAX]]
// CHECK:   kernel.index "15625*[[PART]] + [[IN]]"
// CHECK: kernel.generic reduction @search axes
// CHECK: kernel.generic reduction @softmax_parts {{.*}} outs(tensor<64xf32>)
// CHECK: kernel.generic reduction @softmax_whole
// CHECK: kernel.generic reduction @softmax_parts
// CHECK:   math.exp
// CHECK: kernel.generic reduction @softmax_whole
// CHECK: kernel.generic loop @softmax axes(c = "1000000")
// CHECK:   math.exp
func.func @searches(%l: tensor<1000000xf32>) {
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

// Many rows, short ones, sums of 16 bits, and a softmax that caches hold, which computes its exponentials once, stay one kernel.
// CHECK-LABEL: func.func @others
// CHECK-NOT: _parts
func.func @others(%x: tensor<16x200000xf32>, %y: tensor<100000xf32>, %h: tensor<1000000xf16>, %l: tensor<500000xf32>) {
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
  %5 = kernel.generic reduction @softmax axes(c = "500000") ins(%l : tensor<500000xf32>) outs(tensor<500000xf32>) {
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

// Rows of which parts have a range may have open sizes behind them. Where accesses of the parts are not proven to stay inside then, the kernel stays whole.
// CHECK-LABEL: func.func @proven
// CHECK: kernel.generic reduction @product_parts axes({{.*}} = "floordiv(a, max(-floordiv(-8192, max(1, b*c)), floordiv(a + 63, 64)))"
// CHECK: kernel.generic reduction @product_rest
// CHECK: kernel.generic reduction @product axes
func.func @proven(%x: tensor<?xf32, #lathe.dims<"a*b*c">>) {
  %0 = kernel.generic reduction @product axes(r = "a", i = "b", j = "c") ins(%x : tensor<?xf32, #lathe.dims<"a*b*c">>) outs(tensor<f32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %a = kernel.load %in["b*c*r + c*i + j"] : <f32> -> f32
    %b = kernel.reduce add %a over ["r", "i", "j"] : f32
    kernel.store %b, %out["0"] : f32, <f32>
  }
  return
}
// CHECK-LABEL: func.func @unproven
// CHECK-NOT: _parts
func.func @unproven(%x: tensor<?xf32, #lathe.dims<"2*a*b*c - 4*a*b + 2*a*c - 4*a">>) {
  %0 = kernel.generic reduction @factors axes(r = "a", i = "2*b + 2", j = "c - 2") ins(%x : tensor<?xf32, #lathe.dims<"2*a*b*c - 4*a*b + 2*a*c - 4*a">>) outs(tensor<f32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %a = kernel.load %in["2*b*c*r - 4*b*r + 2*c*r - 4*r + c*i - 2*i + j"] : <f32> -> f32
    %b = kernel.reduce add %a over ["r", "i", "j"] : f32
    kernel.store %b, %out["0"] : f32, <f32>
  }
  return
}
