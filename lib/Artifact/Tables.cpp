//===- Tables.cpp - The blob of Format.h -----------------------------------===//
//
// Writes what a builder holds as tables: a header for each entry point, and what they have in common. Symbols are bound
// from the inputs' dimensions first, in an order in which each can be solved; everything else is computed afterwards,
// each distinct expression once.
//
//===----------------------------------------------------------------------===//
#include "ProgramWriter.h"
#include "State.h"
#include "lathe/Artifact/ElfMachine.h"
#include "lathe/Shape/Facts.h"
#include "lathe/Support/Diagnostics.h"
#include "lathe/Support/Version.h"

using namespace llvm;
using namespace lathe;
using namespace lathe::artifact;

uint32_t FunctionTable::indexOf(StringRef name) {
  auto [it, isNew] = known.try_emplace(name.str(), all.size());
  if (isNew)
    all.push_back(name.str());
  return it->second;
}

//===----------------------------------------------------------------------===//
// Symbols and signature
//===----------------------------------------------------------------------===//

namespace {
/// The sizes, the signature and the programs of one entry point.
class EntryWriter {
public:
  EntryWriter(const EntryInfo &entry, const ArtifactBuilder::State &state, const ConstantLayout &data,
              FunctionTable &functions, Blob &blob)
      : entry(entry), state(state), data(data), functions(functions), blob(blob) {}

  /// Fills in the entry point's part of a header but for its states, of which it tells the dimensions.
  Error write(LatheHeader &out, std::map<uint32_t, std::vector<LatheDim>> &stateDims);

private:
  Error bindSymbols();
  void findLate();
  bool bindOne(const SymbolInfo &symbol, LatheSymbol &out);
  Expected<std::vector<LatheDim>> writeDims(StringRef name, ArrayRef<shape::Expr> dims);
  Expected<LatheArray> writeTensors(ArrayRef<TensorInfo> tensors);
  Error writeEntryChecks();
  Expected<LatheArray> writePrograms();
  Error writeStateDims(std::map<uint32_t, std::vector<LatheDim>> &out);

  const EntryInfo &entry;
  const ArtifactBuilder::State &state;
  const ConstantLayout &data;
  FunctionTable &functions;
  Blob &blob;
  SizeTable sizes;
  shape::Facts facts;
  std::vector<LatheSymbol> symbols;
  LateSymbols late;
  std::map<std::string, shape::Expr> writtenOut; ///< derived symbols, by those that are bound
  std::vector<LatheRead> reads;
  std::vector<LatheCheck> checks; ///< those of the entry, then those of steps
  uint32_t firstRead = 0;         ///< slot of the first of them
  LatheHeader header = {};
};

class TableWriter {
public:
  TableWriter(const ArtifactBuilder::State &state, const ConstantLayout &data, FunctionTable &functions)
      : state(state), data(data), functions(functions) {}

  Expected<std::string> write();

private:
  LatheArray writeStates(ArrayRef<std::map<uint32_t, std::vector<LatheDim>>> dims, unsigned entry);
  LatheArray writeKernels();
  LatheArray writeSchedules();
  LatheArray writeNotes();
  uint32_t writeCuda();
  void writeCommon(MutableArrayRef<LatheHeader> headers);
  LatheArray writeEntries(ArrayRef<LatheHeader> headers);

  const ArtifactBuilder::State &state;
  const ConstantLayout &data;
  FunctionTable &functions;
  Blob blob;
};
} // namespace

