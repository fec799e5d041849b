//===- ZipArchive.cpp - Reading the directory of a ZIP file -----------------===//
//
// ZIP and ZIP64, methods stored and deflated. Nothing in the file is trusted: every offset and size is checked against the
// file before use, and a deflated member is only given the memory that its compressed size can possibly fill.
//
//===----------------------------------------------------------------------===//

#include "Archive.h"
#include "lathe/Support/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include <map>
#include <zlib.h>

using namespace lathe;
using namespace lathe::fx;
using namespace llvm::support::endian;

namespace {

constexpr uint64_t maxDeflateRatio = 1032; // deflate's limit
constexpr uint64_t endRecordBytes = 22, zip64LocatorBytes = 20, zip64EndBytes = 56, entryBytes = 46, localBytes = 30;

struct Entry {
  uint64_t localOffset, compressed, size;
  uint32_t crc;
  uint16_t method, flags;
};

class ZipArchive : public Archive {
public:
  ZipArchive(llvm::StringRef path, Member file) : path(path.str()), file(std::move(file)) {}

  llvm::Error readDirectory();
  bool has(llvm::StringRef name) const override { return entries.count((top + name).str()) != 0; }
  llvm::Expected<Member> read(llvm::StringRef name) const override;
  std::vector<std::string> names() const override {
    std::vector<std::string> result;
    for (const auto &[name, entry] : entries)
      if (llvm::StringRef(name).starts_with(top))
        result.push_back(name.substr(top.size()));
    return result;
  }

private:
  const char *at(uint64_t offset, uint64_t bytes) const {
    return offset <= file.data.size() && bytes <= file.data.size() - offset ? file.data.data() + offset : nullptr;
  }
  llvm::Error damaged(const llvm::Twine &what) const {
    return userError("{0}: not a readable .pt2 archive: {1}", path, what.str());
  }
  llvm::Error readEntries(uint64_t offset, uint64_t bytes, uint64_t count);
  llvm::Error inflate(llvm::StringRef name, const char *from, const Entry &entry, Member &result) const;

  std::string path;
  Member file;
  std::string top; ///< "linear/", or empty
  std::map<std::string, Entry> entries;
};

/// The 64-bit values that stand in the extra field where the 32-bit fields are all ones, in this order.
void applyZip64(Entry &entry, const char *extra, uint64_t bytes) {
  for (uint64_t pos = 0; pos + 4 <= bytes;) {
    uint16_t id = read16le(extra + pos), length = read16le(extra + pos + 2);
    pos += 4;
    if (length > bytes - pos)
      return;
    if (id == 1) {
      uint64_t used = 0;
      for (uint64_t *field : {&entry.size, &entry.compressed, &entry.localOffset})
        if (*field == 0xffffffffu && used + 8 <= length) {
          *field = read64le(extra + pos + used);
          used += 8;
        }
      return;
    }
    pos += length;
  }
}

} // namespace

llvm::Error ZipArchive::readDirectory() {
  uint64_t size = file.data.size();
  if (size < endRecordBytes)
    return damaged("the file is " + llvm::Twine(size) + " bytes long");
  // The end record is the last thing in the file but for a comment of at most 64 KiB.
  uint64_t lowest = size > endRecordBytes + 0xffff ? size - endRecordBytes - 0xffff : 0;
  std::optional<uint64_t> end;
  for (uint64_t pos = size - endRecordBytes + 1; pos-- > lowest;)
    if (read32le(file.data.data() + pos) == 0x06054b50) {
      end = pos;
      break;
    }
  if (!end)
    return damaged("it has no ZIP directory; is the file complete?");
  const char *record = file.data.data() + *end;
  uint64_t count = read16le(record + 10), bytes = read32le(record + 12), offset = read32le(record + 16);
  if (*end >= zip64LocatorBytes) {
    const char *locator = record - zip64LocatorBytes;
    if (read32le(locator) == 0x07064b50) {
      const char *end64 = at(read64le(locator + 8), zip64EndBytes);
      if (!end64 || read32le(end64) != 0x06064b50)
        return damaged("its ZIP64 directory is out of place");
      count = read64le(end64 + 32), bytes = read64le(end64 + 40), offset = read64le(end64 + 48);
    }
  }
  return readEntries(offset, bytes, count);
}

