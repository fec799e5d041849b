//===- ArtifactTest.cpp - Build, open and run small artifacts --------------===//
#include "ArtifactTestUtils.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <thread>

using namespace lathe;
using namespace lathe::artifact;
using shape::Expr;

/// y[i] = x[i] + w[i mod 4], over sizes (n); and an empty kernel.
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
  %m = and i64 %i, 3
  %wi = getelementptr float, ptr %w, i64 %m
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
  %cost = getelementptr i64, ptr %out, i64 2
  store i64 1000, ptr %cost
  ret void
}
define void @empty(ptr %buffers, ptr %sizes, i64 %begin, i64 %end, ptr %scratch) {
  ret void
}
define void @empty_plan(ptr %sizes, ptr %out) {
  store i64 1, ptr %out
  ret void
}
)";

/// out = (x + w) + w over x: [batch, seq], through a temporary; mask: [batch, 2*seq + past].
static void addModel(ArtifactBuilder &builder, const float *weights, const char *name = "add") {
  Expr batch = Expr::symbol("batch"), seq = Expr::symbol("seq"), past = Expr::symbol("past");
  builder.addSymbol({"past", 0, INT64_MAX, {}});
  builder.addSymbol({"batch", 1, 64, {}});
  builder.addSymbol({"seq", 0, 512, {32}});
  builder.addInput({"ids", dtype(Float, 32), {batch, seq}});
  builder.addInput({"mask", dtype(Float, 32), {batch, Expr(2) * seq + past}});
  builder.addInput({"bias", dtype(Float, 32), {seq, 4}});
  builder.addOutput({"y", dtype(Float, 32), {batch, seq}});
  builder.addObject(compileIR(kernels));
  KernelId add = builder.addKernel({name, "loop", {"node_a", "node_b"}, {}, {{LATHE_LEVEL_BASELINE, "add", "add_plan"}}});
  ConstantId w = builder.addConstant(ByteSource::borrow({reinterpret_cast<const char *>(weights), 16}));
  ConstantId same = builder.addConstant(ByteSource::own(std::string(reinterpret_cast<const char *>(weights), 16)));
  Program &program = builder.program(1);
  Expr count = batch * seq;
  BufferId t = program.temp(dtype(Float, 32), count * Expr(4));
  BufferId view = program.view(dtype(Float, 32), t, count * Expr(4));
  program.kernel(add, {program.input(0), program.constant(dtype(Float, 32), w), t}, {count});
  program.kernel(add, {view, program.constant(dtype(Float, 32), same), program.output(0)}, {count});
}

static const float weights[4] = {1, 2, 3, 4};

namespace {
class AddArtifact : public testing::Test {
protected:
  void SetUp() override {
    ArtifactBuilder builder(Machine::X86_64, "test");
    addModel(builder, weights);
    auto error = builder.write(folder.file("a.so"));
    ASSERT_FALSE(bool(error)) << toString(std::move(error));
    opened = std::make_unique<Opened>(folder.file("a.so"));
    ASSERT_NE(opened->create, nullptr);
    ASSERT_EQ(opened->create(nullptr, &context), LATHE_OK) << opened->lastError(context);
  }
  void TearDown() override {
    if (opened && context)
      opened->destroy(context);
  }
  std::string failure(FloatTensor &ids, FloatTensor &mask, FloatTensor &bias) {
    DLTensor out = {}, *inputs[] = {&ids.tensor, &mask.tensor, &bias.tensor}, *outputs[] = {&out};
    EXPECT_EQ(opened->run(context, inputs, 3, outputs, 1), LATHE_INVALID);
    return opened->lastError(context);
  }
  TestFolder folder;
  std::unique_ptr<Opened> opened;
  LatheContext *context = nullptr;
};
} // namespace

TEST_F(AddArtifact, runsWithOutputsOfBothOwners) {
  for (int64_t seq : {3, 0, 300, 3}) {
    FloatTensor ids({2, seq}), mask({2, 2 * seq + 5}), bias({seq, 4}), y({2, seq});
    for (size_t i = 0; i < ids.values.size(); ++i)
      ids.values[i] = float(i);
    DLTensor *inputs[] = {&ids.tensor, &mask.tensor, &bias.tensor}, *outputs[] = {&y.tensor};
    ASSERT_EQ(opened->run(context, inputs, 3, outputs, 1), LATHE_OK) << opened->lastError(context);
    DLTensor provided = {};
    outputs[0] = &provided;
    ASSERT_EQ(opened->run(context, inputs, 3, outputs, 1), LATHE_OK) << opened->lastError(context);
    ASSERT_EQ(provided.ndim, 2);
    EXPECT_EQ(provided.shape[1], seq);
    for (size_t i = 0; i < ids.values.size(); ++i) {
      ASSERT_EQ(seq ? y.values[i] : 0, float(i) + 2 * weights[i % 4]);
      ASSERT_EQ(static_cast<float *>(provided.data)[i], y.values[i]);
    }
  }
}

