//===- MessageParserTest.cpp - The same messages as protobuf reads ---------===//

#include "../../../lib/Import/Onnx/MessageParser.h"
#include "Mutator.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

using namespace lathe::onnx;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

static constexpr int nesting = 100;

static bool parsePlain(const std::string &bytes, ModelProto &model) {
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t *>(bytes.data()), int(bytes.size()));
  in.SetRecursionLimit(nesting);
  return model.ParseFromCodedStream(&in) && in.ConsumedEntireMessage();
}

/// Puts the bytes that stayed in the file into the message.
static unsigned complete(Message &m, const MessageParser &parser) {
  unsigned found = 0;
  if (m.GetDescriptor() == TensorProto::descriptor()) {
    auto &tensor = static_cast<TensorProto &>(m);
    if (const llvm::ArrayRef<char> *place = parser.placeOf(tensor)) {
      tensor.set_raw_data(place->data(), place->size());
      ++found;
    }
  }
  const google::protobuf::Reflection &r = *m.GetReflection();
  std::vector<const FieldDescriptor *> fields;
  r.ListFields(m, &fields);
  for (const FieldDescriptor *f : fields)
    if (f->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
      for (int i = 0, n = f->is_repeated() ? r.FieldSize(m, f) : 1; i < n; ++i)
        found += complete(f->is_repeated() ? *r.MutableRepeatedMessage(&m, f, i) : *r.MutableMessage(&m, f), parser);
  return found;
}

/// Both parsers refuse the bytes, or make the same of them. The number of tensors whose bytes stayed out.
static unsigned expectSame(const std::string &bytes, size_t leastBytes) {
  ModelProto expected, got;
  MessageParser parser(nesting, leastBytes);
  bool accepted = parsePlain(bytes, expected);
  EXPECT_EQ(accepted, parser.parse(bytes, got));
  if (!accepted)
    return 0;
  unsigned found = complete(got, parser);
  EXPECT_EQ(expected.SerializePartialAsString(), got.SerializePartialAsString());
  return found;
}

static TensorProto tensorOf(const std::string &name, size_t size) {
  TensorProto t;
  t.set_name(name);
  t.set_data_type(TensorProto::UINT8);
  t.add_dims(int64_t(size));
  t.set_raw_data(std::string(size, name[0]));
  return t;
}

TEST(MessageParser, TakesLargeWeightsOut) {
  ModelProto model;
  GraphProto &graph = *model.mutable_graph();
  *graph.add_initializer() = tensorOf("a", 5000);
  *graph.add_initializer() = tensorOf("b", 10);
  *graph.add_initializer() = tensorOf("c", 70000);
  AttributeProto &value = *graph.add_node()->add_attribute();
  *value.mutable_t() = tensorOf("d", 6000);
  AttributeProto &branch = *graph.add_node()->add_attribute();
  *branch.mutable_g()->add_initializer() = tensorOf("e", 7000);
  EXPECT_EQ(4u, expectSame(model.SerializeAsString(), 4096));
  EXPECT_EQ(5u, expectSame(model.SerializeAsString(), 0));
}

/// A message that is there once may be there in parts, which are merged: of what is in both, the last one counts.
TEST(MessageParser, MergesParts) {
  ModelProto first, second;
  AttributeProto &a = *first.mutable_graph()->add_node()->add_attribute(), b;
  *a.mutable_t() = tensorOf("a", 5000);
  *b.mutable_t() = tensorOf("b", 7);
  *second.mutable_graph()->add_initializer() = tensorOf("c", 9000);
  std::string parts = a.SerializeAsString() + b.SerializeAsString();
  NodeProto node;
  node.GetReflection()->MutableUnknownFields(&node)->AddLengthDelimited(NodeProto::kAttributeFieldNumber, parts);
  GraphProto graph;
  graph.GetReflection()->MutableUnknownFields(&graph)->AddLengthDelimited(GraphProto::kNodeFieldNumber, node.SerializeAsString());
  ModelProto both;
  *both.mutable_graph() = graph;
  EXPECT_EQ(2u, expectSame(both.SerializeAsString() + second.SerializeAsString(), 4096));
}

TEST(MessageParser, RefusesWhatIsNestedTooDeeply) {
  for (int depth : {20, 31, 32, 33, 34, 35, 60}) {
    ModelProto model;
    GraphProto *graph = model.mutable_graph();
    for (int i = 0; i < depth; ++i)
      graph = graph->add_node()->add_attribute()->mutable_g();
    *graph->add_initializer() = tensorOf("a", 10000);
    expectSame(model.SerializeAsString(), 4096);
  }
}

TEST(MessageParser, AcceptsWhatProtobufAccepts) {
  google::protobuf::SetLogHandler(nullptr);
  std::vector<std::string> paths;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(LATHE_SEED_FOLDER, error), end; it != end && !error; it.increment(error))
    if (llvm::sys::path::extension(it->path()) == ".textproto")
      paths.push_back(it->path());
  llvm::sort(paths);
  unsigned seed = 0, taken = 0;
  for (const std::string &path : paths) {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    ModelProto model;
    if (!buffer || !google::protobuf::TextFormat::ParseFromString((*buffer)->getBuffer().str(), &model) || !model.graph().node_size())
      continue;
    for (unsigned i = 0; i < 40; ++i) {
      SCOPED_TRACE(path + ", mutation " + std::to_string(++seed));
      test::Mutator mutator(seed);
      ModelProto changed = model;
      *changed.mutable_graph()->add_initializer() = tensorOf("weights", 200);
      *changed.mutable_graph()->mutable_node(0)->add_attribute()->mutable_t() = tensorOf("value", 90);
      if (i % 2)
        mutator.mutate(changed);
      std::string bytes = changed.SerializePartialAsString();
      if (i)
        mutator.mutate(bytes);
      for (size_t leastBytes : {0, 64})
        taken += expectSame(bytes, leastBytes);
    }
  }
  EXPECT_GT(taken, 1000u);
}
