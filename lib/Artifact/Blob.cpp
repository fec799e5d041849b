//===- Blob.cpp - Laying out the tables ------------------------------------===//
#include "Blob.h"
#include <cstring>

using namespace llvm;
using namespace lathe::artifact;

uint32_t Blob::raw(const void *data, size_t size) {
  bytes.resize((bytes.size() + 7) & ~size_t(7));
  uint32_t offset = bytes.size();
  bytes.append(static_cast<const char *>(data), size);
  return offset;
}

LatheString Blob::text(StringRef text) {
  if (text.empty())
    return {0, 0};
  auto [it, isNew] = known.try_emplace(text, LatheString{0, 0});
  if (isNew) {
    it->second = {static_cast<uint32_t>(bytes.size()), static_cast<uint32_t>(text.size())};
    bytes.append(text.data(), text.size());
    bytes.push_back('\0');
  }
  return it->second;
}

LatheArray Blob::texts(ArrayRef<std::string> all) {
  std::vector<LatheString> strings;
  for (const std::string &one : all)
    strings.push_back(text(one));
  return array(strings);
}

std::string Blob::finish(LatheHeader header) {
  bytes.resize((bytes.size() + 7) & ~size_t(7));
  std::memcpy(header.magic, LATHE_FORMAT_MAGIC, sizeof header.magic);
  header.major = LATHE_FORMAT_MAJOR;
  header.minor = LATHE_FORMAT_MINOR;
  header.headerBytes = sizeof header;
  header.blobBytes = bytes.size();
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}
