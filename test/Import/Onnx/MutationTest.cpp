//===- MutationTest.cpp - Damaged models must not bring the importer down --===//
//
// Changes fields of the models in this folder (the seeds of the lit tests) and bytes of their serialised form, and imports the
// result. Any module or error is fine; a crash, an internal error or a hang is not.
//   OnnxMutationTest [--seeds FOLDER] [--count N] [--first N]
// takes other seeds (.textproto and .onnx, also in subfolders), more mutations, or goes on from one of them.
//
//===----------------------------------------------------------------------===//

#include "OnnxModel.pb.h"
#include "lathe/Import/Onnx/OnnxImporter.h"
#include "lathe/Support/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <random>

using namespace lathe;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

static std::string seedFolder = LATHE_SEED_FOLDER;
static unsigned mutationCount = 400, firstMutation = 0;

namespace {

class Mutator {
public:
  explicit Mutator(unsigned seed) : random(seed) {}

  void mutate(onnx::ModelProto &model) {
    collectStrings(model);
    for (unsigned n = 1 + pick(3); n > 0; --n)
      mutateSomewhere(model);
  }
  void mutate(std::string &bytes) {
    for (unsigned n = 1 + pick(8); n > 0 && !bytes.empty(); --n)
      bytes[pick(bytes.size())] = char(pick(256));
    if (pick(8) == 0)
      bytes.resize(pick(bytes.size() + 1));
  }
  size_t pick(size_t n) { return n ? random() % n : 0; }

private:
  int64_t number() {
    static const int64_t odd[] = {0, 1, -1, 2, 3, 7, -2, 64, 1000, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, int64_t(1) << 40};
    return odd[pick(std::size(odd))];
  }
  std::string word() { return strings.empty() || pick(6) == 0 ? "" : strings[pick(strings.size())]; }

