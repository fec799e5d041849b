//===- ArtifactBuilder.cpp - Collecting an artifact's parts ----------------===//
#include "lathe/Artifact/ArtifactBuilder.h"
#include "State.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace lathe;
using namespace lathe::artifact;

/// Bytes of a mapped file are read from the disk, or at least mapped in, when they are touched: here, by the thread that makes the piece.
static void touch(ArrayRef<char> bytes) {
  constexpr size_t pageBytes = 4096;
  for (size_t i = 0; i < bytes.size(); i += pageBytes)
    (void)*static_cast<const volatile char *>(&bytes[i]);
}

ByteSource ByteSource::borrow(ArrayRef<char> bytes) {
  return {bytes.size(), divideCeil(bytes.size(), pieceBytes), [bytes](uint64_t piece, SmallVectorImpl<char> &) {
            ArrayRef<char> rest = bytes.drop_front(piece * pieceBytes), mine = rest.take_front(pieceBytes);
            touch(mine);
            return mine;
          }};
}

ByteSource ByteSource::own(std::string bytes) {
  auto held = std::make_shared<std::string>(std::move(bytes));
  ByteSource borrowed = borrow(ArrayRef<char>(held->data(), held->size()));
  auto make = [held, make = std::move(borrowed.make)](uint64_t piece, SmallVectorImpl<char> &scratch) { return make(piece, scratch); };
  return {borrowed.size, borrowed.pieces, std::move(make)};
}

//===----------------------------------------------------------------------===//
// Program
//===----------------------------------------------------------------------===//

BufferId Program::add(LatheBufferKind kind, uint32_t index, LatheDType type, const shape::Expr &bytes,
                      uint64_t offset) {
  buffers.push_back({kind, index, type, bytes, offset});
  return buffers.size() - 1;
}

BufferId Program::input(unsigned index) {
  auto [it, isNew] = known.try_emplace({LATHE_BUFFER_INPUT, index}, 0);
  return isNew ? it->second = add(LATHE_BUFFER_INPUT, index, LatheDType{}, 0, 0) : it->second;
}

BufferId Program::output(unsigned index) {
  auto [it, isNew] = known.try_emplace({LATHE_BUFFER_OUTPUT, index}, 0);
  return isNew ? it->second = add(LATHE_BUFFER_OUTPUT, index, LatheDType{}, 0, 0) : it->second;
}

BufferId Program::state(unsigned index) {
  auto [it, isNew] = known.try_emplace({LATHE_BUFFER_STATE, index}, 0);
  return isNew ? it->second = add(LATHE_BUFFER_STATE, index, LatheDType{}, 0, 0) : it->second;
}

BufferId Program::temp(LatheDType type, const shape::Expr &bytes) { return add(LATHE_BUFFER_TEMP, 0, type, bytes, 0); }

BufferId Program::constant(LatheDType type, ConstantId constant) {
  auto [it, isNew] = known.try_emplace({LATHE_BUFFER_CONST, constant}, 0);
  return isNew ? it->second = add(LATHE_BUFFER_CONST, constant, type, 0, 0) : it->second;
}

BufferId Program::view(LatheDType type, BufferId of, const shape::Expr &bytes, uint64_t offset) {
  return add(LATHE_BUFFER_VIEW, of, type, bytes, offset);
}

void Program::kernel(KernelId kernel, ArrayRef<BufferId> operandsThenResults, ArrayRef<shape::Expr> sizes, const std::optional<shape::Expr> &when) {
  steps.push_back({LATHE_STEP_KERNEL, kernel, operandsThenResults.vec(), sizes.vec(), {}});
  steps.back().conditional = when.has_value();
  if (when)
    steps.back().sizes.push_back(*when);
}

void Program::copy(BufferId from, BufferId to, const shape::Expr &bytes) {
  steps.push_back({LATHE_STEP_COPY, 0, {from, to}, {bytes}, {}});
}

void Program::call(StringRef fn, ArrayRef<BufferId> buffers, ArrayRef<shape::Expr> sizes) {
  steps.push_back({LATHE_STEP_CALL, 0, buffers.vec(), sizes.vec(), fn.str()});
}

BufferId Program::dynamic(LatheDType type) { return add(LATHE_BUFFER_DYNAMIC, 0, type, 0, 0); }

void Program::allocate(BufferId buffer, const shape::Expr &bytes) {
  steps.push_back({LATHE_STEP_ALLOC, 0, {buffer}, {bytes}, {}});
}

void Program::grow(BufferId buffer, const shape::Expr &bytes) {
  steps.push_back({LATHE_STEP_GROW, 0, {buffer}, {bytes}, {}});
}

void Program::swap(BufferId a, BufferId b) { steps.push_back({LATHE_STEP_SWAP, 0, {a, b}, {}, {}}); }

