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
  return
}
