//===- Atoms.cpp - Each atom once ------------------------------------------===//

#include "ExprImpl.h"
#include "llvm/ADT/Hashing.h"
#include <unordered_map>

namespace lathe::shape {

namespace {
struct HashOfText {
  size_t operator()(std::string_view text) const { return llvm::hash_value(llvm::StringRef(text)); }
};

/// Nodes by their text, for as long as something holds them. The keys are the nodes' own texts.
class AtomTable {
public:
  AtomRef find(const std::string &text) {
    std::lock_guard<std::mutex> lock(mutex);
    auto it = nodes.find(text);
    return it == nodes.end() ? nullptr : it->second.lock();
  }

  /// The node, or the one that another thread has put in meanwhile.
  AtomRef add(AtomRef node) {
    std::lock_guard<std::mutex> lock(mutex);
    auto it = nodes.find(node->text);
    if (it != nodes.end()) {
      if (AtomRef known = it->second.lock())
        return known;
      nodes.erase(it); // Its node is about to go, and the text that is the key with it.
    }
    nodes.emplace(node->text, node);
    return node;
  }

  void drop(const AtomNode *node) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      auto it = nodes.find(node->text);
      if (it != nodes.end() && it->first.data() == node->text.data())
        nodes.erase(it);
    }
    delete node; // not under the lock: what is in it may go, too
  }

private:
  std::mutex mutex;
  std::unordered_map<std::string_view, std::weak_ptr<const AtomNode>, HashOfText> nodes;
};
} // namespace

/// Never destroyed: expressions that are constants of the program may go after it.
static AtomTable &atomTable() {
  static auto *table = new AtomTable;
  return *table;
}

AtomRef internAtom(std::string text, llvm::function_ref<AtomNode()> make) {
  if (AtomRef known = atomTable().find(text))
    return known;
  auto *node = new AtomNode(make());
  node->text = std::move(text);
  node->hash = HashOfText()(node->text);
  return atomTable().add(AtomRef(node, [](const AtomNode *n) { atomTable().drop(n); }));
}

} // namespace lathe::shape
