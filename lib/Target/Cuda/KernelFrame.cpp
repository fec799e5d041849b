//===- KernelFrame.cpp - A device function and its launch plan -------------===//

#include "KernelFrame.h"
#include "lathe/Dialect/Lathe/Lathe.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using shape::Expr;

static Value sizeValue(DeviceBuilder &d, const lower::BodyInfo &info, ArrayRef<Value> sizes, const Expr &e) {
  Value v = lower::emitExpr(d.b, d.loc, e, [&](StringRef name) -> lower::SymbolValue {
    auto it = llvm::find(info.sizes, name);
    return it == info.sizes.end() ? lower::SymbolValue{} : lower::SymbolValue{sizes[it - info.sizes.begin()], 0};
  });
  return v ? v : d.i64(0);
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

PlanFunction::PlanFunction(const lower::BodyInfo &info, ModuleOp module, StringRef name)
    : d(builder, module.getLoc()), builder(module.getBodyRegion()), info(info) {
  MLIRContext *context = module.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {pointer, pointer});
  builder.setInsertionPointToEnd(module.getBody());
  func = builder.create<LLVM::LLVMFuncOp>(d.loc, name, type);
  Block *entry = func.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  for (unsigned i = 0; i < info.sizes.size(); ++i)
    sizes.push_back(d.load(d.i64Type(), d.at(entry->getArgument(0), d.i64(i), d.i64Type()), 8));
}

Value PlanFunction::size(const Expr &e) { return sizeValue(d, info, sizes, e); }

void PlanFunction::set(unsigned word, Value v) {
  d.store(v, d.at(func.getArgument(1), d.i64(word), d.i64Type()), 8);
}

Value PlanFunction::word(unsigned index) {
  return d.load(d.i64Type(), d.at(func.getArgument(1), d.i64(index), d.i64Type()), 8);
}

void PlanFunction::launch(Value entry, Value grid, Value block) {
  set(LATHE_CUDA_ENTRY, entry);
  set(LATHE_CUDA_GRID, grid);
  set(LATHE_CUDA_GRID + 1, 1);
  set(LATHE_CUDA_GRID + 2, 1);
  set(LATHE_CUDA_BLOCK, block);
}

void PlanFunction::follow(Value entry, Value grid, Value block, Value shared) {
  unsigned at = LATHE_CUDA_FOLLOWING0 + LATHE_CUDA_FOLLOWING_WORDS * following++;
  for (auto [i, v] : llvm::enumerate(Values{entry, grid, block, shared ? shared : constant(0)}))
    set(at + i, v);
  set(LATHE_CUDA_FOLLOWING, following);
}

void PlanFunction::dropFollowing(Value condition) {
  for (unsigned i = 0; i < following; ++i) {
    unsigned grid = LATHE_CUDA_FOLLOWING0 + LATHE_CUDA_FOLLOWING_WORDS * i + 1;
    set(grid, d.select(condition, constant(0), word(grid)));
  }
}

/// CUtensorMapDataType.
static int64_t mapType(Type element) {
  if (element.isBF16())
    return 9;
  if (element.isF16())
    return 6;
  return element.isF32() ? 7 : 0;
}

void PlanFunction::addMap(const MapSpec &map) {
  unsigned at = LATHE_CUDA_MAP0 + LATHE_CUDA_MAP_WORDS * maps++;
  set(at + LATHE_CUDA_MAP_BUFFER, map.buffer);
  set(at + LATHE_CUDA_MAP_TYPE, mapType(map.element));
  set(at + LATHE_CUDA_MAP_RANK, map.dims.size());
  set(at + LATHE_CUDA_MAP_SWIZZLE, map.swizzle128 ? 3 : 0);
  for (auto [i, e] : llvm::enumerate(map.dims))
    set(at + LATHE_CUDA_MAP_DIMS + i, size(e));
  for (auto [i, e] : llvm::enumerate(map.strides))
    set(at + LATHE_CUDA_MAP_STRIDES + i, size(e));
  for (auto [i, v] : llvm::enumerate(map.box))
    set(at + LATHE_CUDA_MAP_BOX + i, v);
  set(at + LATHE_CUDA_MAP_WINDOW, map.steps.size());
  set(at + LATHE_CUDA_MAP_OFFSET, 0);
  for (auto [word, values] : {std::pair(LATHE_CUDA_MAP_LOWER, &map.lower), std::pair(LATHE_CUDA_MAP_UPPER, &map.upper),
                              std::pair(LATHE_CUDA_MAP_STEPS, &map.steps)})
    for (auto [i, v] : llvm::enumerate(*values))
      set(at + word + i, v);
  set(LATHE_CUDA_MAPS, maps);
}

Value PlanFunction::holds(const lower::Divisibility &known) {
  Value all = d.i1(true);
  for (const auto &[size, by] : known.conditions())
    all = d.both(all, d.equal(d.rem(this->size(size), by), 0));
  return all;
}

