//===- EntriesTest.cpp - Artifacts of several models ----------------------===//
#include "ArtifactTestUtils.h"
#include "lathe/Artifact/ArtifactFile.h"
#include "gtest/gtest.h"

using namespace lathe;
using namespace lathe::artifact;
using shape::Expr;

/// y[i] = x[i] + w[i], over sizes (n).
static const char *const kernels = R"(
define void @add(ptr %buffers, ptr %sizes, i64 %begin, i64 %end, ptr %scratch) {
entry:
  %x = load ptr, ptr %buffers
  %wp = getelementptr ptr, ptr %buffers, i64 1
  %w = load ptr, ptr %wp
  %yp = getelementptr ptr, ptr %buffers, i64 2
  %y = load ptr, ptr %yp
  br label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %body, label %done
body:
  %xi = getelementptr float, ptr %x, i64 %i
  %a = load float, ptr %xi
  %wi = getelementptr float, ptr %w, i64 %i
  %b = load float, ptr %wi
  %c = fadd float %a, %b
  %yi = getelementptr float, ptr %y, i64 %i
  store float %c, ptr %yi
  %next = add i64 %i, 1
  br label %loop
done:
  ret void
}
define void @add_plan(ptr %sizes, ptr %out) {
  %n = load i64, ptr %sizes
  store i64 %n, ptr %out
  ret void
}
)";

static const LatheDType f32 = dtype(Float, 32);

/// "fill": the state gets x + 1, of any length n. "read": y = x + state, and a state of its own that fill does not
/// touch.
static llvm::Error build(const std::string &path, const std::vector<std::string> &names) {
  ArtifactBuilder builder(Machine::X86_64, "models", names);
  builder.addObject(compileIR(kernels));
  KernelId add = builder.addKernel({"add", "loop", {}, {}, {{LATHE_LEVEL_BASELINE, "add", "add_plan"}}});
  for (unsigned e = 0; e < 2; ++e) {
    builder.select(e);
    Expr n = Expr::symbol(e ? "m" : "n");
    builder.addSymbol({e ? "m" : "n", 1, 4, {}});
    builder.addInput({"x", f32, {n}});
    if (e) {
      builder.addOutput({"y", f32, {n}});
      if (auto own = builder.addState({{"own", f32, {Expr(2)}}, std::nullopt}); !own)
        return own.takeError();
    }
    llvm::Expected<unsigned> state = builder.addState({{"cache", f32, {n}}, std::nullopt});
    if (!state)
      return state.takeError();
    Program &program = builder.program(1);
    if (e) {
      program.kernel(add, {program.input(0), program.state(*state), program.output(0)}, {n});
      continue;
    }
    std::string ones(16, '\0');
    for (unsigned i = 0; i < 4; ++i)
      reinterpret_cast<float *>(ones.data())[i] = 1;
    BufferId one = program.constant(f32, builder.addConstant(ByteSource::own(ones)));
    program.kernel(add, {program.input(0), one, program.state(*state)}, {n});
  }
  return builder.write(path);
}

TEST(Entries, shareStatesAndHaveSignaturesOfTheirOwn) {
  TestFolder folder;
  auto error = build(folder.file("a.so"), {"fill", "read"});
  ASSERT_FALSE(bool(error)) << toString(std::move(error));
  Opened opened(folder.file("a.so"));
  LatheContext *fill = nullptr, *read = nullptr, *none = nullptr;
  ASSERT_EQ(opened.create(nullptr, &fill), LATHE_OK) << opened.lastError(fill);
  ASSERT_EQ(opened.entryCount(fill), 2u);
  EXPECT_STREQ(opened.entryName(fill, 1), "read");
  EXPECT_EQ(opened.entryName(fill, 2), nullptr);
  ASSERT_EQ(opened.entry(fill, "read", &read), LATHE_OK);
  EXPECT_EQ(opened.entry(fill, "none", &none), LATHE_INVALID);
  EXPECT_EQ(none, nullptr);
  EXPECT_STREQ(opened.lastError(fill), "the artifact has no entry point 'none'; it has 'fill', 'read'");
  LatheContext *back = nullptr; // from any of them to any
  ASSERT_EQ(opened.entry(read, "fill", &back), LATHE_OK);
  EXPECT_EQ(back, fill);
  EXPECT_EQ(opened.signature(fill)->numOutputs, 0u);
  EXPECT_EQ(opened.signature(read)->numOutputs, 1u);
  EXPECT_STREQ(opened.signature(read)->entry, "read");

  FloatTensor x({3}, {1, 2, 3}), z({3}, {10, 20, 30}), y({3}), four({4});
  DLTensor *inputs[] = {&x.tensor}, *others[] = {&z.tensor}, *outputs[] = {&y.tensor}, *longer[] = {&four.tensor};
  ASSERT_EQ(opened.run(fill, inputs, 1, nullptr, 0), LATHE_OK) << opened.lastError(fill);
  ASSERT_EQ(opened.run(read, others, 1, outputs, 1), LATHE_OK) << opened.lastError(read);
  EXPECT_EQ(y.values, (std::vector<float>{12, 23, 34}));
  EXPECT_EQ(opened.run(read, longer, 1, outputs, 1), LATHE_INVALID);
  EXPECT_STREQ(opened.lastError(read),
               "state 'cache': dimension 0 is 3, these inputs need m = 4: reset the state before runs of another size");
  opened.destroy(read); // leaves it alone
  ASSERT_EQ(opened.run(read, others, 1, outputs, 1), LATHE_OK);
  opened.destroy(fill);
}