  void collectStrings(const Message &m) {
    const Reflection &r = *m.GetReflection();
    std::vector<const FieldDescriptor *> fields;
    r.ListFields(m, &fields);
    for (const FieldDescriptor *f : fields)
      for (int i = 0, n = f->is_repeated() ? r.FieldSize(m, f) : 1; i < n; ++i)
        if (f->cpp_type() == FieldDescriptor::CPPTYPE_STRING)
          strings.push_back(f->is_repeated() ? r.GetRepeatedString(m, f, i) : r.GetString(m, f));
        else if (f->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
          collectStrings(f->is_repeated() ? r.GetRepeatedMessage(m, f, i) : r.GetMessage(m, f));
  }

  /// Walks down to a random message, then changes one of its fields.
  void mutateSomewhere(Message &m) {
    const Reflection &r = *m.GetReflection();
    std::vector<const FieldDescriptor *> fields, inner;
    r.ListFields(m, &fields);
    for (const FieldDescriptor *f : fields)
      if (f->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
        inner.push_back(f);
    if (!inner.empty() && pick(8) != 0) {
      const FieldDescriptor *f = inner[pick(inner.size())];
      Message &next = f->is_repeated() ? *r.MutableRepeatedMessage(&m, f, pick(r.FieldSize(m, f))) : *r.MutableMessage(&m, f);
      return mutateSomewhere(next);
    }
    // Mostly a field that is there, sometimes one that is not.
    const FieldDescriptor *f = !fields.empty() && pick(5) != 0 ? fields[pick(fields.size())]
                                                                : m.GetDescriptor()->field(pick(m.GetDescriptor()->field_count()));
    change(m, r, f);
  }

  void change(Message &m, const Reflection &r, const FieldDescriptor *f) {
    if (pick(6) == 0)
      return r.ClearField(&m, f);
    if (f->is_repeated()) {
      int n = r.FieldSize(m, f);
      size_t how = pick(3);
      if (n > 0 && how == 0)
        return r.RemoveLast(&m, f);
      if (n > 1 && how == 1)
        return r.SwapElements(&m, f, pick(n), pick(n));
      return set(m, r, f, true);
    }
    set(m, r, f, false);
  }

  void set(Message &m, const Reflection &r, const FieldDescriptor *f, bool repeated) {
    switch (f->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return repeated ? r.AddInt32(&m, f, int32_t(number())) : r.SetInt32(&m, f, int32_t(pick(30)));
    case FieldDescriptor::CPPTYPE_INT64:
      return repeated ? r.AddInt64(&m, f, number()) : r.SetInt64(&m, f, number());
    case FieldDescriptor::CPPTYPE_UINT64:
      return repeated ? r.AddUInt64(&m, f, number()) : r.SetUInt64(&m, f, number());
    case FieldDescriptor::CPPTYPE_FLOAT:
      return repeated ? r.AddFloat(&m, f, float(number())) : r.SetFloat(&m, f, float(number()));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return repeated ? r.AddDouble(&m, f, double(number())) : r.SetDouble(&m, f, double(number()));
    case FieldDescriptor::CPPTYPE_STRING:
      return repeated ? r.AddString(&m, f, word()) : r.SetString(&m, f, word());
    case FieldDescriptor::CPPTYPE_ENUM:
      return repeated ? (void)0 : r.SetEnumValue(&m, f, int(pick(15)));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      // A copy of an element, or an empty message.
      if (repeated && r.FieldSize(m, f) > 0) {
        const Message &source = r.GetRepeatedMessage(m, f, pick(r.FieldSize(m, f)));
        std::unique_ptr<Message> copy(source.New());
        copy->CopyFrom(source);
        r.AddAllocatedMessage(&m, f, copy.release());
      } else if (!repeated) {
        r.MutableMessage(&m, f);
      }
      return;
    default:
      return;
    }
  }

  std::mt19937 random;
  std::vector<std::string> strings;
};

std::vector<onnx::ModelProto> loadSeeds() {
  std::vector<std::string> paths;
  std::error_code error;
  for (llvm::sys::fs::recursive_directory_iterator it(seedFolder, error), end; it != end && !error; it.increment(error))
    paths.push_back(it->path());
  llvm::sort(paths);
  std::vector<onnx::ModelProto> seeds;
  for (const std::string &path : paths) {
    llvm::StringRef extension = llvm::sys::path::extension(path);
    auto buffer = llvm::MemoryBuffer::getFile(path);
    onnx::ModelProto model;
    if (!buffer || (*buffer)->getBufferSize() > 100000)
      continue;
    std::string bytes = (*buffer)->getBuffer().str();
    bool ok = extension == ".textproto" ? google::protobuf::TextFormat::ParseFromString(bytes, &model)
                                        : extension == ".onnx" && model.ParseFromString(bytes);
    if (ok)
      seeds.push_back(std::move(model));
  }
  return seeds;
}

TEST(OnnxMutation, NothingInAFileBringsTheImporterDown) {
  google::protobuf::SetLogHandler(nullptr);
  std::vector<onnx::ModelProto> seeds = loadSeeds();
  ASSERT_FALSE(seeds.empty()) << "no seeds in " << seedFolder;
  unsigned imported = 0;
  for (unsigned i = firstMutation; i < firstMutation + mutationCount; ++i) {
    Mutator mutator(i);
    onnx::ModelProto model = seeds[mutator.pick(seeds.size())];
    if (mutator.pick(4) != 0)
      mutator.mutate(model);
    std::string bytes = model.SerializePartialAsString();
    if (mutator.pick(4) == 0)
      mutator.mutate(bytes);
    SCOPED_TRACE("mutation " + std::to_string(i));
    if (mutationCount > 1000)
      llvm::errs() << "\r" << i;
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    auto module = importOnnxBytes(bytes, "mutated.onnx", /*isText=*/false, ImportOptions(), context);
    if (module) {
      ++imported;
      continue;
    }
    llvm::handleAllErrors(
        module.takeError(), [](const UserError &) {}, [](const UnsupportedError &) {},
        [](const llvm::ErrorInfoBase &e) { ADD_FAILURE() << e.message(); });
  }
  EXPECT_GT(imported, 0u) << "not a single mutation was harmless: the seeds no longer import";
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i + 1 < argc; i += 2) {
    llvm::StringRef flag = argv[i];
    if (flag == "--seeds")
      seedFolder = argv[i + 1];
    else if (flag == "--count")
      mutationCount = std::stoul(argv[i + 1]);
    else if (flag == "--first")
      firstMutation = std::stoul(argv[i + 1]);
  }
  return RUN_ALL_TESTS();
}