TEST_F(AddArtifact, copiesStridedInputs) {
  FloatTensor ids({2, 2}, {0, 10, 20, 30}), mask({2, 4}), bias({2, 4}), y({2, 2});
  int64_t strides[] = {1, 2};
  ids.tensor.strides = strides;
  DLTensor *inputs[] = {&ids.tensor, &mask.tensor, &bias.tensor}, *outputs[] = {&y.tensor};
  ASSERT_EQ(opened->run(context, inputs, 3, outputs, 1), LATHE_OK) << opened->lastError(context);
  EXPECT_EQ(y.values, (std::vector<float>{2, 24, 16, 38}));
}

TEST_F(AddArtifact, guardsNameWhatIsWrong) {
  FloatTensor ids({2, 3}), mask({2, 6}), bias({3, 4});
  FloatTensor badMask({3, 6}), badBias({4, 4}), fixedBias({3, 5}), long_({2, 513}), shortMask({2, 5});
  EXPECT_EQ(failure(ids, badMask, bias), "input 'mask': dimension 0 is 3, expected batch = 2 (from input 'ids')");
  EXPECT_EQ(failure(ids, mask, badBias), "input 'bias': dimension 0 is 4, expected seq = 3 (from input 'ids')");
  EXPECT_EQ(failure(ids, mask, fixedBias), "input 'bias': dimension 1 is 5, expected 4");
  EXPECT_EQ(failure(long_, mask, bias), "input 'ids': dimension 1 is 513, expected seq in [0, 512]");
  EXPECT_EQ(failure(ids, shortMask, bias),
            "input 'mask': dimension 1 is 5 = past + 2*seq, which gives past = -1, expected past >= 0");
  FloatTensor flat({6});
  EXPECT_EQ(failure(flat, mask, bias), "input 'ids' has rank 1, expected 2");
  ids.tensor.dtype = {kDLInt, 64, 1};
  EXPECT_EQ(failure(ids, mask, bias), "input 'ids' is int64, expected float32");
  ids.tensor.dtype = {kDLFloat, 32, 1};
  ids.tensor.device = {kDLCUDA, 0};
  EXPECT_EQ(failure(ids, mask, bias), "input 'ids' is on device 2:0 (DLPack), the model runs on cpu:0");
}

TEST_F(AddArtifact, checksTheCallersOutputsAndWorkspace) {
  FloatTensor ids({2, 3}), mask({2, 6}), bias({3, 4}), wrong({2, 4}), right({2, 3});
  DLTensor *inputs[] = {&ids.tensor, &mask.tensor, &bias.tensor}, *outputs[] = {&wrong.tensor};
  EXPECT_EQ(opened->run(context, inputs, 3, outputs, 1), LATHE_INVALID);
  EXPECT_STREQ(opened->lastError(context), "output 'y': dimension 1 is 4, expected seq = 3");
  outputs[0] = &right.tensor;
  size_t bytes = 0;
  ASSERT_EQ(opened->workspaceSize(context, inputs, 3, &bytes), LATHE_OK);
  EXPECT_EQ(bytes, uint64_t(LATHE_DATA_ALIGN));
  alignas(LATHE_WORKSPACE_ALIGN) char workspace[LATHE_DATA_ALIGN];
  EXPECT_EQ(opened->setWorkspace(context, workspace, 32), LATHE_OK);
  EXPECT_EQ(opened->run(context, inputs, 3, outputs, 1), LATHE_INVALID);
  EXPECT_EQ(opened->setWorkspace(context, workspace, sizeof workspace), LATHE_OK);
  EXPECT_EQ(opened->run(context, inputs, 3, outputs, 1), LATHE_OK) << opened->lastError(context);
  EXPECT_EQ(opened->setWorkspace(context, workspace + 1, sizeof workspace), LATHE_INVALID);
  int64_t shapes[2];
  EXPECT_EQ(opened->outputShapes(context, inputs, 3, shapes, 2), LATHE_OK);
  EXPECT_EQ(shapes[1], 3);
  EXPECT_EQ(opened->outputShapes(context, inputs, 3, shapes, 1), LATHE_INVALID);
}

