#!/bin/bash
# Lesson 5: from PyTorch to one file. Where PyTorch is not there, or too old to export, the programs that it exported before are taken.
. "$(dirname "$0")/../common.sh"
here=$samples/5-pytorch python=${PYTHON:-python3} exported=$samples/models/tiny_decoder
if "$python" -c 'from torch.export import export; from torch.nn.functional import scaled_dot_product_attention' 2>/dev/null; then
  exported=$out
  "$python" "$here/export.py" "$out"
fi
prompt=$(cat "$exported/prompt.txt")
show "$lathe" compile "$exported/prefill.pt2" "$exported/decode.pt2" -o "$out/llm.so"
show "$lathe" inspect "$out/llm.so" | grep -E '^(bytes|entry|size|input|output|state)'

say generate.py "$prompt"
"$python" "$here/generate.py" "$out/llm.so" $prompt | tee "$out/python.txt"
say generate "$prompt"
"${CC:-clang-19}" -std=c11 -Wall -Wextra -I "$samples/../include" "$here/generate.c" "$out/llm.so" -o "$out/generate"
"$out/generate" $prompt | tee "$out/c.txt"

cmp "$out/python.txt" "$exported/expected.txt" && cmp "$out/c.txt" "$exported/expected.txt" && echo "the tokens are PyTorch's"
