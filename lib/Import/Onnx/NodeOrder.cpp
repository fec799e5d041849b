//===- NodeOrder.cpp - Producers before users ------------------------------===//

#include "GraphImporter.h"

using namespace lathe;
using namespace lathe::onnx;

std::string onnx::nameOf(const NodeProto &node) {
  if (!node.name().empty())
    return node.name();
  return node.op_type() + "_" + (node.output_size() ? node.output(0) : "");
}

using Visit = llvm::function_ref<void(const std::string &)>;

static void forEachRead(const NodeProto &node, Visit f);

/// Calls f for every name that the subgraph takes from around it. What it defines itself hides a name of its surroundings.
static void forEachFreeName(const GraphProto &graph, Visit f) {
  std::set<std::string> own;
  for (const ValueInfoProto &input : graph.input())
    own.insert(input.name());
  for (const TensorProto &initializer : graph.initializer())
    own.insert(initializer.name());
  for (const NodeProto &inner : graph.node())
    own.insert(inner.output().begin(), inner.output().end());
  auto visit = [&](const std::string &name) {
    if (!own.count(name))
      f(name);
  };
  for (const NodeProto &inner : graph.node())
    forEachRead(inner, visit);
  for (const ValueInfoProto &output : graph.output())
    visit(output.name());
}

/// Calls f for every name that the node reads, also from within its subgraphs.
static void forEachRead(const NodeProto &node, Visit f) {
  for (const std::string &input : node.input())
    f(input);
  for (const AttributeProto &attribute : node.attribute()) {
    if (attribute.has_g())
      forEachFreeName(attribute.g(), f);
    for (const GraphProto &graph : attribute.graphs())
      forEachFreeName(graph, f);
  }
}

std::vector<const NodeProto *> onnx::sortedNodes(const google::protobuf::RepeatedPtrField<NodeProto> &nodes) {
  std::map<std::string, int> producer;
  for (int i = 0; i < nodes.size(); ++i)
    for (const std::string &output : nodes[i].output())
      if (!output.empty() && !producer.emplace(output, i).second)
        failWrong("value '{0}' is produced by node '{1}' and by node '{2}'", output, nameOf(nodes[producer[output]]),
                  nameOf(nodes[i]));
  std::vector<std::set<int>> users(nodes.size());
  std::vector<int> waitsFor(nodes.size(), 0);
  for (int i = 0; i < nodes.size(); ++i)
    forEachRead(nodes[i], [&](const std::string &name) {
      auto it = producer.find(name);
      if (it != producer.end() && users[it->second].insert(i).second)
        ++waitsFor[i];
    });
  // The first node in the file's order that is ready comes next, so a sorted file keeps its order.
  std::set<int> ready;
  for (int i = 0; i < nodes.size(); ++i)
    if (waitsFor[i] == 0)
      ready.insert(i);
  std::vector<const NodeProto *> order;
  while (!ready.empty()) {
    int i = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(&nodes[i]);
    for (int user : users[i])
      if (--waitsFor[user] == 0)
        ready.insert(user);
  }
  for (int i = 0; i < nodes.size() && order.size() < size_t(nodes.size()); ++i)
    if (waitsFor[i] > 0)
      failWrong("node '{0}' ({1}) is on a cycle: it reads what is computed from its own result", nameOf(nodes[i]),
                nodes[i].op_type());
  return order;
}