/// Solves one input dimension for the symbol; the slot it gets is the next symbol's.
bool EntryWriter::bindOne(const SymbolInfo &symbol, LatheSymbol &out) {
  if (symbol.element) {
    out.input = symbol.element->input;
    out.dim = LATHE_ELEMENT + symbol.element->element;
    sizes.emit(LATHE_INSTR_COPY, symbols.size(), firstRead + reads.size());
    reads.push_back(*symbol.element);
    return true;
  }
  // A dimension that is the symbol itself is the better source: its message is the plainest.
  for (bool exact : {true, false}) {
    uint32_t raw = header.firstRawDim;
    for (uint32_t i = 0; i < entry.inputs.size(); ++i)
      for (uint32_t d = 0; d < entry.inputs[i].dims.size(); ++d, ++raw) {
        const shape::Expr &dim = entry.inputs[i].dims[d];
        out.input = i;
        out.dim = d;
        if (exact) {
          if (dim.asSymbol() != symbol.name)
            continue;
          sizes.emit(LATHE_INSTR_COPY, symbols.size(), raw);
          return true;
        }
        auto linear = dim.linearIn(symbol.name);
        if (!linear || linear->coefficient.isZero() || linear->coefficient.mentions(symbol.name))
          continue;
        bool known = true;
        for (const shape::Expr &part : {linear->coefficient, linear->rest})
          for (const std::string &other : part.symbols())
            known &= sizes.isDefined(other);
        if (!known)
          continue;
        uint32_t rest = cantFail(sizes.slotOf(linear->rest)), coefficient = cantFail(sizes.slotOf(linear->coefficient));
        uint32_t difference = sizes.newSlot();
        sizes.emit(LATHE_INSTR_SUB, difference, raw, rest);
        sizes.emit(LATHE_INSTR_FLOORDIV, symbols.size(), difference, coefficient);
        return true;
      }
  }
  return false;
}

Error EntryWriter::bindSymbols() {
  std::vector<const SymbolInfo *> left;
  uint32_t numReads = 0;
  for (const SymbolInfo &symbol : entry.symbols) {
    left.push_back(&symbol);
    if (symbol.element)
      ++numReads;
    facts.setRange(symbol.name, {symbol.min == INT64_MIN ? std::nullopt : std::optional<int64_t>(symbol.min),
                                 symbol.max == INT64_MAX ? std::nullopt : std::optional<int64_t>(symbol.max)});
  }
  header.numSymbols = left.size();
  header.firstRawDim = left.size();
  sizes.numSlots = left.size();
  for (const TensorInfo &input : entry.inputs)
    sizes.numSlots += input.dims.size();
  firstRead = sizes.numSlots;
  sizes.numSlots += numReads;
  for (size_t tries = 0; !left.empty() && tries < left.size();) {
    const SymbolInfo *symbol = left.front();
    left.erase(left.begin());
    if (symbol->late) { // a step gives it its value
      sizes.define(symbol->name, symbols.size());
      symbols.push_back({blob.text(shape::nameOf(symbol->name)), symbol->min, symbol->max, blob.array(symbol->hints),
                         LATHE_NONE, 0, uint32_t(sizes.instrs.size()), 0});
      continue;
    }
    LatheSymbol out = {blob.text(shape::nameOf(symbol->name)),
                       symbol->min,
                       symbol->max,
                       blob.array(symbol->hints),
                       0,
                       0,
                       uint32_t(sizes.instrs.size()),
                       0};
    if (!bindOne(*symbol, out)) {
      left.push_back(symbol);
      ++tries;
      continue;
    }
    tries = 0;
    out.bindCount = sizes.instrs.size() - out.bindFirst;
    sizes.define(symbol->name, symbols.size());
    symbols.push_back(out);
  }
  if (!left.empty())
    return unsupported("size symbol '{0}' cannot be computed from the inputs' dimensions",
                       shape::nameOf(left.front()->name));
  for (const auto &[name, value] : entry.derived) {
    sizes.define(name, value);
    // Whether it is late is asked of what is evaluated: written out, n/n is 1 of no size, and yet n must be there to divide by.
    late.derived.insert({name, value});
    writtenOut.insert({name, value.substitute(writtenOut)});
  }
  return Error::success();
}

void EntryWriter::findLate() {
  for (const SymbolInfo &symbol : entry.symbols)
    if (symbol.late)
      late.roots.insert(symbol.name);
}

Expected<std::vector<LatheDim>> EntryWriter::writeDims(StringRef name, ArrayRef<shape::Expr> dims) {
  std::vector<LatheDim> out;
  if (dims.size() > LATHE_MAX_RANK)
    return unsupported("tensor '{0}' has rank {1}, at most {2} is possible", name, dims.size(), LATHE_MAX_RANK);
  for (const shape::Expr &dim : dims) {
    Expected<uint32_t> slot = sizes.slotOf(dim);
    if (!slot)
      return slot.takeError();
    shape::Range range = facts.bounds(dim.substitute(writtenOut));
    out.push_back({*slot, 0, blob.text(dim.str()), range.min.value_or(0), range.max.value_or(INT64_MAX)});
  }
  return out;
}

