//===- DeviceBuilder.h - Emitting device code ------------------------------===//
//
// A thin layer over OpBuilder that keeps generators readable: arithmetic, loops and branches as calls that give values, and
// the PTX instructions that no dialect has, through inline assembly. Generators emit llvm, scf, arith and math ops inside an
// llvm.func; integers are i32 inside a block and i64 in global offsets.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_DEVICEBUILDER_H
#define LATHE_LIB_TARGET_CUDA_DEVICEBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

namespace lathe::cuda {

using mlir::Type;
using mlir::Value;
using mlir::ValueRange;
using Values = llvm::SmallVector<Value>;

enum AddressSpace : unsigned { Global = 1, Shared = 3 };

class DeviceBuilder {
public:
  DeviceBuilder(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}
  mlir::OpBuilder &b;
  mlir::Location loc;
  Value firstBlock; ///< from which on blocks are counted (i32); null: the grid's first

  // Types
  Type i1Type() { return b.getI1Type(); }
  Type i32Type() { return b.getI32Type(); }
  Type i64Type() { return b.getI64Type(); }
  Type f32Type() { return b.getF32Type(); }
  Type pointer(unsigned space) { return mlir::LLVM::LLVMPointerType::get(b.getContext(), space); }
  Type vector(int64_t width, Type element) { return width == 1 ? element : mlir::VectorType::get({width}, element); }

  // Constants and integer arithmetic; an operand given as a number takes the other operand's type.
  Value constant(Type type, int64_t v);
  Value i1(bool v) { return constant(i1Type(), v); }
  Value i32(int64_t v) { return constant(i32Type(), v); }
  Value i64(int64_t v) { return constant(i64Type(), v); }
  Value real(Type type, double v);
  Value f32(double v) { return real(f32Type(), v); }
  Value zero(Type type); ///< of numbers of any kind, or a vector of them
  Value add(Value x, Value y);
  Value add(Value x, int64_t y) { return y ? add(x, constant(x.getType(), y)) : x; }
  Value sub(Value x, Value y) { return b.create<mlir::arith::SubIOp>(loc, x, y); }
  Value mul(Value x, Value y);
  Value mul(Value x, int64_t y) { return y == 1 ? x : mul(x, constant(x.getType(), y)); }
  Value div(Value x, Value y) { return b.create<mlir::arith::DivUIOp>(loc, x, y); }
  Value div(Value x, int64_t y) { return y == 1 ? x : div(x, constant(x.getType(), y)); }
  Value rem(Value x, Value y) { return b.create<mlir::arith::RemUIOp>(loc, x, y); }
  Value rem(Value x, int64_t y) { return rem(x, constant(x.getType(), y)); }
  Value ceilDiv(Value x, int64_t y) { return div(add(x, y - 1), y); }
  Value ceilDiv(Value x, Value y) { return div(sub(add(x, y), constant(x.getType(), 1)), y); }
  Value bitAnd(Value x, int64_t y) { return b.create<mlir::arith::AndIOp>(loc, x, constant(x.getType(), y)); }
  Value both(Value x, Value y) { return b.create<mlir::arith::AndIOp>(loc, x, y); }
  Value bitXor(Value x, Value y) { return b.create<mlir::arith::XOrIOp>(loc, x, y); }
  Value bitXor(Value x, int64_t y) { return bitXor(x, constant(x.getType(), y)); }
  Value bitOr(Value x, Value y) { return b.create<mlir::arith::OrIOp>(loc, x, y); }
  Value shl(Value x, int64_t y) { return b.create<mlir::arith::ShLIOp>(loc, x, constant(x.getType(), y)); }
  Value shr(Value x, int64_t y) { return b.create<mlir::arith::ShRUIOp>(loc, x, constant(x.getType(), y)); }
  Value minU(Value x, Value y) { return b.create<mlir::arith::MinUIOp>(loc, x, y); }
  Value less(Value x, Value y) { return compare(mlir::arith::CmpIPredicate::slt, x, y); }
  Value equal(Value x, Value y) { return compare(mlir::arith::CmpIPredicate::eq, x, y); }
  Value equal(Value x, int64_t y) { return equal(x, constant(x.getType(), y)); }
  Value compare(mlir::arith::CmpIPredicate p, Value x, Value y) { return b.create<mlir::arith::CmpIOp>(loc, p, x, y); }
  Value select(Value c, Value x, Value y) { return b.create<mlir::arith::SelectOp>(loc, c, x, y); }
  Value wide(Value x);   ///< i64 of an i32, unsigned
  Value narrow(Value x); ///< i32 of an i64

