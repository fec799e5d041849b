// Every function of one kernel reaches an instruction or libdevice, on both architectures and for all types of floats.
// RUN: lathe-cuda %s --kernel=f32 --sm=90 --emit=ptx | FileCheck %s --check-prefix=PTX
// RUN: lathe-cuda %s --kernel=f32 --sm=75 --emit=ptx | FileCheck %s --check-prefix=PTX
// RUN: lathe-cuda %s --kernel=f64 --sm=90 --emit=ptx | FileCheck %s --check-prefix=DOUBLE
// RUN: lathe-cuda %s --kernel=f64 --sm=75 --emit=ptx | FileCheck %s --check-prefix=DOUBLE
// RUN: lathe-cuda %s --kernel=halves --sm=90 --emit=cubin -o %t
// RUN: lathe-cuda %s --kernel=halves --sm=75 --emit=cubin -o %t
// RUN: lathe-cuda %s --kernel=integers --sm=90 --emit=ptx | FileCheck %s --check-prefix=INTEGERS
// RUN: lathe-cuda %s --kernel=integers --sm=75 --emit=cubin -o %t
// REQUIRES: ptxas

// PTX: .visible .entry
// PTX-DAG: sqrt.rn.f32
// PTX-DAG: cvt.rni.f32.f32
// PTX-NOT: call
// PTX: ret;
// DOUBLE: .visible .entry
// DOUBLE-DAG: sqrt.rn.f64
// DOUBLE-DAG: cvt.rni.f64.f64
// Powers are squarings and multiplications.
// INTEGERS: .visible .entry
// INTEGERS: mul.lo.s64
// INTEGERS-NOT: call
// INTEGERS: ret;

