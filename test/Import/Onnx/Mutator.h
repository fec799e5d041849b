//===- Mutator.h - Damage to ONNX models that keeps their form -------------===//
//
// Bytes changed at random are mostly no protobuf message any more. This changes fields: the same seed, the same change.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TEST_IMPORT_ONNX_MUTATOR_H
#define LATHE_TEST_IMPORT_ONNX_MUTATOR_H

#include "../ByteMutator.h"
#include "OnnxModel.pb.h"
#include <google/protobuf/message.h>
#include <memory>

namespace lathe::onnx::test {
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

class Mutator : public lathe::test::ByteMutator {
public:
  using ByteMutator::ByteMutator;

  void mutate(ModelProto &model) {
    collectStrings(model);
    for (unsigned n = 1 + pick(3); n > 0; --n)
      mutateSomewhere(model);
  }
  void mutate(std::string &bytes) { mutateBytes(bytes, 8); }

private:
  int64_t number() {
    static const int64_t odd[] = {0, 1, -1, 2, 3, 7, -2, 64, 1000, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, int64_t(1) << 40};
    return oneOf<int64_t>(odd);
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

  std::vector<std::string> strings;
};

} // namespace lathe::onnx::test

#endif // LATHE_TEST_IMPORT_ONNX_MUTATOR_H
