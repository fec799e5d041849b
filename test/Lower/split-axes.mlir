// RUN: lathe-opt %s --lathe-split-axes | FileCheck %s

!row = tensor<?xf32, #lathe.dims<"n">>
!rows = tensor<?xf32, #lathe.dims<"6*n">>

module {
lathe.symbol "n" range [0, -1]

// Five times seven copies: rows of 100 elements.
// CHECK-LABEL: func.func @tile
// CHECK: kernel.generic loop @tile axes(i2 = "5", i3 = "100", i4 = "7", i5 = "100")
// CHECK: kernel.load %{{.*}}["100*i3 + i5"]
// CHECK: kernel.store %{{.*}}["70000*i2 + 700*i3 + 100*i4 + i5"]
func.func @tile(%x: tensor<100x100xf32>) -> tensor<500x700xf32> {
  %0 = kernel.generic loop @tile axes(i0 = "500", i1 = "700") ins(%x : tensor<100x100xf32>) outs(tensor<500x700xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %in["100*mod(i0, 100) + mod(i1, 100)"] : !kernel.ref<f32> -> f32
    kernel.store %1, %out["700*i0 + i1"] : f32, !kernel.ref<f32>
  }
  return %0 : tensor<500x700xf32>
}

// Tiled along rows alone: one copy each.
// CHECK-LABEL: func.func @outer
// CHECK: kernel.generic loop @outer axes(i2 = "5", i3 = "10000")
// CHECK: kernel.load %{{.*}}["i3"]
// CHECK: kernel.store %{{.*}}["10000*i2 + i3"]
func.func @outer(%x: tensor<100x100xf32>) -> tensor<500x100xf32> {
  %0 = kernel.generic loop @outer axes(i0 = "500", i1 = "100") ins(%x : tensor<100x100xf32>) outs(tensor<500x100xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %in["100*mod(i0, 100) + i1"] : !kernel.ref<f32> -> f32
    kernel.store %1, %out["100*i0 + i1"] : f32, !kernel.ref<f32>
  }
  return %0 : tensor<500x100xf32>
}

// Of open length.
// CHECK-LABEL: func.func @open
// CHECK: kernel.generic loop @open axes(i1 = "6", i2 = "n")
// CHECK: kernel.load %{{.*}}["i2"]
// CHECK: kernel.store %{{.*}}["i1*n + i2"]
func.func @open(%x: !row) -> !rows {
  %0 = kernel.generic loop @open axes(i0 = "6*n") ins(%x : !row) outs(!rows) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %in["mod(i0, n)"] : !kernel.ref<f32> -> f32
    kernel.store %1, %out["i0"] : f32, !kernel.ref<f32>
  }
  return %0 : !rows
}

// Quotients of quotients: [4][6][32] read as [6][4][32], in one axis. An index goes along.
// CHECK-LABEL: func.func @nested
// CHECK: kernel.generic loop @nested axes([[A:i[0-9]+]] = "4", [[B:i[0-9]+]] = "6", [[C:i[0-9]+]] = "32")
// CHECK: kernel.index "[[A]]"
// CHECK: kernel.load %{{.*}}["32*[[A]] + 128*[[B]] + [[C]]"]
func.func @nested(%x: tensor<768xf32>) -> tensor<768xf32> {
  %0 = kernel.generic loop @nested axes(i0 = "768") ins(%x : tensor<768xf32>) outs(tensor<768xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.index "floordiv(i0, 192)"
    %2 = arith.sitofp %1 : i64 to f32
    %3 = kernel.load %in["128*mod(floordiv(i0, 32), 6) + 32*floordiv(i0, 192) + mod(i0, 32)"] : !kernel.ref<f32> -> f32
    %4 = arith.addf %2, %3 : f32
    kernel.store %4, %out["i0"] : f32, !kernel.ref<f32>
  }
  return %0 : tensor<768xf32>
}

// A sum over repeated rows takes both parts.
// CHECK-LABEL: func.func @sum
// CHECK: kernel.generic reduction @sum axes(i0 = "8", i2 = "3", i3 = "64")
// CHECK: kernel.load %{{.*}}["64*i0 + i3"]
// CHECK: kernel.reduce add %{{.*}} over ["i2", "i3"]
func.func @sum(%x: tensor<8x64xf32>) -> tensor<8xf32> {
  %0 = kernel.generic reduction @sum axes(i0 = "8", i1 = "192") ins(%x : tensor<8x64xf32>) outs(tensor<8xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %1 = kernel.load %in["64*i0 + mod(i1, 64)"] : !kernel.ref<f32> -> f32
    %2 = kernel.reduce add %1 over ["i1"] : f32
    kernel.store %2, %out["i0"] : f32, !kernel.ref<f32>
  }
  return %0 : tensor<8xf32>
}