Expected<LatheArray> EntryWriter::writeTensors(ArrayRef<TensorInfo> tensors) {
  std::vector<LatheTensor> out;
  for (const TensorInfo &tensor : tensors) {
    Expected<std::vector<LatheDim>> dims = writeDims(tensor.name, tensor.dims);
    if (!dims)
      return dims.takeError();
    bool dynamic = llvm::any_of(tensor.dims, [&](const shape::Expr &e) { return late.isLate(e); });
    out.push_back({blob.text(tensor.name), tensor.dtype, dynamic ? LATHE_TENSOR_DYNAMIC : 0, blob.array(*dims)});
  }
  return blob.array(out);
}

/// Their sizes follow from the inputs' like those of everything else: a state binds no symbol.
Error EntryWriter::writeStateDims(std::map<uint32_t, std::vector<LatheDim>> &out) {
  for (const auto &[index, dims] : entry.stateDims) {
    StringRef name = state.states[index].tensor.name;
    for (const shape::Expr &dim : dims)
      if (late.isLate(dim))
        return unsupported("state '{0}' has the size {1}, which is known only while the model runs", name, dim.str());
    Expected<std::vector<LatheDim>> written = writeDims(name, dims);
    if (!written)
      return written.takeError();
    out[index] = std::move(*written);
  }
  return Error::success();
}

Error EntryWriter::writeEntryChecks() {
  for (const CheckInfo &check : entry.checks) {
    if (late.isLate(check.a) || late.isLate(check.b))
      continue;
    Expected<LatheCheck> written = writeCheck(check, sizes, blob);
    if (!written)
      return written.takeError();
    checks.push_back(*written);
  }
  return Error::success();
}

Expected<LatheArray> EntryWriter::writePrograms() {
  std::vector<ProgramWriter> writers;
  for (const auto &program : entry.programs)
    writers.emplace_back(*program, entry, state, data, sizes, functions, late, checks);
  for (ProgramWriter &writer : writers)
    if (Error error = writer.evaluateEarly())
      return error;
  header.evalCount = sizes.instrs.size() - header.evalFirst; // what follows is evaluated by steps
  std::vector<LatheProgram> programs;
  for (ProgramWriter &writer : writers) {
    Expected<LatheProgram> written = writer.write(blob);
    if (!written)
      return written.takeError();
    programs.push_back(*written);
  }
  return blob.array(programs);
}