Value PlanFunction::holds(const schedule::Predicate &condition) {
  using arith::CmpIPredicate;
  auto compare = [&](const schedule::Comparison &c) {
    CmpIPredicate how = c.relation == schedule::Relation::Less    ? CmpIPredicate::slt
                        : c.relation == schedule::Relation::Equal ? CmpIPredicate::eq
                                                                  : CmpIPredicate::sle;
    return d.compare(how, size(c.left), size(c.right));
  };
  Value all = d.i1(true);
  for (const schedule::Comparison &c : condition.all())
    all = d.both(all, compare(c));
  return all;
}

void PlanFunction::finish() { builder.create<LLVM::ReturnOp>(d.loc, ValueRange{}); }

void KernelFrame::assume(const schedule::Predicate &condition) {
  for (const auto &[size, value] : condition.equalities())
    for (unsigned i = 0; i < sizes.size(); ++i)
      if (std::optional<int64_t> c = value.constant(); c && info.sizes[i] == size)
        sizes[i] = d.i64(*c);
}

void KernelFrame::narrow(const Expr &size) {
  std::optional<std::string> symbol = size.asSymbol();
  for (unsigned i = 0; symbol && i < sizes.size(); ++i)
    if (info.sizes[i] == *symbol && !getConstantIntValue(sizes[i]))
      sizes[i] = d.wide(d.narrow(sizes[i]));
}

//===----------------------------------------------------------------------===//
// The device function
//===----------------------------------------------------------------------===//

/// What to say of a kernel whose floating-point numbers that it reads, and all that it writes at all, are of 16 bits (`halvesAttr`); null of others.
static Attribute ofHalves(kernel::GenericOp kernel) {
  llvm::SmallSetVector<Type, 2> types;
  for (BlockArgument ref : kernel.getBody().getArguments()) {
    Type t = cast<kernel::RefType>(ref.getType()).getElementType();
    bool isOutput = ref.getArgNumber() >= kernel.getInputs().size();
    if (isa<FloatType>(t) ? t.getIntOrFloatBitWidth() != 16 : isOutput)
      return {};
    if (isa<FloatType>(t))
      types.insert(t);
  }
  return types.size() == 1 ? Attribute(TypeAttr::get(types[0])) : UnitAttr::get(kernel.getContext());
}

KernelFrame::KernelFrame(const lower::BodyInfo &info, ModuleOp module, StringRef name, unsigned threads, unsigned sm,
                         unsigned numMaps, Dependent dependent, std::optional<unsigned> numBuffers)
    : d(builder, module.getLoc()), info(info), module(module), threads(threads), sm(sm), known(info),
      builder(module.getBodyRegion()), dependent(dependent != Dependent::No && schedule::gpuOf(sm).gpu.dependentLaunch) {
  MLIRContext *context = module.getContext();
  unsigned numRefs = numBuffers.value_or(const_cast<lower::BodyInfo &>(info).kernel.getBody().getNumArguments());
  SmallVector<Type> params(numRefs, d.pointer(Global));
  params.append(info.sizes.size(), d.i64Type());
  params.push_back(d.pointer(Global)); // scratch memory: in front of the maps, which launches that follow do not have
  unsigned firstMap = params.size();
  params.append(numMaps, d.pointer(0));
  builder.setInsertionPointToEnd(module.getBody());
  func = builder.create<LLVM::LLVMFuncOp>(d.loc, name,
                                          LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), params));
  func->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), builder.getUnitAttr());
  func->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(), builder.getDenseI32ArrayAttr({int(threads), 1, 1}));
  func->setAttr("nvvm.minctasm", builder.getI32IntegerAttr(1));
  if (Attribute halves = numBuffers ? Attribute() : ofHalves(const_cast<lower::BodyInfo &>(info).kernel))
    func->setAttr(halvesAttr, halves);
  Block *entry = func.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  for (unsigned i = 0; i < numRefs + info.sizes.size(); ++i)
    (i < numRefs ? refs : sizes).push_back(entry->getArgument(i));
  Type raw = LLVM::LLVMArrayType::get(builder.getI8Type(), 128);
  for (unsigned i = firstMap; i < params.size(); ++i) {
    maps.push_back(entry->getArgument(i));
    func.setArgAttr(i, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(raw));
    func.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(), builder.getI64IntegerAttr(64));
    func.setArgAttr(i, NVVM::NVVMDialect::getGridConstantAttrName(), builder.getUnitAttr());
  }
  assumeSizes();
  // The next kernel may start to fill the machine at once, but it reads and writes nothing before this one is done.
  if (this->dependent)
    d.ptx("griddepcontrol.launch_dependents;");
  if (dependent == Dependent::Waits)
    awaitPrevious();
}