  // Floats
  Value addF(Value x, Value y) { return b.create<mlir::arith::AddFOp>(loc, x, y); }
  Value subF(Value x, Value y) { return b.create<mlir::arith::SubFOp>(loc, x, y); }
  Value mulF(Value x, Value y) { return b.create<mlir::arith::MulFOp>(loc, x, y); }
  Value fma(Value x, Value y, Value z);
  Value maxF(Value x, Value y); ///< the number of the two when one is NaN
  Value convertF(Value x, Type element); ///< extends or rounds, scalars and vectors
  /// Floats as above; integers become wider.
  Value convert(Value x, Type element, bool isUnsigned);
  /// Of floats, or of integers.
  Value sum(Value x, Value y) { return isFloat(x) ? addF(x, y) : add(x, y); }
  Value multiplyAdd(Value x, Value y, Value z) { return isFloat(x) ? fma(x, y, z) : add(mul(x, y), z); }
  static bool isFloat(Value x) { return mlir::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(x.getType())); }
  /// Four products of bytes and their sum, on top of z (i32). Of words.
  Value dotBytes(Value x, Value y, Value z, bool leftIsUnsigned, bool rightIsUnsigned);
  /// The bytes of x (0 to 3) and y (4 to 7) that the nibbles of `which` (i32) say, the lowest first.
  Value pickBytes(Value x, Value y, Value which);
  /// Of four words, the words of their first bytes, of their second ones, and so on.
  Values turnBytes(llvm::ArrayRef<Value> words);
  Value exp2(Value x); ///< ex2.approx.ftz, f32: one instruction; powers below 2^-126 are 0
  Value reciprocal(Value x);

  // Vectors
  Value extract(Value v, int64_t i);
  Value insert(Value v, Value x, int64_t i);
  Value splat(Value x, int64_t width);
  Value bitcast(Value x, Type t) { return x.getType() == t ? x : b.create<mlir::LLVM::BitcastOp>(loc, t, x).getResult(); }

  // Memory
  Value at(Value pointer, Value offset, Type element); ///< pointer + offset elements
  Value byteAt(Value pointer, Value offset) { return at(pointer, offset, b.getI8Type()); }
  Value byteAt(Value pointer, int64_t offset) { return offset ? byteAt(pointer, i32(offset)) : pointer; }
  Value sharedAddress(Value pointer) { return b.create<mlir::LLVM::PtrToIntOp>(loc, i32Type(), pointer); } ///< i32, as asynchronous instructions take it
  Value load(Type type, Value pointer, unsigned alignment);
  void store(Value v, Value pointer, unsigned alignment);
  /// A load where `ok` holds, else `fill`.
  Value loadIf(Value ok, Type type, Value pointer, unsigned alignment, Value fill);

  // Control flow
  Values loop(Value from, Value to, Value step, ValueRange init, llvm::function_ref<Values(Value, ValueRange)> body);
  void loop(Value from, Value to, Value step, llvm::function_ref<void(Value)> body);
  void when(Value c, llvm::function_ref<void()> then);
  void branch(Value c, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise);
  Values choose(Value c, llvm::function_ref<Values()> then, llvm::function_ref<Values()> otherwise);

  // Threads
  Value threadId() { return special("tid.x"); }
  Value blockId() { return firstBlock ? sub(special("ctaid.x"), firstBlock) : special("ctaid.x"); }
  Value blockIdY() { return special("ctaid.y"); }
  Value gridSize() { return special("nctaid.x"); }
  void barrier();                                  ///< of the whole block
  void barrier(Value id, int64_t threads);         ///< a named one
  Value shuffleXor(Value x, int64_t mask);         ///< any type of up to 32 bits (f32, i32), or f64, i64 in two halves
  Value shuffleUp(Value x, int64_t by);            ///< of the thread so many before; of the first ones their own
  /// Sums of a warp's lanes: of values whose number is a power of two, each lane ends with its own, lane l of n with those from
  /// l * n / 32 on (of fewer than 32, neighbours have the same one). While there are several, a lane gives away one half of them and
  /// takes the other half's part from the lane that it gave to: an exchange for each value, not five.
  void addOverLanes(Values &sums, Value lane);
  /// Of the values in a warp's lanes up to this one (i32); `combined`: of what lies before, and a value.
  Value combineUpTo(Value x, Value lane, llvm::function_ref<Value(Value before, Value x)> combined);
  Value sumUpTo(Value x, Value lane) {
    return combineUpTo(x, lane, [&](Value before, Value own) { return add(own, before); });
  }
  Value matchAny(Value x);                         ///< of a warp's threads (a bit each), those that have the same (i32)
  Value ballot(Value holds);                       ///< of a warp's threads (a bit each), those where it does (i32)
  Value warpUniform(Value x);                      ///< tells the compiler that a warp agrees on it
  Value electOne();                                ///< true for one thread of a converged warp

  /// Loads in front of this stay there: a loop that carries what it loads for its next step would otherwise be made one that carries
  /// addresses (InstCombine moves a load behind the phi of its results), and wait for the memory in each step. No instruction.
  void keepAhead() { ptx(""); }
  /// Inline PTX. `results` may be empty; constraints in LLVM's form.
  Values ptx(llvm::StringRef text, llvm::StringRef constraints, ValueRange args, llvm::ArrayRef<Type> results, bool effects);
  void ptx(llvm::StringRef text, llvm::StringRef constraints = "~{memory}", ValueRange args = {}) {
    ptx(text, constraints, args, {}, true);
  }
  Value intrinsic(llvm::StringRef name, ValueRange args, Type result);

private:
  Value shuffle(llvm::StringRef mode, Value x, int64_t amount, int64_t clamp);
  Value special(llvm::StringRef name);
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_DEVICEBUILDER_H