!n = tensor<?xf32, #lathe.dims<"n">>
func.func @f(%single: !n, %double: tensor<?xf64, #lathe.dims<"n">>, %half: tensor<?xf16, #lathe.dims<"n">>, %whole: tensor<?xi64, #lathe.dims<"n">>) {
  %f32 = kernel.generic loop @f32 axes(i = "n") ins(%single : tensor<?xf32, #lathe.dims<"n">>) outs(tensor<?xf32, #lathe.dims<"n">>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %x = kernel.load %in["i"] : !kernel.ref<f32> -> f32
    %u0 = math.exp %x : f32
    %v0 = arith.addf %x, %u0 : f32
    %u1 = math.exp2 %x : f32
    %v1 = arith.addf %v0, %u1 : f32
    %u2 = math.expm1 %x : f32
    %v2 = arith.addf %v1, %u2 : f32
    %u3 = math.log %x : f32
    %v3 = arith.addf %v2, %u3 : f32
    %u4 = math.log1p %x : f32
    %v4 = arith.addf %v3, %u4 : f32
    %u5 = math.log2 %x : f32
    %v5 = arith.addf %v4, %u5 : f32
    %u6 = math.log10 %x : f32
    %v6 = arith.addf %v5, %u6 : f32
    %u7 = math.sqrt %x : f32
    %v7 = arith.addf %v6, %u7 : f32
    %u8 = math.rsqrt %x : f32
    %v8 = arith.addf %v7, %u8 : f32
    %u9 = math.sin %x : f32
    %v9 = arith.addf %v8, %u9 : f32
    %u10 = math.cos %x : f32
    %v10 = arith.addf %v9, %u10 : f32
    %u11 = math.tan %x : f32
    %v11 = arith.addf %v10, %u11 : f32
    %u12 = math.asin %x : f32
    %v12 = arith.addf %v11, %u12 : f32
    %u13 = math.acos %x : f32
    %v13 = arith.addf %v12, %u13 : f32
    %u14 = math.atan %x : f32
    %v14 = arith.addf %v13, %u14 : f32
    %u15 = math.sinh %x : f32
    %v15 = arith.addf %v14, %u15 : f32
    %u16 = math.cosh %x : f32
    %v16 = arith.addf %v15, %u16 : f32
    %u17 = math.tanh %x : f32
    %v17 = arith.addf %v16, %u17 : f32
    %u18 = math.asinh %x : f32
    %v18 = arith.addf %v17, %u18 : f32
    %u19 = math.acosh %x : f32
    %v19 = arith.addf %v18, %u19 : f32
    %u20 = math.atanh %x : f32
    %v20 = arith.addf %v19, %u20 : f32
    %u21 = math.erf %x : f32
    %v21 = arith.addf %v20, %u21 : f32
    %u22 = math.cbrt %x : f32
    %v22 = arith.addf %v21, %u22 : f32
    %u23 = math.floor %x : f32
    %v23 = arith.addf %v22, %u23 : f32
    %u24 = math.ceil %x : f32
    %v24 = arith.addf %v23, %u24 : f32
    %u25 = math.round %x : f32
    %v25 = arith.addf %v24, %u25 : f32
    %u26 = math.roundeven %x : f32
    %v26 = arith.addf %v25, %u26 : f32
    %u27 = math.trunc %x : f32
    %v27 = arith.addf %v26, %u27 : f32
    %u28 = math.absf %x : f32
    %v28 = arith.addf %v27, %u28 : f32
    %w0 = math.powf %x, %v28 : f32
    %w1 = math.atan2 %x, %w0 : f32
    %w2 = math.copysign %x, %w1 : f32
    %w3 = arith.remf %x, %w2 : f32
    %w4 = arith.maximumf %x, %w3 : f32
    %w5 = arith.minimumf %x, %w4 : f32
    kernel.store %w5, %out["i"] : f32, !kernel.ref<f32>
  }
  %f64 = kernel.generic loop @f64 axes(i = "n") ins(%double : tensor<?xf64, #lathe.dims<"n">>) outs(tensor<?xf64, #lathe.dims<"n">>) {
  ^bb0(%in: !kernel.ref<f64>, %out: !kernel.ref<f64>):
    %x = kernel.load %in["i"] : !kernel.ref<f64> -> f64
    %u0 = math.exp %x : f64
    %v0 = arith.addf %x, %u0 : f64
    %u1 = math.exp2 %x : f64
    %v1 = arith.addf %v0, %u1 : f64
    %u2 = math.expm1 %x : f64
    %v2 = arith.addf %v1, %u2 : f64
    %u3 = math.log %x : f64
    %v3 = arith.addf %v2, %u3 : f64
    %u4 = math.log1p %x : f64
    %v4 = arith.addf %v3, %u4 : f64
    %u5 = math.log2 %x : f64
    %v5 = arith.addf %v4, %u5 : f64
    %u6 = math.log10 %x : f64
    %v6 = arith.addf %v5, %u6 : f64
    %u7 = math.sqrt %x : f64
    %v7 = arith.addf %v6, %u7 : f64
    %u8 = math.rsqrt %x : f64
    %v8 = arith.addf %v7, %u8 : f64
    %u9 = math.sin %x : f64
    %v9 = arith.addf %v8, %u9 : f64
    %u10 = math.cos %x : f64
    %v10 = arith.addf %v9, %u10 : f64
    %u11 = math.tan %x : f64
    %v11 = arith.addf %v10, %u11 : f64
    %u12 = math.asin %x : f64
    %v12 = arith.addf %v11, %u12 : f64
    %u13 = math.acos %x : f64
    %v13 = arith.addf %v12, %u13 : f64
    %u14 = math.atan %x : f64
    %v14 = arith.addf %v13, %u14 : f64
    %u15 = math.sinh %x : f64
    %v15 = arith.addf %v14, %u15 : f64
    %u16 = math.cosh %x : f64
    %v16 = arith.addf %v15, %u16 : f64
    %u17 = math.tanh %x : f64
    %v17 = arith.addf %v16, %u17 : f64
    %u18 = math.asinh %x : f64
    %v18 = arith.addf %v17, %u18 : f64
    %u19 = math.acosh %x : f64
    %v19 = arith.addf %v18, %u19 : f64
    %u20 = math.atanh %x : f64
    %v20 = arith.addf %v19, %u20 : f64
    %u21 = math.erf %x : f64
    %v21 = arith.addf %v20, %u21 : f64
    %u22 = math.cbrt %x : f64
    %v22 = arith.addf %v21, %u22 : f64
    %u23 = math.floor %x : f64
    %v23 = arith.addf %v22, %u23 : f64
    %u24 = math.ceil %x : f64
    %v24 = arith.addf %v23, %u24 : f64
    %u25 = math.round %x : f64
    %v25 = arith.addf %v24, %u25 : f64
    %u26 = math.roundeven %x : f64
    %v26 = arith.addf %v25, %u26 : f64
    %u27 = math.trunc %x : f64
    %v27 = arith.addf %v26, %u27 : f64
    %u28 = math.absf %x : f64
    %v28 = arith.addf %v27, %u28 : f64
    %w0 = math.powf %x, %v28 : f64
    %w1 = math.atan2 %x, %w0 : f64
    %w2 = math.copysign %x, %w1 : f64
    %w3 = arith.remf %x, %w2 : f64
    %w4 = arith.maximumf %x, %w3 : f64
    %w5 = arith.minimumf %x, %w4 : f64
    kernel.store %w5, %out["i"] : f64, !kernel.ref<f64>
  }
  %halves = kernel.generic loop @halves axes(i = "n") ins(%half : tensor<?xf16, #lathe.dims<"n">>) outs(tensor<?xf16, #lathe.dims<"n">>) {
  ^bb0(%in: !kernel.ref<f16>, %out: !kernel.ref<f16>):
    %x = kernel.load %in["i"] : !kernel.ref<f16> -> f16
    %u0 = math.exp %x : f16
    %v0 = arith.addf %x, %u0 : f16
    %u1 = math.exp2 %x : f16
    %v1 = arith.addf %v0, %u1 : f16
    %u2 = math.expm1 %x : f16
    %v2 = arith.addf %v1, %u2 : f16
    %u3 = math.log %x : f16
    %v3 = arith.addf %v2, %u3 : f16
    %u4 = math.log1p %x : f16
    %v4 = arith.addf %v3, %u4 : f16
    %u5 = math.log2 %x : f16
    %v5 = arith.addf %v4, %u5 : f16
    %u6 = math.log10 %x : f16
    %v6 = arith.addf %v5, %u6 : f16
    %u7 = math.sqrt %x : f16
    %v7 = arith.addf %v6, %u7 : f16
    %u8 = math.rsqrt %x : f16
    %v8 = arith.addf %v7, %u8 : f16
    %u9 = math.sin %x : f16
    %v9 = arith.addf %v8, %u9 : f16
    %u10 = math.cos %x : f16
    %v10 = arith.addf %v9, %u10 : f16
    %u11 = math.tan %x : f16
    %v11 = arith.addf %v10, %u11 : f16
    %u12 = math.asin %x : f16
    %v12 = arith.addf %v11, %u12 : f16
    %u13 = math.acos %x : f16
    %v13 = arith.addf %v12, %u13 : f16
    %u14 = math.atan %x : f16
    %v14 = arith.addf %v13, %u14 : f16
    %u15 = math.sinh %x : f16
    %v15 = arith.addf %v14, %u15 : f16
    %u16 = math.cosh %x : f16
    %v16 = arith.addf %v15, %u16 : f16
    %u17 = math.tanh %x : f16
    %v17 = arith.addf %v16, %u17 : f16
    %u18 = math.asinh %x : f16
    %v18 = arith.addf %v17, %u18 : f16
    %u19 = math.acosh %x : f16
    %v19 = arith.addf %v18, %u19 : f16
    %u20 = math.atanh %x : f16
    %v20 = arith.addf %v19, %u20 : f16
    %u21 = math.erf %x : f16
    %v21 = arith.addf %v20, %u21 : f16
    %u22 = math.cbrt %x : f16
    %v22 = arith.addf %v21, %u22 : f16
    %u23 = math.floor %x : f16
    %v23 = arith.addf %v22, %u23 : f16
    %u24 = math.ceil %x : f16
    %v24 = arith.addf %v23, %u24 : f16
    %u25 = math.round %x : f16
    %v25 = arith.addf %v24, %u25 : f16
    %u26 = math.roundeven %x : f16
    %v26 = arith.addf %v25, %u26 : f16
    %u27 = math.trunc %x : f16
    %v27 = arith.addf %v26, %u27 : f16
    %u28 = math.absf %x : f16
    %v28 = arith.addf %v27, %u28 : f16
    %w0 = math.powf %x, %v28 : f16
    %w1 = math.atan2 %x, %w0 : f16
    %w2 = math.copysign %x, %w1 : f16
    %w3 = arith.remf %x, %w2 : f16
    %w4 = arith.maximumf %x, %w3 : f16
    %w5 = arith.minimumf %x, %w4 : f16
    kernel.store %w5, %out["i"] : f16, !kernel.ref<f16>
  }
  %integers = kernel.generic loop @integers axes(i = "n") ins(%whole : tensor<?xi64, #lathe.dims<"n">>) outs(tensor<?xi64, #lathe.dims<"n">>) {
  ^bb0(%in: !kernel.ref<i64>, %out: !kernel.ref<i64>):
    %x = kernel.load %in["i"] : !kernel.ref<i64> -> i64
    %0 = math.ipowi %x, %x : i64
    %1 = math.absi %0 : i64
    %2 = math.ctpop %1 : i64
    %3 = math.ctlz %2 : i64
    %4 = arith.addi %0, %3 : i64
    kernel.store %4, %out["i"] : i64, !kernel.ref<i64>
  }
  return
}
