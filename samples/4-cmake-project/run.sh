#!/bin/bash
# Lesson 4: a CMake project with models in it. INSTALLED is where `cmake --install` put lathe; without it the build is installed into a
# temporary folder first.
. "$(dirname "$0")/../common.sh"
build=$(dirname "$(dirname "$lathe")")
installed=${INSTALLED:-$out/installed}
[ -n "${INSTALLED:-}" ] || cmake --install "$build" --prefix "$installed" > "$out/install.log"
cmake -S "$samples/4-cmake-project" -B "$out/project" -G Ninja -DCMAKE_C_COMPILER="${CC:-clang-19}" -DCMAKE_PREFIX_PATH="$installed" > "$out/configure.log"
cmake --build "$out/project" > "$out/build.log" || { cat "$out/build.log"; exit 1; }
cmake --build "$out/project" | grep -q "no work to do" || { echo "a second build does something"; exit 1; }
"$out/project/two_models" | tee "$out/result.txt"
"$out/project/classify" > "$out/shared.txt"

# The third line and the shared object's first: the same picture through ONNX Runtime (lesson 2).
for line in "$(sed -n 3p "$out/result.txt")" "$(head -1 "$out/shared.txt")"; do
  echo "$line $(head -1 "$samples/2-from-c/expected.txt")" | awk '
    { for (i = 1; i <= 10; ++i) if (NF != 20 || $i - $(i + 10) > 2e-5 || $(i + 10) - $i > 2e-5) { print "line " NR ": " $i " is not " $(i + 10); exit 1 } }'
done
echo "as expected"
