!n = tensor<65536xbf16>
func.func @f(%x: !n, %h: tensor<65536xf16>) {
  %halves = kernel.generic loop @halves axes(i = "65536") ins(%x : !n) outs(!n) {
  ^bb0(%in: !kernel.ref<bf16>, %out: !kernel.ref<bf16>):
    %1 = kernel.load %in["i"] : <bf16> -> bf16
    %2 = arith.extf %1 : bf16 to f32
    %3 = math.exp %2 : f32
    %4 = arith.truncf %3 : f32 to bf16
    kernel.store %4, %out["i"] : bf16, <bf16>
  }
  %f16 = kernel.generic loop @of_f16 axes(i = "65536") ins(%h : tensor<65536xf16>) outs(tensor<65536xf16>) {
  ^bb0(%in: !kernel.ref<f16>, %out: !kernel.ref<f16>):
    %1 = kernel.load %in["i"] : <f16> -> f16
    %2 = math.exp %1 : f16
    kernel.store %2, %out["i"] : f16, <f16>
  }
  %mixed = kernel.generic loop @mixed axes(i = "65536") ins(%x : !n) outs(tensor<65536xf32>) {
  ^bb0(%in: !kernel.ref<bf16>, %out: !kernel.ref<f32>):
    %1 = kernel.load %in["i"] : <bf16> -> bf16
    %2 = arith.extf %1 : bf16 to f32
    %3 = math.exp %2 : f32
    kernel.store %3, %out["i"] : f32, <f32>
  }
  %normal = kernel.generic loop @normal axes(i = "65536") ins(%x : !n) outs(!n) {
  ^bb0(%in: !kernel.ref<bf16>, %out: !kernel.ref<bf16>):
    %one = arith.constant 1.0 : f32
    %1 = kernel.load %in["i"] : <bf16> -> bf16
    %2 = arith.extf %1 : bf16 to f32
    %3 = math.erf %2 : f32
    %4 = arith.addf %3, %one : f32
    %5 = arith.truncf %4 : f32 to bf16
    kernel.store %5, %out["i"] : bf16, <bf16>
  }
  %normal_f16 = kernel.generic loop @normal_f16 axes(i = "65536") ins(%h : tensor<65536xf16>) outs(tensor<65536xf16>) {
  ^bb0(%in: !kernel.ref<f16>, %out: !kernel.ref<f16>):
    %one = arith.constant 1.0 : f32
    %1 = kernel.load %in["i"] : <f16> -> f16
    %2 = arith.extf %1 : f16 to f32
    %3 = math.erf %2 : f32
    %4 = arith.addf %one, %3 : f32
    %5 = arith.truncf %4 : f32 to f16
    kernel.store %5, %out["i"] : f16, <f16>
  }
  %gelu = kernel.generic loop @gelu axes(i = "65536") ins(%x : !n) outs(!n) {
  ^bb0(%in: !kernel.ref<bf16>, %out: !kernel.ref<bf16>):
    %one = arith.constant 1.0 : f32
    %half = arith.constant 0.5 : f32
    %root = arith.constant 0.707106769 : f32
    %1 = kernel.load %in["i"] : <bf16> -> bf16
    %2 = arith.extf %1 : bf16 to f32
    %3 = arith.mulf %2, %root : f32
    %4 = math.erf %3 : f32
    %5 = arith.addf %4, %one : f32
    %6 = arith.mulf %2, %half : f32
    %7 = arith.mulf %6, %5 : f32
    %8 = arith.truncf %7 : f32 to bf16
    kernel.store %8, %out["i"] : bf16, <bf16>
  }
  %quotients:3 = kernel.generic loop @quotients axes(i = "65536") ins(%x, %x : !n, !n) outs(!n, !n, !n) {
  ^bb0(%in: !kernel.ref<bf16>, %by: !kernel.ref<bf16>, %out: !kernel.ref<bf16>, %ratio: !kernel.ref<bf16>, %root: !kernel.ref<bf16>):
    %1 = kernel.load %in["i"] : <bf16> -> bf16
    %2 = kernel.load %by["65535 - i"] : <bf16> -> bf16
    %3 = arith.divf %1, %2 : bf16
    kernel.store %3, %out["i"] : bf16, <bf16>
    %4 = arith.extf %1 : bf16 to f32
    %5 = arith.extf %2 : bf16 to f32
    %6 = arith.mulf %4, %4 : f32
    %7 = arith.mulf %5, %5 : f32
    %8 = arith.divf %6, %7 : f32
    %9 = arith.truncf %8 : f32 to bf16
    kernel.store %9, %ratio["i"] : bf16, <bf16>
    %10 = arith.addf %6, %7 : f32
    %11 = math.sqrt %10 : f32
    %12 = arith.truncf %11 : f32 to bf16
    kernel.store %12, %root["i"] : bf16, <bf16>
  }
  %whole:2 = kernel.generic loop @whole axes(i = "65536") ins(%x, %x : !n, !n) outs(!n, !n) {
  ^bb0(%in: !kernel.ref<bf16>, %by: !kernel.ref<bf16>, %out: !kernel.ref<bf16>, %root: !kernel.ref<bf16>):
    %1 = kernel.load %in["i"] : <bf16> -> bf16
    %2 = kernel.load %by["65535 - i"] : <bf16> -> bf16
    %3 = arith.extf %1 : bf16 to f32
    %4 = arith.extf %2 : bf16 to f32
    %5 = arith.divf %3, %4 : f32
    %6 = math.floor %5 : f32
    %7 = arith.truncf %6 : f32 to bf16
    kernel.store %7, %out["i"] : bf16, <bf16>
    %8 = math.sqrt %4 : f32
    %9 = math.floor %8 : f32
    %10 = arith.truncf %9 : f32 to bf16
    kernel.store %10, %root["i"] : bf16, <bf16>
  }
  %by_row = kernel.generic loop @by_row axes(i = "256", j = "256") ins(%x, %x : !n, !n) outs(!n) {
  ^bb0(%in: !kernel.ref<bf16>, %by: !kernel.ref<bf16>, %out: !kernel.ref<bf16>):
    %1 = kernel.load %in["256*i + j"] : <bf16> -> bf16
    %2 = kernel.load %by["i"] : <bf16> -> bf16
    %3 = arith.divf %1, %2 : bf16
    kernel.store %3, %out["256*i + j"] : bf16, <bf16>
  }
  %softmax = kernel.generic reduction @softmax axes(i = "256", j = "256") ins(%x : !n) outs(!n) {
  ^bb0(%in: !kernel.ref<bf16>, %out: !kernel.ref<bf16>):
    %1 = kernel.load %in["256*i + j"] : <bf16> -> bf16
    %2 = arith.extf %1 : bf16 to f32
    %3 = kernel.reduce max %2 over ["j"] : f32
    %4 = arith.subf %2, %3 : f32
    %5 = math.exp %4 : f32
    %6 = kernel.reduce add %5 over ["j"] : f32
    %7 = arith.divf %5, %6 : f32
    %8 = arith.truncf %7 : f32 to bf16
    kernel.store %8, %out["256*i + j"] : bf16, <bf16>
  }
  return
}