Error EntryWriter::write(LatheHeader &out, std::map<uint32_t, std::vector<LatheDim>> &stateDims) {
  if (Error error = bindSymbols())
    return error;
  findLate();
  header.evalFirst = sizes.instrs.size();
  Expected<LatheArray> inputs = writeTensors(entry.inputs);
  if (!inputs)
    return inputs.takeError();
  if (Error error = writeEntryChecks())
    return error;
  header.entryChecks = checks.size();
  Expected<LatheArray> programs = writePrograms();
  if (!programs)
    return programs.takeError();
  Expected<LatheArray> outputs = writeTensors(entry.outputs);
  if (!outputs)
    return outputs.takeError();
  if (Error error = writeStateDims(stateDims))
    return error;
  header.symbols = blob.array(symbols);
  header.reads = blob.array(reads);
  header.inputs = *inputs;
  header.outputs = *outputs;
  header.checks = blob.array(checks);
  header.programs = *programs;
  header.instrs = blob.array(sizes.instrs);
  header.numSlots = sizes.numSlots;
  out = header;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// What entry points have in common
//===----------------------------------------------------------------------===//

/// All states, in the sizes of the entry point; of one that it does not touch in another's, with no slots.
LatheArray TableWriter::writeStates(ArrayRef<std::map<uint32_t, std::vector<LatheDim>>> dims, unsigned entry) {
  std::vector<LatheState> out;
  for (auto [i, info] : llvm::enumerate(state.states)) {
    std::vector<LatheDim> own;
    if (auto it = dims[entry].find(i); it != dims[entry].end()) {
      own = it->second;
    } else {
      own = llvm::find_if(dims, [&, i = i](const auto &d) { return d.count(i) != 0; })->at(i);
      for (LatheDim &dim : own)
        dim.slot = LATHE_NONE;
    }
    bool placed = info.initial && *info.initial < data.offsets.size();
    out.push_back({LatheTensor{blob.text(info.tensor.name), info.tensor.dtype, 0, blob.array(own)},
                   !info.initial ? LATHE_STATE_ZEROS
                   : placed      ? data.offsets[*info.initial]
                                 : 0});
  }
  return blob.array(out);
}

LatheArray TableWriter::writeKernels() {
  std::vector<LatheKernel> out;
  for (const KernelInfo &kernel : state.kernels) {
    std::vector<LatheVariant> variants;
    for (const VariantInfo &variant : kernel.variants)
      variants.push_back({uint32_t(variant.level), functions.indexOf(variant.fn), functions.indexOf(variant.plan), 0});
    out.push_back({blob.text(kernel.name), blob.text(kernel.kernelClass), blob.texts(kernel.nodes),
                   blob.texts(kernel.unfused), blob.array(variants), kernel.launch, 0});
  }
  return blob.array(out);
}

LatheArray TableWriter::writeSchedules() {
  std::vector<LatheArray> out;
  for (const KernelInfo &kernel : state.kernels)
    out.push_back(blob.texts(kernel.schedules));
  return blob.array(out);
}

uint32_t TableWriter::writeCuda() {
  if (state.launches.empty())
    return 0;
  std::vector<LatheCudaModule> modules;
  for (const DeviceImageInfo &module : state.deviceImages)
    modules.push_back({module.capability, module.text ? 1u : 0u,
                       module.code < data.offsets.size() ? data.offsets[module.code] : 0, module.bytes});
  std::vector<LatheCudaLaunch> launches;
  for (const std::vector<DeviceVariantInfo> &launch : state.launches) {
    std::vector<LatheCudaVariant> variants;
    for (const DeviceVariantInfo &v : launch)
      variants.push_back({v.capability, v.image, blob.texts(v.entries), functions.indexOf(v.plan), 0});
    launches.push_back({blob.array(variants)});
  }
  std::vector<LatheCudaTable> table = {{1, 0, blob.array(modules), blob.array(launches)}};
  return blob.array(table).offset;
}

LatheArray TableWriter::writeNotes() {
  std::vector<std::string> pairs;
  for (const auto &[key, value] : state.notes) {
    pairs.push_back(key);
    pairs.push_back(value);
  }
  return blob.texts(pairs);
}

void TableWriter::writeCommon(MutableArrayRef<LatheHeader> headers) {
  LatheString producer = blob.text(std::string("lathe ") + version()), model = blob.text(state.modelName);
  LatheString external = blob.text(data.externalName);
  LatheArray kernels = writeKernels(), schedules = writeSchedules(), notes = writeNotes();
  uint32_t cuda = writeCuda();
  for (LatheHeader &header : headers) {
    header.machine = elfOf(state.machine).number;
    header.producer = producer;
    header.modelName = model;
    header.externalData = external;
    header.kernels = kernels;
    header.schedules = schedules;
    header.notes = notes;
    header.cuda = cuda;
    header.numFunctions = functions.names().size();
    header.dataBytes = data.bytes;
    header.dataDelta = data.delta;
  }
}

/// The headers behind the first, which is the file's own, and where each entry point's is.
LatheArray TableWriter::writeEntries(ArrayRef<LatheHeader> headers) {
  std::vector<LatheEntry> out;
  for (auto [i, info] : llvm::enumerate(state.entries))
    out.push_back({blob.text(info.name), i ? blob.array(headers.slice(i, 1)).offset : 0, 0});
  return blob.array(out);
}

Expected<std::string> TableWriter::write() {
  std::vector<std::map<uint32_t, std::vector<LatheDim>>> stateDims(state.entries.size());
  std::vector<LatheHeader> headers(state.entries.size());
  for (auto [info, header, dims] : llvm::zip_equal(state.entries, headers, stateDims))
    if (Error error = EntryWriter(info, state, data, functions, blob).write(header, dims))
      return error;
  writeCommon(headers);
  for (auto [i, header] : llvm::enumerate(headers))
    header.states = writeStates(stateDims, i);
  headers[0].entries = writeEntries(headers);
  return blob.finish(headers[0]);
}

Expected<std::string> lathe::artifact::writeTables(const ArtifactBuilder::State &state, const ConstantLayout &data,
                                                   FunctionTable &functions) {
  return TableWriter(state, data, functions).write();
}
