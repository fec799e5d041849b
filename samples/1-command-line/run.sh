#!/bin/bash
# Lesson 1: from a model file to a shared object, and what can be done with it, on the command line.
. "$(dirname "$0")/../common.sh"
cd "$models"
lathe() { say lathe "$@" | sed "s|$out/||g"; "$lathe" "$@"; }

# The model's sizes `batch` and `seq` are open: one artifact serves all of them.
lathe compile tiny_bert.onnx -o "$out/tiny_bert.so"
lathe inspect "$out/tiny_bert.so"

# An npz file holds the inputs as in0, in1, ... and, for --expect, what should come out as out0, out1, ...
for size in 1x1 2x7 3x33; do
  lathe run "$out/tiny_bert.so" --inputs tiny_bert.$size.npz --expect tiny_bert.$size.npz --rtol 1e-4 --atol 1e-4
done

# What a model does not promise is refused, by name.
if lathe compile tiny_bert.onnx --target x86_64:baseline --dim seq=1..16 -o "$out/short.so" && lathe run "$out/short.so" --inputs tiny_bert.3x33.npz; then
  echo "a sequence of 33 was accepted by an artifact for 1..16" >&2
  exit 1
fi

lathe run "$out/tiny_bert.so" --inputs tiny_bert.3x33.npz --bench --duration 0.2
