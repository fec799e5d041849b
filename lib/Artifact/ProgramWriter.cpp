//===- ProgramWriter.cpp - The steps of a program as tables ----------------===//
//
// Sizes that are known at the entry are evaluated there, once per shape. The others are evaluated in front of the step
// that needs them, each time that it is reached: what was computed before a label, or before a symbol changed, is
// computed anew.
//
//===----------------------------------------------------------------------===//
#include "ProgramWriter.h"

using namespace llvm;
using namespace lathe;
using namespace lathe::artifact;

static Error fail(const Twine &message) { return createStringError(inconvertibleErrorCode(), message); }

Expected<LatheCheck> artifact::writeCheck(const CheckInfo &check, SizeTable &sizes, Blob &blob) {
  Expected<uint32_t> a = sizes.slotOf(check.a);
  if (!a)
    return a.takeError();
  Expected<uint32_t> b = sizes.slotOf(check.b);
  if (!b)
    return b.takeError();
  return LatheCheck{uint32_t(check.kind), *a, *b, check.ofValues ? LATHE_CHECK_VALUES : 0, blob.text(check.text)};
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

Error ProgramWriter::evaluateEarly() {
  auto evaluate = [&](const shape::Expr &e) {
    return late->isLate(e) ? Error::success() : sizes->slotOf(e).takeError();
  };
  for (const Program::Buffer &buffer : program->buffers)
    if (Error error = evaluate(buffer.bytes))
      return error;
  for (const Program::Step &step : program->steps)
    for (const shape::Expr &size : step.sizes)
      if (Error error = evaluate(size))
        return error;
  for (const TensorInfo &output : owner->outputs)
    for (const shape::Expr &dim : output.dims)
      if (Error error = evaluate(dim))
        return error;
  for (const auto &[index, dims] : owner->stateDims)
    for (const shape::Expr &dim : dims)
      if (Error error = evaluate(dim))
        return error;
  return Error::success();
}

void ProgramWriter::forget() { sizes->restore(entry); }

/// The slot of a late symbol: the model's, or one of the program's own.
uint32_t ProgramWriter::symbolSlot(const std::string &name) {
  std::optional<uint32_t> slot = sizes->slotOfDefined(name);
  if (!slot) {
    slot = sizes->newSlot();
    sizes->define(name, *slot);
    entry.symbols[name] = *slot;
  }
  return *slot;
}

/// A step that runs the instructions that were added since the last one.
void ProgramWriter::flushInstructions() {
  if (sizes->instrs.size() == flushed)
    return;
  steps.push_back(
      {LATHE_STEP_EVAL, uint32_t(flushed), uint32_t(sizes->instrs.size() - flushed), LATHE_STEP_DYNAMIC, {}, {}});
  flushed = sizes->instrs.size();
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

Error ProgramWriter::writeBuffers() {
  for (const Program::Buffer &buffer : program->buffers) {
    Expected<uint32_t> bytes = sizes->slotOf(late->isLate(buffer.bytes) ? shape::Expr(0) : buffer.bytes);
    if (!bytes)
      return bytes.takeError();
    LatheBuffer out = {uint32_t(buffer.kind), buffer.index, *bytes, LATHE_NONE, 0, buffer.dtype, buffer.offset};
    size_t limit = buffer.kind == LATHE_BUFFER_INPUT    ? owner->inputs.size()
                   : buffer.kind == LATHE_BUFFER_OUTPUT ? owner->outputs.size()
                   : buffer.kind == LATHE_BUFFER_CONST  ? state->constants.size()
                   : buffer.kind == LATHE_BUFFER_STATE  ? state->states.size()
                   : buffer.kind == LATHE_BUFFER_VIEW   ? buffers.size()
                                                        : size_t(LATHE_NONE);
    if (buffer.index >= limit)
      return fail("buffer " + Twine(buffers.size()) + " refers to number " + Twine(buffer.index) + " of " +
                  Twine(limit));
    if (buffer.kind == LATHE_BUFFER_INPUT)
      out.dtype = owner->inputs[buffer.index].dtype;
    else if (buffer.kind == LATHE_BUFFER_OUTPUT)
      out.dtype = owner->outputs[buffer.index].dtype;
    else if (buffer.kind == LATHE_BUFFER_STATE)
      out.dtype = state->states[buffer.index].tensor.dtype;
    else if (buffer.kind == LATHE_BUFFER_CONST)
      out.offset = buffer.index < data->offsets.size() ? data->offsets[buffer.index] : 0;
    buffers.push_back(out);
  }
  return Error::success();
}

void ProgramWriter::touch(BufferId id, uint32_t step) {
  for (; buffers[id].kind == LATHE_BUFFER_VIEW; id = buffers[id].index)
    ;
  if (buffers[id].firstStep == LATHE_NONE)
    buffers[id].firstStep = step;
  buffers[id].lastStep = step;
}

bool ProgramWriter::isDynamic(BufferId id) const {
  for (; buffers[id].kind == LATHE_BUFFER_VIEW; id = buffers[id].index)
    ;
  if (buffers[id].kind == LATHE_BUFFER_OUTPUT)
    return llvm::any_of(owner->outputs[buffers[id].index].dims, [&](const shape::Expr &e) { return late->isLate(e); });
  return buffers[id].kind == LATHE_BUFFER_DYNAMIC;
}

/// What is there before a loop and used in it lives until the loop ends; jumps learn which step they go to.
void ProgramWriter::finishLoops() {
  for (uint32_t i = 0; i < steps.size(); ++i) {
    if (steps[i].kind != LATHE_STEP_JUMP && steps[i].kind != LATHE_STEP_BRANCH)
      continue;
    steps[i].target = labels[steps[i].target];
    for (LatheBuffer &b : buffers) // back to an earlier step
      if (steps[i].target <= i && b.firstStep != LATHE_NONE && b.firstStep < steps[i].target &&
          b.lastStep >= steps[i].target)
        b.lastStep = std::max(b.lastStep, i);
  }
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void ProgramWriter::push(LatheStepKind kind, uint32_t target, ArrayRef<BufferId> ids, ArrayRef<uint32_t> slots,
                         Blob *blob, bool dynamic) {
  flushInstructions();
  for (BufferId id : ids)
    touch(id, steps.size());
  steps.push_back(
      {uint32_t(kind), target, 0, dynamic ? LATHE_STEP_DYNAMIC : 0, blob->array(ids.vec()), blob->array(slots.vec())});
}

/// Checks of the model that a symbol's new value completes, and the symbol's range.
Error ProgramWriter::writeLateChecks(const std::vector<std::string> &defined, Blob &blob) {
  std::vector<CheckInfo> due;
  available.insert(defined.begin(), defined.end());
  for (const std::string &name : defined) {
    auto info = lateInfo.find(name);
    if (info == lateInfo.end())
      continue;
    shape::Expr value = shape::Expr::symbol(name);
    if (info->second->min != INT64_MIN)
      due.push_back(
          {LATHE_CHECK_LE, info->second->min, value, std::to_string(info->second->min) + " <= " + name, true});
    if (info->second->max != INT64_MAX)
      due.push_back(
          {LATHE_CHECK_LE, value, info->second->max, name + " <= " + std::to_string(info->second->max), true});
  }
  for (const CheckInfo &check : owner->checks) {
    std::set<std::string> roots = late->rootsOf(check.a), more = late->rootsOf(check.b);
    roots.insert(more.begin(), more.end());
    bool complete = llvm::all_of(roots, [&](const std::string &r) { return available.count(r) != 0; });
    if (complete && llvm::any_of(defined, [&](const std::string &d) { return roots.count(d) != 0; }))
      due.push_back(check);
  }
  for (const CheckInfo &check : due) {
    Expected<LatheCheck> written = writeCheck(check, *sizes, blob);
    if (!written)
      return written.takeError();
    push(LATHE_STEP_CHECK, checks->size(), {}, {}, &blob, true);
    checks->push_back(*written);
  }
  return Error::success();
}

/// A read or an assignment: values for symbols.
Error ProgramWriter::writeDefinition(const Program::Step &step, Blob &blob) {
  std::vector<uint32_t> from, to;
  for (const shape::Expr &value : step.sizes) {
    Expected<uint32_t> slot = sizes->slotOf(value);
    if (!slot)
      return slot.takeError();
    from.push_back(*slot);
  }
  for (const std::string &name : step.defines)
    to.push_back(symbolSlot(name));
  if (step.kind == LATHE_STEP_READ) {
    push(LATHE_STEP_READ, 0, step.buffers, {to[0], from[0]}, &blob, true);
  } else { // all at once: the new values may depend on the old ones
    for (uint32_t &slot : from) {
      uint32_t copy = sizes->newSlot();
      sizes->emit(LATHE_INSTR_COPY, copy, slot);
      slot = copy;
    }
    for (size_t i = 0; i < to.size(); ++i)
      sizes->emit(LATHE_INSTR_COPY, to[i], from[i]);
    flushInstructions();
  }
  forget();
  return step.target ? writeLateChecks(step.defines, blob) : Error::success();
}

Error ProgramWriter::writeStep(const Program::Step &step, Blob &blob) {
  if (step.kind == Program::LabelStep) {
    for (BufferId id : step.buffers)
      touch(id, steps.empty() ? 0 : steps.size() - 1);
    labels[step.target] = steps.size();
    forget();
    return Error::success();
  }
  if (step.kind == Program::VerifyStep)
    return writeLateChecks(step.defines, blob);
  if (step.kind == LATHE_STEP_KERNEL && step.target >= state->kernels.size())
    return fail("step " + Twine(steps.size()) + " runs a kernel that was not added");
  if (step.kind == LATHE_STEP_CHECK) {
    Expected<LatheCheck> check =
        writeCheck({LatheCheckKind(step.target), step.sizes[0], step.sizes[1], step.fn, true}, *sizes, blob);
    if (!check)
      return check.takeError();
    push(LATHE_STEP_CHECK, checks->size(), {}, {}, &blob, true);
    checks->push_back(*check);
    return Error::success();
  }
  bool dynamic = step.kind == LATHE_STEP_JUMP || step.kind == LATHE_STEP_BRANCH || step.kind == LATHE_STEP_ALLOC ||
                 step.kind == LATHE_STEP_GROW || step.kind == LATHE_STEP_SWAP;
  for (BufferId id : step.buffers) {
    if (id >= buffers.size())
      return fail("step " + Twine(steps.size()) + " uses a buffer that was not added");
    dynamic |= isDynamic(id);
  }
  if (!step.defines.empty())
    return writeDefinition(step, blob);
  std::vector<uint32_t> slots;
  for (const shape::Expr &size : step.sizes) {
    dynamic |= late->isLate(size);
    Expected<uint32_t> slot = sizes->slotOf(size);
    if (!slot)
      return slot.takeError();
    slots.push_back(*slot);
  }
  push(step.kind, step.fn.empty() ? step.target : functions->indexOf(step.fn), step.buffers, slots, &blob, dynamic);
  if (step.conditional)
    steps.back().flags |= LATHE_STEP_CONDITIONAL;
  return Error::success();
}

Error ProgramWriter::evaluateOutputs() {
  for (const TensorInfo &output : owner->outputs)
    for (const shape::Expr &dim : output.dims)
      if (Expected<uint32_t> slot = sizes->slotOf(dim); !slot)
        return slot.takeError();
  flushInstructions();
  return Error::success();
}

Expected<LatheProgram> ProgramWriter::write(Blob &blob) {
  if (Error error = writeBuffers())
    return error;
  flushed = sizes->instrs.size();
  entry = sizes->known();
  for (const SymbolInfo &symbol : owner->symbols)
    if (symbol.late)
      lateInfo[symbol.name] = &symbol;
  for (const Program::Step &step : program->steps)
    if (Error error = writeStep(step, blob))
      return error;
  if (Error error = evaluateOutputs())
    return error;
  finishLoops();
  return LatheProgram{program->deviceType, 0, blob.array(buffers), blob.array(steps)};
}
