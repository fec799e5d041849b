//===- TileLoader.h - Tiles of any layout into shared memory ---------------===//
#ifndef LATHE_LIB_TARGET_CUDA_TILELOADER_H
#define LATHE_LIB_TARGET_CUDA_TILELOADER_H

#include "../DeviceHooks.h"
#include "../KernelFrame.h"

namespace lathe::cuda {

/// Brings tiles of an operand into shared memory, each element from the kernel's own offset or as a value of its body: `lines`
/// are rows or columns of a product, `depth` is what a product sums over. Lines past the end repeat the last one, depths past
/// the end are 0.
/// In shared memory they are of the sum's type, [depth][line], for plain threads, or, where `fragments` says the address (i32, 16 bytes
/// aligned), of the operand's own type (halves or bytes) or another one with neighbours as in the operand, for matrix loads.
struct TileSource {
  Value ref; ///< of the body
  shape::Expr offset;
  std::vector<unsigned> lineAxes, depthAxes;
  shape::Expr lines, depth; ///< how many there are
  unsigned tileLines, tileDepth;
  std::string name;
  Value fragments = {};
  Value value = {};     ///< of the body; null: the elements of `ref` at `offset`
  Value predicate = {}; ///< of the body: elements are `fill` where it does not hold
  Type format = {};        ///< of bytes, what they are
  int64_t fill = 0;        ///< of bytes; floats are 0
  unsigned stages = 1; ///< tiles that lie in shared memory side by side
  mlir::Type number = {}; ///< of plain threads; null: f32
  mlir::Type fragment = {}; ///< for matrix loads; null: the operand's own
  /// Shared memory of a tile for matrix loads, whichever way it lies.
  static unsigned fragmentBytes(unsigned tileLines, unsigned tileDepth, unsigned bytes) { return bytes * tileLines * tileDepth; }
};

class TileLoader {
public:
  TileLoader(KernelFrame &frame, const TileSource &source);
  /// The tile's lines begin at `first` (i64); `base` has all other axes of the offset but the depth's bound.
  void locate(const lower::BodyEmitter &base, Value first);
  unsigned count() const { return slots.size(); }
  /// The tile (i32) that is put and read from here on.
  void use(Value stage);
  /// The thread's part of the tile from depth k0 (i64) on.
  Values load(Value k0);
  void put(llvm::ArrayRef<Value> values);
  /// Whether tiles may go to shared memory by themselves (cp.async): for matrix loads in pieces of 16 bytes, for plain threads in ones of 4 bytes or more.
  bool isAsynchronous() const {
    bool fits = source.fragments ? width * bytes == 16 && stored == element : bytes >= 4 && number == element;
    return fits && !source.value && schedule::gpuOf(frame.sm).gpu.asyncCopies;
  }
  /// Tiles are copied from here on, not loaded and put: what is turned on its way goes singly.
  void expectCopies() {
    if (!source.fragments && alongDepth)
      width = 1;
  }
  /// Starts the thread's part of the tile from depth k0 (i64) on; what lies past the end becomes 0.
  void copy(Value k0);
  static unsigned plainBytes(unsigned tileLines, unsigned tileDepth, unsigned bytes) { return tileDepth * (tileLines + padding) * bytes; }
  /// Four lines of one depth, from a line that is a multiple of 4.
  Value four(Value depth, Value line);
  /// 16 lines by 32 bytes of depth as four registers of 8 lines by 16 bytes (ldmatrix), from a line and a depth on: lines first, or depths.
  Values matrices(Value lane, Value line, Value depth, bool linesFirst);
  /// Whether the first 8 of these 16 lines are every second one, and not those that come first.
  bool interleaves() const { return source.fragments && bytes == 1 && !alongDepth; }

private:
  static constexpr unsigned padding = 4;
  /// In the tile, i32: where the thread's first element is, and how much further this one.
  struct Position {
    Value line, depth;
    int64_t moreLines, moreDepths;
  };
  struct Slot {
    Value depth; ///< in the tile, i32
    std::pair<Value, int64_t> place; ///< in shared memory: the sum of both
    lower::BodyEmitter point;
    Value start; ///< where the line begins, when the depth adds the same to all lines
  };
  /// The elements' extent along axes that an access may run along, or nothing where neighbours lie apart.
  std::optional<shape::Expr> run(llvm::ArrayRef<unsigned> axes) const;
  unsigned widest(llvm::ArrayRef<unsigned> axes) const;
  lower::BodyEmitter pointAt(Slot &slot, Value depth);
  Value addressAt(Slot &slot, lower::BodyEmitter &point, Value depth);
  void copyPiece(Value from, Value to, Value inside);
  Value loadAt(Slot &slot, Value depth);
  bool hasWholeTiles() const;
  Type accessType();
  Value fillOf(Type type);
  Values turnedMatrices(Value lane, Value line, Value depth, bool linesFirst);
  Position positionOf(unsigned slot);
  Values extents(llvm::ArrayRef<unsigned> axes);
  /// Elements from one row in shared memory to the next.
  unsigned pitch() const { return source.fragments ? (alongDepth ? source.tileDepth : source.tileLines) : source.tileLines + padding; }
  /// For matrix loads pieces of 16 bytes change places within their row, so that those of 8 rows meet all banks.
  Value swizzle(Value row);
  unsigned rowsOfBanks() const { return std::max(1u, 128 / (pitch() * bytes)); } ///< that 128 bytes hold
  Value place(Value line, Value depth);
  std::pair<Value, int64_t> place(const Position &at);
  KernelFrame &frame;
  DeviceBuilder &d;
  TileSource source;
  Type element; ///< of the operand
  Type number;  ///< in shared memory, for plain threads
  Type stored;  ///< in shared memory, for matrix loads
  unsigned bytes; ///< of an element in shared memory, for matrix loads, else of the operand's
  unsigned numberBytes() const { return number.getIntOrFloatBitWidth() / 8; }
  Value buffer, first, shared;
  Value border;  ///< a piece of what lies outside, where that is not 0
  Value address; ///< of the tile in use, i32
  std::optional<shape::Expr> depthStep; ///< the depth is one run of even steps
  std::optional<shape::Expr> depthPart; ///< what an element's depth adds to the offset of its line, whichever that is
  bool alongDepth;    ///< neighbours in memory are neighbours in depth
  unsigned width = 1; ///< elements of one access
  std::vector<Slot> slots;
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_TILELOADER_H
