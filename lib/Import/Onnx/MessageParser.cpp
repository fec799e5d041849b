//===- MessageParser.cpp - Model messages whose weights stay in the file ---===//
//
// The walk goes into large messages alone, and only into those that lead to tensors. Everything between what it takes out is parsed by
// protobuf, run by run in the order of the file, so that repeated fields keep their order and what is damaged is refused as ever.
//
//===----------------------------------------------------------------------===//

#include "MessageParser.h"
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

using namespace lathe;
using namespace lathe::onnx;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;
using llvm::StringRef;

/// protobuf's own parser, for a run of whole fields.
static bool mergePlain(Message &message, StringRef bytes, int nesting) {
  if (bytes.empty())
    return true;
  CodedInputStream in(reinterpret_cast<const uint8_t *>(bytes.data()), int(bytes.size()));
  in.SetRecursionLimit(nesting);
  return message.MergePartialFromCodedStream(&in) && in.ConsumedEntireMessage();
}

static bool isRawData(const FieldDescriptor &field) {
  return field.containing_type() == TensorProto::descriptor() && field.number() == TensorProto::kRawDataFieldNumber;
}

/// Whether tensors lie somewhere in the field's messages. None of these types has alternatives (oneof), of which a later one replaces an
/// earlier one as a whole.
static bool leadsToTensors(const FieldDescriptor &field) {
  const Descriptor *type = field.message_type();
  for (const Descriptor *one : {GraphProto::descriptor(), NodeProto::descriptor(), AttributeProto::descriptor(), TensorProto::descriptor(),
                                SparseTensorProto::descriptor(), FunctionProto::descriptor()})
    if (type == one)
      return true;
  return false;
}

namespace {
/// A field whose value has a length.
struct Delimited {
  const FieldDescriptor *field = nullptr; ///< null: not one that is known, or not written in the shortest way, which protobuf judges
  StringRef value;
};
} // namespace

/// Reads a field's length behind its tag, which took `tagBytes`; nothing is read where that is no such field.
static Delimited readDelimited(CodedInputStream &in, const Descriptor &type, StringRef bytes, uint32_t tag, int tagBytes) {
  if (WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED || size_t(tagBytes) != CodedOutputStream::VarintSize32(tag))
    return {};
  const FieldDescriptor *field = type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
  if (!field || !(isRawData(*field) || leadsToTensors(*field)))
    return {};
  int at = in.CurrentPosition();
  uint32_t length = 0;
  CodedInputStream ahead(reinterpret_cast<const uint8_t *>(bytes.data()) + at, int(bytes.size()) - at);
  if (!ahead.ReadVarint32(&length) || size_t(ahead.CurrentPosition()) != CodedOutputStream::VarintSize32(length) ||
      length > bytes.size() - at - ahead.CurrentPosition())
    return {};
  return {field, bytes.substr(at + ahead.CurrentPosition(), length)};
}

bool MessageParser::take(Message &message, const FieldDescriptor &field, StringRef bytes, int nesting) {
  if (isRawData(field)) {
    places[static_cast<const TensorProto *>(&message)] = llvm::ArrayRef<char>(bytes.data(), bytes.size());
    return true;
  }
  const google::protobuf::Reflection &r = *message.GetReflection();
  return nesting > 0 && merge(field.is_repeated() ? *r.AddMessage(&message, &field) : *r.MutableMessage(&message, &field), bytes, nesting - 1);
}

bool MessageParser::merge(Message &message, StringRef bytes, int nesting) {
  CodedInputStream in(reinterpret_cast<const uint8_t *>(bytes.data()), int(bytes.size()));
  in.SetRecursionLimit(nesting);
  size_t plain = 0; // where the run begins that protobuf is to parse
  for (size_t at; (at = in.CurrentPosition()) < bytes.size();) {
    uint32_t tag = in.ReadTag();
    Delimited d = tag ? readDelimited(in, *message.GetDescriptor(), bytes, tag, in.CurrentPosition() - int(at)) : Delimited();
    // A field that is there once may be there in parts, which are merged: the walk goes into all of them, or into none.
    if (!d.field || (d.field->is_repeated() && d.value.size() < leastBytes)) {
      if (!WireFormatLite::SkipField(&in, tag))
        return false;
      continue;
    }
    if (!mergePlain(message, bytes.slice(plain, at), nesting) || !take(message, *d.field, d.value, nesting))
      return false;
    plain = d.value.end() - bytes.begin();
    if (!in.Skip(int(plain) - in.CurrentPosition()))
      return false;
  }
  return mergePlain(message, bytes.drop_front(plain), nesting);
}