void Program::copyPart(BufferId from, BufferId to, const shape::Expr &bytes, const shape::Expr &offsetInTo) {
  steps.push_back({LATHE_STEP_COPY, 0, {from, to}, {bytes, offsetInTo}, {}});
}

void Program::read(BufferId from, int64_t element, StringRef symbol) {
  steps.push_back({LATHE_STEP_READ, 1, {from}, {shape::Expr(element)}, {}, {symbol.str()}});
}

void Program::assign(ArrayRef<std::pair<std::string, shape::Expr>> values, bool checked) {
  if (values.empty())
    return;
  Step step{LATHE_STEP_EVAL, checked, {}, {}, {}};
  for (const auto &[symbol, value] : values) {
    step.defines.push_back(symbol);
    step.sizes.push_back(value);
  }
  steps.push_back(std::move(step));
}

void Program::verify(ArrayRef<std::string> symbols) { steps.push_back({VerifyStep, 0, {}, {}, {}, symbols.vec()}); }

void Program::check(LatheCheckKind kind, const shape::Expr &a, const shape::Expr &b, StringRef says) {
  steps.push_back({LATHE_STEP_CHECK, uint32_t(kind), {}, {a, b}, says.str()});
}

void Program::place(Label label, ArrayRef<BufferId> kept) { steps.push_back({LabelStep, label, kept.vec(), {}, {}}); }
void Program::jump(Label label) { steps.push_back({LATHE_STEP_JUMP, label, {}, {}, {}}); }
void Program::branchIfZero(const shape::Expr &condition, Label label) {
  steps.push_back({LATHE_STEP_BRANCH, label, {}, {condition}, {}});
}

//===----------------------------------------------------------------------===//
// ArtifactBuilder
//===----------------------------------------------------------------------===//

ArtifactBuilder::ArtifactBuilder(Machine machine, std::string modelName, ArrayRef<std::string> entries)
    : state(std::make_unique<State>()) {
  state->machine = machine;
  state->entries.resize(std::max<size_t>(1, entries.size()));
  state->entries[0].name = sys::path::stem(modelName).str();
  for (auto [entry, name] : zip(state->entries, entries))
    entry.name = name;
  state->modelName = std::move(modelName);
}
ArtifactBuilder::~ArtifactBuilder() = default;

void ArtifactBuilder::select(unsigned entry) { state->current = entry; }

void ArtifactBuilder::addSymbol(SymbolInfo symbol) { state->entry().symbols.push_back(std::move(symbol)); }

void ArtifactBuilder::addDerived(StringRef name, const shape::Expr &value) {
  state->entry().derived.push_back({name.str(), value});
}

unsigned ArtifactBuilder::addInput(TensorInfo tensor) {
  state->entry().inputs.push_back(std::move(tensor));
  return state->entry().inputs.size() - 1;
}

unsigned ArtifactBuilder::addOutput(TensorInfo tensor) {
  state->entry().outputs.push_back(std::move(tensor));
  return state->entry().outputs.size() - 1;
}

void ArtifactBuilder::addCheck(LatheCheckKind kind, const shape::Expr &a, const shape::Expr &b, std::string text,
                               bool ofValues) {
  state->entry().checks.push_back({kind, a, b, std::move(text), ofValues});
}

void ArtifactBuilder::addNote(std::string key, std::string value) {
  state->notes.push_back({std::move(key), std::move(value)});
}

ConstantId ArtifactBuilder::addConstant(ByteSource bytes) {
  state->constants.push_back(std::move(bytes));
  return state->constants.size() - 1;
}

void ArtifactBuilder::addObject(std::string bytes) { state->objects.push_back(std::move(bytes)); }

uint32_t ArtifactBuilder::addDeviceImage(uint32_t capability, bool text, std::string bytes) {
  if (text)
    bytes.push_back('\0'); // the driver takes text that ends so
  uint64_t size = bytes.size();
  state->deviceImages.push_back({capability, text, addConstant(ByteSource::own(std::move(bytes))), size});
  return state->deviceImages.size() - 1;
}

uint32_t ArtifactBuilder::addLaunch(std::vector<DeviceVariantInfo> variants) {
  state->launches.push_back(std::move(variants));
  return state->launches.size() - 1;
}

KernelId ArtifactBuilder::addKernel(KernelInfo kernel) {
  state->kernels.push_back(std::move(kernel));
  return state->kernels.size() - 1;
}

Program &ArtifactBuilder::program(uint32_t deviceType) {
  std::vector<std::unique_ptr<Program>> &programs = state->entry().programs;
  for (auto &program : programs)
    if (program->deviceType == deviceType)
      return *program;
  programs.push_back(std::make_unique<Program>());
  programs.back()->deviceType = deviceType;
  return *programs.back();
}