TEST(Entries, areListedInTheFile) {
  TestFolder folder;
  ASSERT_FALSE(bool(build(folder.file("a.so"), {"fill", "read"})));
  auto file = ArtifactFile::open(folder.file("a.so"));
  ASSERT_TRUE(bool(file));
  auto entries = file->entries();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].name, "fill");
  EXPECT_EQ(entries[0].tables, &file->header());
  EXPECT_EQ(entries[1].tables->outputs.count, 1u);
  auto states = file->array<LatheState>(entries[0].tables->states);
  ASSERT_EQ(states.size(), 2u); // all, in one order
  EXPECT_EQ(file->text(states[1].tensor.name), "own");
  EXPECT_NE(file->array<LatheDim>(states[0].tensor.dims)[0].slot, LATHE_NONE);
  EXPECT_EQ(file->array<LatheDim>(states[1].tensor.dims)[0].slot, LATHE_NONE);
}

/// What is wrong with a second entry point's state beside a first one's.
static std::string wrongWith(const StateInfo &first, const StateInfo &second, llvm::ArrayRef<std::string> constants) {
  ArtifactBuilder builder(Machine::X86_64, "models", {"a", "b"});
  for (const std::string &bytes : constants)
    builder.addConstant(ByteSource::own(bytes));
  llvm::cantFail(builder.addState(first));
  builder.select(1);
  auto added = builder.addState(second);
  return added ? "" : toString(added.takeError());
}

TEST(Entries, statesOfOneNameAreAlike) {
  Expr n = Expr::symbol("n"), m = Expr::symbol("m");
  const std::string must = ": entry points share the states of one name, which must have one type and one size";
  std::vector<std::string> constants = {"0123", "0123", "4567"};
  auto state = [](LatheDType type, std::vector<Expr> dims, std::optional<ConstantId> initial = std::nullopt) {
    return StateInfo{{"s", type, dims}, initial};
  };
  EXPECT_EQ(wrongWith(state(f32, {n, Expr(2)}), state(f32, {m, Expr(2)}), {}), "");
  EXPECT_EQ(wrongWith(state(f32, {n}), state(f32, {Expr(2)}), {}),
            "state 's' is float32 [n] in entry point 'a' and float32 [2] in 'b'" + must);
  EXPECT_EQ(wrongWith(state(f32, {n}), state(dtype(BFloat, 16), {n}), {}),
            "state 's' is float32 [n] in entry point 'a' and bfloat16 [n] in 'b'" + must);
  EXPECT_EQ(wrongWith(state(f32, {n}), state(f32, {n, n}), {}),
            "state 's' is float32 [n] in entry point 'a' and float32 [n, n] in 'b'" + must);
  EXPECT_EQ(wrongWith(state(f32, {Expr(1)}, 0), state(f32, {Expr(1)}, 1), constants), "");
  EXPECT_EQ(wrongWith(state(f32, {Expr(1)}, 0), state(f32, {Expr(1)}, 2), constants),
            "state 's' holds other values at first in entry point 'b' than in 'a', and entry points share the states "
            "of one name");
  EXPECT_NE(wrongWith(state(f32, {Expr(1)}, 0), state(f32, {Expr(1)}), constants), "");
}