// Rows of three are rows, too: lanes run along the axis around them. A divisor that does not divide the extent makes no rows.
// CHECK-LABEL: func.func @left
// CHECK: kernel.generic loop @short axes(i0 = "100", i2 = "20", i3 = "3")
// CHECK: kernel.load %{{.*}}["3*i0 + i3"]
// CHECK: kernel.store %{{.*}}["60*i0 + 3*i2 + i3"]
// CHECK: kernel.generic loop @part axes(i0 = "150")
// CHECK: mod(i0, 100)
func.func @left(%x: tensor<100x3xf32>, %y: tensor<100xf32>) -> (tensor<100x60xf32>, tensor<150xf32>) {
  %0 = kernel.generic loop @short axes(i0 = "100", i1 = "60") ins(%x : tensor<100x3xf32>) outs(tensor<100x60xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %2 = kernel.load %in["3*i0 + mod(i1, 3)"] : !kernel.ref<f32> -> f32
    kernel.store %2, %out["60*i0 + i1"] : f32, !kernel.ref<f32>
  }
  %1 = kernel.generic loop @part axes(i0 = "150") ins(%y : tensor<100xf32>) outs(tensor<150xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %2 = kernel.load %in["mod(i0, 100)"] : !kernel.ref<f32> -> f32
    kernel.store %2, %out["i0"] : f32, !kernel.ref<f32>
  }
  return %0, %1 : tensor<100x60xf32>, tensor<150xf32>
}

// Enlarged by eight, by two, and not at all, along the same axis: no split serves all of them. The axis that is divided by one
// number alone is split, and so is one of thirds.
// CHECK-LABEL: func.func @enlarged
// CHECK: kernel.generic loop @powers axes(i0 = "360", i4 = "8", i2 = "160")
// CHECK: kernel.load %{{.*}}["floordiv(i2, 8) + 20*i0"]
// CHECK: kernel.load %{{.*}}["floordiv(i2, 2) + 640*i0 + 80*i4"]
// CHECK: kernel.generic loop @thirds axes(i0 = "30", i2 = "32", i3 = "3")
func.func @enlarged(%x: tensor<30x12x20xf32>, %y: tensor<30x96x80xf32>, %z: tensor<30x96xf32>) -> (tensor<30x96x160xf32>, tensor<30x96xf32>) {
  %0 = kernel.generic loop @powers axes(i0 = "30", i1 = "96", i2 = "160") ins(%x, %y : tensor<30x12x20xf32>, tensor<30x96x80xf32>) outs(tensor<30x96x160xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %other: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %2 = kernel.load %in["240*i0 + 20*floordiv(i1, 8) + floordiv(i2, 8)"] : !kernel.ref<f32> -> f32
    %3 = kernel.load %other["7680*i0 + 80*i1 + floordiv(i2, 2)"] : !kernel.ref<f32> -> f32
    %4 = arith.addf %2, %3 : f32
    kernel.store %4, %out["15360*i0 + 160*i1 + i2"] : f32, !kernel.ref<f32>
  }
  %1 = kernel.generic loop @thirds axes(i0 = "30", i1 = "96") ins(%z : tensor<30x96xf32>) outs(tensor<30x96xf32>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %2 = kernel.load %in["96*i0 + floordiv(i1, 3)"] : !kernel.ref<f32> -> f32
    %3 = kernel.load %in["96*i0 + i1"] : !kernel.ref<f32> -> f32
    %4 = arith.addf %2, %3 : f32
    kernel.store %4, %out["96*i0 + i1"] : f32, !kernel.ref<f32>
  }
  return %0, %1 : tensor<30x96x160xf32>, tensor<30x96xf32>
}

// Of several numbers that the axis is divided by the largest splits it: blocks that become places and are enlarged then, in whichever order the terms are.
// CHECK-LABEL: func.func @blocks
// CHECK: kernel.generic loop @twice axes(i0 = "30", i2 = "n", i3 = "4")
// CHECK: kernel.load %{{.*}}["{{.*}}floordiv(i3, 2){{.*}}"]
func.func @blocks(%x: tensor<30x2x?xf32, #lathe.dims<"30", "2", "n">>) -> tensor<30x?xf32, #lathe.dims<"30", "4*n">> {
  %0 = kernel.generic loop @twice axes(i0 = "30", i1 = "4*n") ins(%x : tensor<30x2x?xf32, #lathe.dims<"30", "2", "n">>) outs(tensor<30x?xf32, #lathe.dims<"30", "4*n">>) {
  ^bb0(%in: !kernel.ref<f32>, %out: !kernel.ref<f32>):
    %2 = kernel.load %in["2*n*i0 + n*mod(floordiv(i1, 2), 2) + floordiv(i1, 4)"] : !kernel.ref<f32> -> f32
    kernel.store %2, %out["4*n*i0 + i1"] : f32, !kernel.ref<f32>
  }
  return %0 : tensor<30x?xf32, #lathe.dims<"30", "4*n">>
}
}
