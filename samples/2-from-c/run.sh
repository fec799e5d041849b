#!/bin/bash
# Lesson 2: a C program with a model inside.
. "$(dirname "$0")/../common.sh"
here=$samples/2-from-c
"$lathe" compile "$models/tiny_cnn.onnx" -o "$out/tiny_cnn.so"
"${CC:-clang-19}" -std=c11 -Wall -Wextra -I "$samples/../include" "$here/main.c" "$out/tiny_cnn.so" -o "$out/classify"
"$out/classify" | tee "$out/result.txt"

# expected.txt: the same pictures through ONNX Runtime (expected.py).
paste -d ' ' "$out/result.txt" "$here/expected.txt" | awk '
  function differ(a, b) { return a !~ /^[0-9]+\.[0-9]+$/ || a - b > 2e-5 || b - a > 2e-5 }
  NF != 20 { print "line " NR ": expected 10 probabilities"; bad = 1 }
  { for (i = 1; i <= 10; ++i) if (differ($i, $(i + 10))) { print "line " NR ": " $i " is not " $(i + 10); bad = 1 } }
  END { if (!bad && NR == 3) print "as expected"; exit bad || NR != 3 }'
