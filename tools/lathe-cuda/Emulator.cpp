//===- Emulator.cpp - Runs device code on the CPU --------------------------===//

#include "Emulator.h"
#include "lathe/Support/Diagnostics.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include <cmath>
#include <cstring>
#include <set>
#include <sys/mman.h>
#include <ucontext.h>

using namespace llvm;
using namespace lathe::emulator;

Block *lathe::emulator::block;
uint64_t emulatedSharedBase;

static constexpr size_t stackBytes = 128 * 1024;

namespace {
/// Stacks of threads that are done serve those that come: memory that was written once need not be asked for again.
struct Stacks {
  std::vector<std::unique_ptr<char[]>> free;
  std::unique_ptr<char[]> take() {
    if (free.empty())
      return std::unique_ptr<char[]>(new char[stackBytes]); // not cleared, as std::make_unique's would be
    std::unique_ptr<char[]> stack = std::move(free.back());
    free.pop_back();
    return stack;
  }
};
} // namespace
static Stacks stacks;

Block::~Block() {
  for (Thread &t : all)
    stacks.free.push_back(std::move(t.stack));
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

void Block::leave() { _longjmp(scheduler, 1); }

void Block::wait(function_ref<std::string()> what, function_ref<bool()> ready) {
  while (!ready()) {
    current->waiting = ready;
    current->waitingFor = what;
    if (!_setjmp(current->place))
      leave();
  }
  current->waiting = nullptr;
}

void Meeting::arrive(unsigned place, unsigned count, ArrayRef<uint64_t> own) {
  if (place >= here.size()) {
    here.resize(std::max(32u, place + 1));
    words.resize(here.size());
  }
  arrived += !here[place];
  here[place] = true;
  words[place].assign(own.begin(), own.end());
  if (arrived < count)
    return;
  std::swap(words, last);
  words.resize(last.size());
  for (std::vector<uint64_t> &w : words)
    w.clear();
  here.assign(here.size(), false);
  arrived = 0;
  ++round;
}

const Meeting::Words &Block::meet(std::string_view what, unsigned which, unsigned place, unsigned count, ArrayRef<uint64_t> own) {
  Meeting &m = meetings[{what, which}];
  unsigned round = m.round;
  m.arrive(place, count, own);
  wait([&] { return std::string(what) + " " + std::to_string(which); }, [&] { return m.round != round; });
  return m.last;
}

const Meeting::Words &Block::meetWarp(std::string_view what, ArrayRef<uint64_t> own, unsigned lanes) {
  return meet(what, current->id / 32, current->id % 32, lanes, own);
}

bool Block::isDone() const {
  return llvm::all_of(all, [](const Thread &t) { return t.done; });
}

static void threadMain();

/// A function of its own: nothing here changes between the two returns of _setjmp.
void Block::resume(Thread &t) {
  current = &t;
  if (_setjmp(scheduler))
    return;
  if (t.begun)
    _longjmp(t.place, 1);
  t.begun = true;
  ucontext_t entry;
  getcontext(&entry);
  entry.uc_stack.ss_sp = t.stack.get();
  entry.uc_stack.ss_size = stackBytes;
  entry.uc_link = nullptr;
  makecontext(&entry, threadMain, 0);
  setcontext(&entry);
}

static bool isRunnable(const Thread &t) { return !t.done && (!t.waiting || t.waiting()); }

bool Block::canGoOn() const { return llvm::any_of(all, isRunnable); }

bool Block::round() {
  bool progress = false;
  for (Thread &t : all) {
    if (!isRunnable(t))
      continue;
    progress = true;
    resume(t);
  }
  return progress;
}

static std::string deadlockOf(const Block &b) {
  std::set<std::string> reasons;
  for (const Thread &t : b.all)
    if (!t.done)
      reasons.insert(t.waitingFor());
  std::string text = "deadlock in block " + std::to_string(b.index[0]) + ":";
  for (const std::string &r : reasons)
    text += " [" + r + "]";
  return text;
}

/// Round robin until all threads are done; a round without progress is a deadlock.
void Block::run() {
  while (!isDone() && failure.empty())
    if (!round())
      failure = deadlockOf(*this);
}

//===----------------------------------------------------------------------===//
// Rewriting for the CPU
//===----------------------------------------------------------------------===//

/// By their text. The code that runs has their addresses.
static std::map<std::string, Semantics> knownInstructions;

static const Semantics &known(const std::string &text) {
  Semantics &instruction = knownInstructions[text];
  if (!instruction)
    instruction = instructionFor(text);
  if (!instruction)
    instruction = [text](const uint64_t *, uint64_t *) {
      if (block->failure.empty())
        block->failure = "no emulation of '" + text + "'";
    };
  return instruction;
}

/// Called by rewritten code.
extern "C" void lathe_emulate_instruction(const Semantics *instruction, const uint64_t *args, uint64_t *results) {
  (*instruction)(args, results);
}

static uint16_t roundToBFloat(float f) {
  uint32_t bits = uint32_t(fromFloat(f));
  if ((bits & 0x7fffffff) > 0x7f800000)
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// What code for CPUs without conversions to bfloat16 calls: the result is returned as a floating-point number is, in a vector register.
extern "C" __bf16 lathe_round_to_bfloat(float f) {
  uint16_t bits = roundToBFloat(f);
  __bf16 result;
  std::memcpy(&result, &bits, sizeof bits);
  return result;
}

/// Rounded to odd on the way through f32, so that it is rounded to nearest once.
extern "C" __bf16 lathe_round_double_to_bfloat(double x) {
  float f = float(x);
  if (double(f) != x && f == f && !(fromFloat(f) & 1))
    f = asFloat(fromFloat(f) + (std::fabs(double(f)) < std::fabs(x) ? 1 : -1));
  return lathe_round_to_bfloat(f);
}

static Value *toWord(IRBuilder<> &b, Value *v) {
  Type *t = v->getType();
  if (t->isPointerTy())
    return b.CreatePtrToInt(v, b.getInt64Ty());
  return b.CreateZExtOrBitCast(b.CreateBitCast(v, b.getIntNTy(t->getPrimitiveSizeInBits())), b.getInt64Ty());
}

static Value *fromWord(IRBuilder<> &b, Value *word, Type *t) {
  if (t->isPointerTy())
    return b.CreateIntToPtr(word, t);
  return b.CreateBitCast(b.CreateTruncOrBitCast(word, b.getIntNTy(t->getPrimitiveSizeInBits())), t);
}

static void replaceCall(CallBase *call, const Semantics &instruction) {
  IRBuilder<> b(call);
  Function *f = call->getFunction();
  IRBuilder<> entry(&f->getEntryBlock(), f->getEntryBlock().begin());
  Type *type = call->getType();
  auto *structure = dyn_cast<StructType>(type);
  unsigned results = type->isVoidTy() ? 0 : structure ? structure->getNumElements() : 1;
  Value *args = entry.CreateAlloca(b.getInt64Ty(), b.getInt32(call->arg_size() + 1));
  Value *out = entry.CreateAlloca(b.getInt64Ty(), b.getInt32(results + 1));
  for (unsigned i = 0; i < call->arg_size(); ++i)
    if (!call->getArgOperand(i)->getType()->isMetadataTy())
      b.CreateStore(toWord(b, call->getArgOperand(i)), b.CreateConstGEP1_32(b.getInt64Ty(), args, i));
  // What an instruction does not write keeps the value that is tied to it.
  for (unsigned i = 0; i < std::min<unsigned>(results, call->arg_size()); ++i)
    b.CreateStore(toWord(b, call->getArgOperand(i)), b.CreateConstGEP1_32(b.getInt64Ty(), out, i));
  FunctionCallee callee = f->getParent()->getOrInsertFunction("lathe_emulate_instruction", b.getVoidTy(), b.getPtrTy(),
                                                              b.getPtrTy(), b.getPtrTy());
  b.CreateCall(callee, {fromWord(b, b.getInt64(reinterpret_cast<uint64_t>(&instruction)), b.getPtrTy()), args, out});
  auto result = [&](unsigned i, Type *t) {
    return fromWord(b, b.CreateLoad(b.getInt64Ty(), b.CreateConstGEP1_32(b.getInt64Ty(), out, i)), t);
  };
  if (structure) {
    Value *v = PoisonValue::get(type);
    for (unsigned i = 0; i < results; ++i)
      v = b.CreateInsertValue(v, result(i, structure->getElementType(i)), i);
    call->replaceAllUsesWith(v);
  } else if (results) {
    call->replaceAllUsesWith(result(0, type));
  }
  call->eraseFromParent();
}

/// Drops functions that were inlined.
static void keepEntries(Module &module, const std::set<std::string> &entries) {
  for (Function &f : llvm::make_early_inc_range(module))
    if (!f.isDeclaration() && f.use_empty() && !entries.count(f.getName().str()))
      f.deleteBody();
}

static void rewriteForCpu(Module &module, const DataLayout &layout, StringRef triple) {
  std::vector<std::pair<CallBase *, std::string>> calls;
  for (Function &f : module)
    for (llvm::Instruction &i : instructions(f))
      if (auto *call = dyn_cast<CallBase>(&i)) {
        if (auto *assembly = dyn_cast<InlineAsm>(call->getCalledOperand()))
          calls.push_back({call, assembly->getAsmString()});
        else if (Function *callee = call->getCalledFunction(); callee && callee->getName().starts_with("llvm.nvvm."))
          calls.push_back({call, callee->getName().str()});
      }
  for (auto &[call, text] : calls)
    replaceCall(call, known(text));
  for (Function &f : module) {
    f.setCallingConv(CallingConv::C);
    f.setAttributes(AttributeList());
  }
  if (NamedMDNode *annotations = module.getNamedMetadata("nvvm.annotations"))
    module.eraseNamedMetadata(annotations);
  module.setDataLayout(layout);
  module.setTargetTriple(triple);
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

namespace {
/// A call of the entry point with any number of word arguments: a thunk in the module unpacks them.
using EntryThunk = void (*)(const uint64_t *);
struct Start {
  EntryThunk thunk;
  const uint64_t *words;
};
} // namespace
static Start start;

static void threadMain() {
  start.thunk(start.words);
  block->current->done = true;
  block->leave();
}

static std::string thunkOf(StringRef entry) { return ("lathe_thunk_" + entry).str(); }

static void addThunk(Module &module, Function &entry) {
  IRBuilder<> b(module.getContext());
  auto *type = FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false);
  Function *thunk = Function::Create(type, Function::ExternalLinkage, thunkOf(entry.getName()), module);
  b.SetInsertPoint(BasicBlock::Create(module.getContext(), "", thunk));
  std::vector<Value *> args;
  for (Argument &a : entry.args()) {
    Value *p = b.CreateConstGEP1_32(b.getInt64Ty(), thunk->getArg(0), a.getArgNo());
    args.push_back(fromWord(b, b.CreateLoad(b.getInt64Ty(), p), a.getType()));
  }
  b.CreateCall(&entry, args);
  b.CreateRetVoid();
}

/// The same code on all CPUs: what is called for types that some of them convert themselves is tested wherever the emulator runs.
static void keepToPlainVectors(orc::JITTargetMachineBuilder &machine) {
  if (!machine.getTargetTriple().isX86())
    return;
  StringMap<bool> host = sys::getHostCPUFeatures();
  bool isV3 = host.lookup("avx2") && host.lookup("fma") && host.lookup("f16c") && host.lookup("bmi2");
  machine.setCPU(isV3 ? "x86-64-v3" : "x86-64");
  machine.getFeatures() = llvm::SubtargetFeatures();
}

static Expected<std::unique_ptr<orc::LLJIT>> makeJit() {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  Expected<orc::JITTargetMachineBuilder> machine = orc::JITTargetMachineBuilder::detectHost();
  if (!machine)
    return machine.takeError();
  machine->setCodeGenOptLevel(CodeGenOptLevel::None); // to run it once takes less time than to make it fast
  keepToPlainVectors(*machine);
  auto jit = orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(*machine)).create();
  if (!jit)
    return jit.takeError();
  auto generator = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess((*jit)->getDataLayout().getGlobalPrefix());
  if (!generator)
    return generator.takeError();
  (*jit)->getMainJITDylib().addGenerator(std::move(*generator));
  return jit;
}

/// A block at the start of its threads.
static std::unique_ptr<Block> blockAt(const Launch &launch, unsigned x, unsigned y, unsigned z) {
  auto made = std::make_unique<Block>();
  made->threads = launch.threads;
  made->cluster = launch.cluster;
  unsigned index[] = {x, y, z};
  for (unsigned i = 0; i < 3; ++i) {
    made->index[i] = index[i];
    made->grid[i] = launch.grid[i];
  }
  made->all.resize(launch.threads);
  for (unsigned t = 0; t < launch.threads; ++t) {
    Thread &thread = made->all[t];
    thread.id = t;
    thread.stack = stacks.take();
  }
  return made;
}

Company *lathe::emulator::company;

Company::Company(const Launch &launch, const SharedArrays &arrays, unsigned first, unsigned y, unsigned z, unsigned count)
    : arrays(arrays) {
  size_t bytes = 0;
  for (auto [start, size] : arrays)
    bytes += size;
  kept.assign(count, std::vector<char>(bytes, 0x7f)); // not zero: nothing may rely on it
  for (unsigned x = 0; x < count; ++x)
    blocks.push_back(blockAt(launch, first + x, y, z));
}

bool Company::runOnce(Block &b) {
  block = &b;
  if (!b.canGoOn())
    return false;
  if (present != &b) {
    size_t at = 0;
    for (auto [start, size] : arrays) {
      if (present)
        memcpy(keptOf(*present) + at, start, size);
      memcpy(start, keptOf(b) + at, size);
      at += size;
    }
    present = &b;
  }
  return b.round();
}

llvm::Error Company::run() {
  company = this;
  for (bool progress = true; progress;) {
    progress = false;
    for (auto &b : blocks) {
      progress |= runOnce(*b);
      if (!b->failure.empty())
        return lathe::bug("{0}", b->failure);
    }
  }
  for (auto &b : blocks)
    if (!b->isDone())
      return lathe::bug("{0}", deadlockOf(*b));
  return llvm::Error::success();
}

void Company::meet() {
  unsigned now = phase;
  if (++arrived == blocks.size() * block->threads) {
    arrived = 0;
    ++phase;
  }
  block->wait([] { return std::string("other blocks of the cluster"); }, [&] { return phase != now; });
}

/// The running block's shared memory is in its place, that of the others is set aside.
char *Company::placeOf(uint64_t address, unsigned rank) {
  char *at = reinterpret_cast<char *>(address & 0xffffffff), *aside = kept.at(rank).data();
  if (rank == rankOf(*block))
    return at;
  for (auto [start, size] : arrays) {
    if (at >= start && at < start + size)
      return aside + (at - start);
    aside += size;
  }
  return nullptr;
}

uint64_t Company::read(uint64_t address, unsigned rank) {
  uint64_t word = 0;
  if (const char *at = placeOf(address, rank))
    std::memcpy(&word, at, sizeof word);
  return word;
}

void Company::write(uint64_t address, uint64_t word, unsigned rank) {
  if (char *at = placeOf(address, rank))
    std::memcpy(at, &word, sizeof word);
}

void Company::send(uint64_t address, size_t bytes, unsigned rank) {
  if (char *to = placeOf(address, rank); to && rank != rankOf(*block))
    std::memcpy(to, reinterpret_cast<const char *>(address & 0xffffffff), bytes);
}

static llvm::Error runBlocks(const Launch &launch, const std::vector<uint64_t> &words, EntryThunk thunk, char *shared,
                             const SharedArrays &arrays) {
  start = {thunk, words.data()};
  SharedArrays all = arrays; // of blocks that run at the same time each has its own
  all.push_back({shared, launch.shared});
  if (launch.together)
    return Company(launch, all, 0, 0, 0, launch.grid[0]).run();
  for (unsigned z = 0; z < launch.grid[2]; ++z)
    for (unsigned y = 0; y < launch.grid[1]; ++y)
      for (unsigned x = 0; x < launch.grid[0]; x += launch.cluster) {
        if (launch.cluster > 1) {
          if (llvm::Error e = Company(launch, all, x, y, z, launch.cluster).run())
            return e;
          continue;
        }
        std::unique_ptr<Block> current = blockAt(launch, x, y, z);
        block = current.get();
        memset(shared, 0x7f, launch.shared); // not zero: nothing may rely on it
        current->run();
        if (!current->failure.empty())
          return lathe::bug("{0}", current->failure);
      }
  return llvm::Error::success();
}

/// Of an array in shared memory.
constexpr size_t sharedAlignment = 1024;

/// Names and sizes of the arrays in shared memory, which are defined elsewhere from here on.
static std::vector<std::pair<std::string, size_t>> declareShared(Module &module) {
  std::vector<std::pair<std::string, size_t>> out;
  for (GlobalVariable &v : module.globals())
    if (v.getAddressSpace() == 3 && !v.isDeclaration()) {
      v.setLinkage(GlobalValue::ExternalLinkage);
      v.setInitializer(nullptr);
      v.setDSOLocal(false); // far from the code
      out.push_back({v.getName().str(), module.getDataLayout().getTypeAllocSize(v.getValueType())});
    }
  return out;
}

llvm::Error lathe::emulator::emulate(std::unique_ptr<Module> module, std::unique_ptr<LLVMContext> context,
                                     ArrayRef<Launch> launches) {
  orc::ThreadSafeModule owned(std::move(module), std::move(context)); // whatever fails, the module goes before its context
  Module &m = *owned.getModuleUnlocked();
  auto jit = makeJit();
  if (!jit)
    return jit.takeError();
  for (const Launch &launch : launches)
    if (!m.getFunction(launch.entry))
      return bug("no entry point {0}", launch.entry);
  std::vector<std::pair<std::string, size_t>> arrayNames = declareShared(m);
  std::set<std::string> entries;
  for (const Launch &launch : launches)
    entries.insert(launch.entry);
  keepEntries(m, entries);
  rewriteForCpu(m, (*jit)->getDataLayout(), (*jit)->getTargetTriple().str());
  for (const std::string &entry : entries)
    addThunk(m, *m.getFunction(entry));
  // Shared memory lies low: its addresses are numbers of 32 bits on a GPU, and descriptors hold 18 of them.
  size_t bytes = 256 * 1024, all = 2 * bytes; // of dynamic size, and what aligning takes
  for (auto &[name, size] : arrayNames)
    all += llvm::alignTo(size, sharedAlignment);
  char *shared = static_cast<char *>(
      mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0));
  if (shared == MAP_FAILED)
    return bug("no memory below 4 GB");
  char *mapped = shared;
  shared += (bytes - reinterpret_cast<uint64_t>(shared) % bytes) % bytes;
  emulatedSharedBase = reinterpret_cast<uint64_t>(shared);
  orc::SymbolMap symbols;
  auto define = [&](const char *name, void *address) {
    symbols[(*jit)->mangleAndIntern(name)] = {orc::ExecutorAddr::fromPtr(address), JITSymbolFlags::Exported};
  };
  define("dynamic_shared", shared);
  SharedArrays arrays;
  for (char *next = shared + bytes; auto &[name, size] : arrayNames) {
    define(name.c_str(), next);
    arrays.push_back({next, size});
    next += llvm::alignTo(size, sharedAlignment);
  }
  define("lathe_emulate_instruction", reinterpret_cast<void *>(&lathe_emulate_instruction));
  define("__truncdfbf2", reinterpret_cast<void *>(&lathe_round_double_to_bfloat));
  define("__truncsfbf2", reinterpret_cast<void *>(&lathe_round_to_bfloat));
  if (llvm::Error e = (*jit)->getMainJITDylib().define(orc::absoluteSymbols(symbols)))
    return e;
  if (llvm::Error e = (*jit)->addIRModule(std::move(owned)))
    return e;
  llvm::Error e = llvm::Error::success();
  for (const Launch &launch : launches) {
    auto thunk = (*jit)->lookup(thunkOf(launch.entry));
    if (!thunk)
      return thunk.takeError();
    std::vector<uint64_t> words = launch.arguments;
    words.push_back(launch.scratch);
    for (const TensorMap &map : launch.maps)
      words.push_back(reinterpret_cast<uint64_t>(&map));
    words.push_back(0);
    if (!e)
      e = runBlocks(launch, words, thunk->toPtr<EntryThunk>(), shared, arrays);
  }
  munmap(mapped, all);
  return e;
}

llvm::Error lathe::emulator::runPlan(std::unique_ptr<Module> module, std::unique_ptr<LLVMContext> context,
                                     const std::vector<int64_t> &sizes, std::vector<int64_t> &words) {
  orc::ThreadSafeModule owned(std::move(module), std::move(context));
  auto jit = makeJit();
  if (!jit)
    return jit.takeError();
  owned.getModuleUnlocked()->setDataLayout((*jit)->getDataLayout());
  owned.getModuleUnlocked()->setTargetTriple((*jit)->getTargetTriple().str());
  if (llvm::Error e = (*jit)->addIRModule(std::move(owned)))
    return e;
  auto plan = (*jit)->lookup("plan");
  if (!plan)
    return plan.takeError();
  plan->toPtr<void (*)(const int64_t *, int64_t *)>()(sizes.data(), words.data());
  return llvm::Error::success();
}