TEST_F(AddArtifact, describesItself) {
  const LatheSignature *signature = opened->signature(context);
  ASSERT_NE(signature, nullptr);
  EXPECT_STREQ(signature->modelName, "test");
  ASSERT_EQ(signature->numInputs, 3u);
  EXPECT_STREQ(signature->inputs[1].dims[1], "past + 2*seq");
  EXPECT_EQ(signature->inputs[0].max[1], 512);
  EXPECT_EQ(signature->inputs[0].min[0], 1);
  EXPECT_EQ(signature->inputs[2].min[1], 4);
}

TEST_F(AddArtifact, runsInManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      LatheOptions options = {};
      options.size = sizeof options;
      options.threads = 2;
      LatheContext *mine = nullptr;
      wrong += opened->create(&options, &mine) != LATHE_OK;
      for (int round = 0; round < 50; ++round) {
        int64_t seq = 1 + (round * 37 + t) % 400;
        FloatTensor ids({2, seq}), mask({2, 2 * seq}), bias({seq, 4}), y({2, seq});
        DLTensor *inputs[] = {&ids.tensor, &mask.tensor, &bias.tensor}, *outputs[] = {&y.tensor};
        wrong += opened->run(mine, inputs, 3, outputs, 1) != LATHE_OK;
        for (size_t i = 0; i < y.values.size(); ++i)
          wrong += y.values[i] != 2 * weights[i % 4];
      }
      opened->destroy(mine);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Artifact, sameInputsGiveSameBytesWhateverThePath) {
  TestFolder folder;
  for (const char *name : {"one.so", "another.so"}) {
    ArtifactBuilder builder(Machine::X86_64, "test");
    addModel(builder, weights);
    ASSERT_FALSE(bool(builder.write(folder.file(name))));
  }
  auto one = llvm::MemoryBuffer::getFile(folder.file("one.so")), another = llvm::MemoryBuffer::getFile(folder.file("another.so"));
  ASSERT_TRUE(one && another);
  EXPECT_EQ((*one)->getBuffer(), (*another)->getBuffer());
}

TEST(Artifact, constantsCanLieBesideIt) {
  TestFolder folder;
  ArtifactBuilder builder(Machine::X86_64, "test");
  addModel(builder, weights);
  ArtifactBuilder::Options options;
  options.externalData = true;
  ASSERT_FALSE(bool(builder.write(folder.file("a.so"), options)));
  auto data = llvm::MemoryBuffer::getFile(folder.file("a.so.data"));
  ASSERT_TRUE(bool(data));
  EXPECT_EQ((*data)->getBufferSize(), 16u);
  Opened opened(folder.file("a.so"));
  LatheContext *context = nullptr;
  ASSERT_EQ(opened.create(nullptr, &context), LATHE_OK) << opened.lastError(context);
  FloatTensor ids({1, 1}, {5}), mask({1, 2}), bias({1, 4}), y({1, 1});
  DLTensor *inputs[] = {&ids.tensor, &mask.tensor, &bias.tensor}, *outputs[] = {&y.tensor};
  EXPECT_EQ(opened.run(context, inputs, 3, outputs, 1), LATHE_OK);
  EXPECT_EQ(y.values[0], 7);
  opened.destroy(context);
  ASSERT_EQ(std::remove(folder.file("a.so.data").c_str()), 0);
  EXPECT_EQ(opened.create(nullptr, &context), LATHE_INVALID);
  EXPECT_NE(std::string(opened.lastError(context)).find("cannot open"), std::string::npos);
  opened.destroy(context);
}

TEST(Artifact, twoModelsInOneProcessDoNotClash) {
  TestFolder folder;
  const float tens[4] = {10, 10, 10, 10};
  for (bool first : {true, false}) {
    ArtifactBuilder builder(Machine::X86_64, "test");
    addModel(builder, first ? weights : tens);
    ASSERT_FALSE(bool(builder.write(folder.file(first ? "a.so" : "b.so"))));
  }
  Opened a(folder.file("a.so")), b(folder.file("b.so"));
  float results[2];
  for (Opened *opened : {&a, &b}) {
    LatheContext *context = nullptr;
    ASSERT_EQ(opened->create(nullptr, &context), LATHE_OK);
    FloatTensor ids({1, 1}, {5}), mask({1, 2}), bias({1, 4}), y({1, 1});
    DLTensor *inputs[] = {&ids.tensor, &mask.tensor, &bias.tensor}, *outputs[] = {&y.tensor};
    EXPECT_EQ(opened->run(context, inputs, 3, outputs, 1), LATHE_OK);
    results[opened == &b] = y.values[0];
    opened->destroy(context);
  }
  EXPECT_EQ(results[0], 7);
  EXPECT_EQ(results[1], 25);
}