llvm::Error ZipArchive::readEntries(uint64_t offset, uint64_t bytes, uint64_t count) {
  if (!at(offset, bytes))
    return damaged("its directory lies outside the file");
  uint64_t last = offset + bytes;
  for (uint64_t i = 0; i < count; ++i) {
    if (last - offset < entryBytes || read32le(file.data.data() + offset) != 0x02014b50)
      return damaged("entry " + llvm::Twine(i) + " of its directory is damaged");
    const char *e = file.data.data() + offset;
    uint64_t nameBytes = read16le(e + 28), extraBytes = read16le(e + 30), commentBytes = read16le(e + 32);
    if (last - offset - entryBytes < nameBytes + extraBytes + commentBytes)
      return damaged("entry " + llvm::Twine(i) + " of its directory is cut off");
    Entry entry{read32le(e + 42), read32le(e + 20), read32le(e + 24), read32le(e + 16), read16le(e + 10), read16le(e + 8)};
    applyZip64(entry, e + entryBytes + nameBytes, extraBytes);
    std::string name(e + entryBytes, nameBytes);
    if (!entries.emplace(name, entry).second)
      return damaged("member '" + name + "' occurs twice");
    if (llvm::StringRef(name).ends_with("/archive_format") && (top.empty() || name.size() < top.size() + 14))
      top = name.substr(0, name.size() - 14);
    offset += entryBytes + nameBytes + extraBytes + commentBytes;
  }
  return llvm::Error::success();
}

llvm::Expected<Member> ZipArchive::read(llvm::StringRef name) const {
  auto found = entries.find((top + name).str());
  if (found == entries.end())
    return userError("{0}: the archive has no member '{1}'", path, name);
  const Entry &entry = found->second;
  const char *local = at(entry.localOffset, localBytes);
  if (!local || read32le(local) != 0x04034b50)
    return damaged("member '" + name + "' has no header");
  uint64_t start = entry.localOffset + localBytes + read16le(local + 26) + read16le(local + 28);
  const char *data = at(start, entry.compressed);
  if (!data)
    return damaged("member '" + name + "' reaches past the end of the file");
  if (entry.flags & 1)
    return damaged("member '" + name + "' is encrypted");
  Member result;
  if (entry.method == 8) {
    if (llvm::Error e = inflate(name, data, entry, result))
      return e;
    return result;
  }
  if (entry.method != 0)
    return damaged("member '" + name + "' has compression method " + llvm::Twine(entry.method) + "; stored and deflate are read");
  if (entry.compressed != entry.size)
    return damaged("member '" + name + "' is stored with two different sizes");
  return Member{llvm::ArrayRef<char>(data, entry.size), file.owner};
}

llvm::Error ZipArchive::inflate(llvm::StringRef name, const char *from, const Entry &entry, Member &result) const {
  if (entry.size / maxDeflateRatio > entry.compressed || entry.compressed > UINT32_MAX || entry.size > UINT32_MAX)
    return damaged("member '" + name + "' claims an impossible size");
  auto bytes = std::make_shared<std::vector<char>>(entry.size);
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return bug("zlib cannot be initialised");
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(from));
  stream.avail_in = entry.compressed;
  stream.next_out = reinterpret_cast<Bytef *>(bytes->data());
  stream.avail_out = entry.size;
  int status = ::inflate(&stream, Z_FINISH);
  uint64_t produced = stream.total_out;
  inflateEnd(&stream);
  if (status != Z_STREAM_END || produced != entry.size)
    return damaged("member '" + name + "' does not decompress");
  if (crc32(0, reinterpret_cast<const Bytef *>(bytes->data()), bytes->size()) != entry.crc)
    return damaged("member '" + name + "' fails its checksum");
  result = {llvm::ArrayRef<char>(*bytes), bytes};
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<Archive>> fx::openZip(llvm::StringRef path, Member file) {
  auto archive = std::make_unique<ZipArchive>(path, std::move(file));
  if (llvm::Error e = archive->readDirectory())
    return e;
  return archive;
}