KernelFrame::KernelFrame(KernelFrame &outer, const lower::BodyInfo &info, Values refs, StringRef name, Value firstBlock)
    : d(builder, outer.d.loc), info(info), module(outer.module), threads(outer.threads), sm(outer.sm), refs(std::move(refs)), known(info),
      builder(outer.builder), func(outer.func), dependent(outer.dependent), part((name + "_").str()) {
  d.firstBlock = firstBlock;
  for (const std::string &s : info.sizes)
    sizes.push_back(outer.sizes[llvm::find(outer.info.sizes, s) - outer.info.sizes.begin()]);
}

/// A tensor's dimension is not negative: of the two comparisons with a border that leaves one.
void KernelFrame::assumeSizes() {
  kernel::GenericOp kernel = const_cast<lower::BodyInfo &>(info).kernel;
  std::set<std::string> dims;
  auto collect = [&](Value tensor) {
    for (const Expr &e : ir::dimsOf(tensor))
      if (std::optional<std::string> symbol = e.asSymbol())
        dims.insert(*symbol);
  };
  llvm::for_each(kernel.getInputs(), collect);
  llvm::for_each(kernel.getOutputs(), collect);
  for (auto [name, size] : llvm::zip(info.sizes, sizes))
    if (dims.count(name))
      builder.create<LLVM::AssumeOp>(d.loc, d.compare(arith::CmpIPredicate::sge, size, d.i64(0)));
}

void KernelFrame::fitBlocks(unsigned count) { func->setAttr("nvvm.minctasm", builder.getI32IntegerAttr(count)); }

void KernelFrame::awaitPrevious() {
  if (dependent)
    d.ptx("griddepcontrol.wait;");
}

Value KernelFrame::scratch() {
  Value start = func.getBody().front().getArgument(refs.size() + sizes.size());
  return skipped ? d.byteAt(start, skipped) : start;
}

Value KernelFrame::size(const Expr &e) { return sizeValue(d, info, sizes, e); }

Value KernelFrame::sharedArray(StringRef name, Type element, int64_t count, unsigned alignment) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(module.getBody());
  auto type = LLVM::LLVMArrayType::get(element, count);
  auto global = builder.create<LLVM::GlobalOp>(d.loc, type, /*isConstant=*/false, LLVM::Linkage::Internal,
                                               (func.getName() + "_" + part + name).str(), builder.getZeroAttr(builder.getI8Type()),
                                               alignment, unsigned(Shared));
  global.removeValueAttr();
  Block *init = builder.createBlock(&global.getInitializerRegion());
  builder.setInsertionPointToStart(init);
  Value undef = builder.create<LLVM::UndefOp>(d.loc, type);
  builder.create<LLVM::ReturnOp>(d.loc, undef);
  builder.setInsertionPoint(&func.getBody().front(), func.getBody().front().begin());
  return builder.create<LLVM::AddressOfOp>(d.loc, global);
}

Value KernelFrame::constantArray(StringRef name, Type element, int64_t count, ElementsAttr values) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(module.getBody());
  auto global = builder.create<LLVM::GlobalOp>(d.loc, LLVM::LLVMArrayType::get(element, count), /*isConstant=*/true, LLVM::Linkage::Internal,
                                               (func.getName() + "_" + part + name).str(), values, 16, unsigned(Global));
  builder.setInsertionPoint(&func.getBody().front(), func.getBody().front().begin());
  return builder.create<LLVM::AddressOfOp>(d.loc, global);
}

Value KernelFrame::constantPiece(StringRef name, int8_t byte) {
  constexpr int64_t bytes = 16;
  Type element = builder.getI8Type();
  return constantArray(name, element, bytes, DenseElementsAttr::get(RankedTensorType::get({bytes}, element), byte));
}

Value KernelFrame::dynamicShared() {
  constexpr StringRef name = "dynamic_shared";
  auto global = module.lookupSymbol<LLVM::GlobalOp>(name);
  if (!global) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
    global = builder.create<LLVM::GlobalOp>(d.loc, type, false, LLVM::Linkage::External, name, Attribute(), 1024,
                                            unsigned(Shared));
  }
  Value start = builder.create<LLVM::AddressOfOp>(d.loc, global);
  Value bits = builder.create<LLVM::PtrToIntOp>(d.loc, d.i32Type(), start);
  Value aligned = d.bitAnd(d.add(bits, 1023), -1024);
  return builder.create<LLVM::IntToPtrOp>(d.loc, d.pointer(Shared), aligned);
}

void KernelFrame::finish() { builder.create<LLVM::ReturnOp>(d.loc, ValueRange{}); }

Values lathe::cuda::delinearize(DeviceBuilder &d, Value index, ArrayRef<Value> extents) {
  Values out(extents.size());
  for (size_t i = extents.size(); i-- > 1;) {
    // Not as a remainder: an offset that puts the two together again is then seen to be the index.
    Value outer = d.div(index, extents[i]);
    out[i] = d.sub(index, d.mul(outer, extents[i]));
    index = outer;
  }
  if (!extents.empty())
    out[0] = index;
  return out;
}