TEST(Artifact, aMissingCpuFeatureIsNamed) {
  TestFolder folder;
  ArtifactBuilder builder(Machine::X86_64, "test");
  builder.addObject(compileIR(kernels));
  KernelId kernel = builder.addKernel({"k", "loop", {}, {}, {{LATHE_LEVEL_AVX512, "empty", "empty_plan"}}});
  builder.program(1).kernel(kernel, {}, {});
  ASSERT_FALSE(bool(builder.write(folder.file("a.so"))));
  Opened opened(folder.file("a.so"));
  LatheOptions options = {};
  options.size = sizeof options;
  options.maxLevel = 1 + LATHE_LEVEL_BASELINE;
  LatheContext *context = nullptr;
  EXPECT_EQ(opened.create(&options, &context), LATHE_UNSUPPORTED);
  EXPECT_STREQ(opened.lastError(context),
               "kernel 'k' needs AVX-512 F, BW, DQ and VL, which this processor does not have");
  opened.destroy(context);
}

/// Whoever has no tile registers, or may not use them, runs what comes next, or is told.
TEST(Artifact, tilesRunOnlyWherePermitted) {
  TestFolder folder;
  for (bool alone : {true, false}) {
    ArtifactBuilder builder(Machine::X86_64, "test");
    builder.addObject(compileIR(kernels));
    std::vector<VariantInfo> variants{{LATHE_LEVEL_AVX512_AMX, "add", "add_plan"}};
    if (!alone)
      variants.push_back({LATHE_LEVEL_BASELINE, "empty", "empty_plan"});
    KernelId kernel = builder.addKernel({"k", "loop", {}, {}, variants});
    builder.program(1).kernel(kernel, {}, {});
    std::string file = folder.file(alone ? "alone.so" : "a.so");
    ASSERT_FALSE(bool(builder.write(file)));
    Opened opened(file);
    LatheOptions options = {};
    options.size = sizeof options;
    options.maxLevel = 1 + LATHE_LEVEL_AVX512; // nothing beside the level, on any machine
    LatheContext *context = nullptr;
    EXPECT_EQ(opened.create(&options, &context), alone ? LATHE_UNSUPPORTED : LATHE_OK);
    if (alone)
      EXPECT_STREQ(opened.lastError(context),
                   "kernel 'k' needs AVX-512 with AMX, and a system that permits it, which this processor does not have");
    opened.destroy(context);
  }
}

TEST(Artifact, whatCannotBeBoundIsReported) {
  TestFolder folder;
  ArtifactBuilder builder(Machine::X86_64, "test");
  builder.addSymbol({"n", 0, INT64_MAX, {}});
  builder.addOutput({"y", dtype(Float, 32), {Expr::symbol("n")}});
  auto error = builder.write(folder.file("a.so"));
  ASSERT_TRUE(bool(error));
  EXPECT_EQ(toString(std::move(error)), "size symbol 'n' cannot be computed from the inputs' dimensions");
}

TEST(Artifact, anEmptyStepCostsNextToNothing) {
  TestFolder folder;
  ArtifactBuilder builder(Machine::X86_64, "test");
  builder.addObject(compileIR(kernels));
  KernelId kernel = builder.addKernel({"k", "loop", {}, {}, {{LATHE_LEVEL_BASELINE, "empty", "empty_plan"}}});
  for (int i = 0; i < 1000; ++i)
    builder.program(1).kernel(kernel, {}, {});
  ASSERT_FALSE(bool(builder.write(folder.file("a.so"))));
  Opened opened(folder.file("a.so"));
  LatheContext *context = nullptr;
  ASSERT_EQ(opened.create(nullptr, &context), LATHE_OK);
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  for (int i = 0; i < 200; ++i) {
    auto start = Clock::now();
    ASSERT_EQ(opened.run(context, nullptr, 0, nullptr, 0), LATHE_OK);
    best = std::min(best, std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  opened.destroy(context);
  RecordProperty("nanosecondsPerStep", std::to_string(best));
  EXPECT_LT(best / 1000, 0.3) << "microseconds per step";
  std::printf("%.1f ns per empty step\n", best);
}
