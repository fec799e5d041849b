//===- InputsFuzzer.cpp - libFuzzer on what `lathe run` reads --------------===//
//
//   InputsFuzzer [-runs=N] CORPUS [SEEDS]
// Inputs are arrays (.npy) and serialised tensors (.pb); both readers get each. Either may refuse; none may crash or claim
// more bytes than it holds.
//
//===----------------------------------------------------------------------===//

#include "NpyFile.h"
#include "TensorProto.h"
#include <numeric>

using namespace lathe::tool;

/// Reads every byte that the tensor claims to have.
static void touch(llvm::Expected<HostTensor> tensor) {
  if (!tensor)
    return llvm::consumeError(tensor.takeError());
  llvm::ArrayRef<char> bytes(tensor->data(), tensor->bytes());
  volatile int sum = std::accumulate(bytes.begin(), bytes.end(), 0);
  (void)sum;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  touch(parseNpy(bytes, "fuzz.npy"));
  touch(parseTensorProto(bytes, "fuzz.pb"));
  return 0;
}
