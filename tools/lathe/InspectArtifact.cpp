//===- InspectArtifact.cpp - What is in a shared object --------------------===//
//
// One walk over the tables makes a JSON value; text is printed from that, so both say the same.
//
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "HostTensor.h"
#include "lathe/Artifact/ArtifactFile.h"
#include "lathe/Artifact/ElfMachine.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace llvm;
using namespace lathe;
using namespace lathe::tool;
using artifact::ArtifactFile;

static json::Value text(StringRef raw) { return json::fixUTF8(raw); }

static json::Array texts(ArrayRef<StringRef> all) {
  json::Array result;
  for (StringRef one : all)
    result.push_back(text(one));
  return result;
}

static json::Value bound(int64_t value) { return value == INT64_MAX ? json::Value(nullptr) : json::Value(value); }

static json::Array describeSymbols(const ArtifactFile &file, const LatheHeader &tables) {
  json::Array result;
  for (const LatheSymbol &symbol : file.array<LatheSymbol>(tables.symbols)) {
    json::Array hints;
    for (int64_t hint : file.array<int64_t>(symbol.hints))
      hints.push_back(hint);
    result.push_back(json::Object{{"name", text(file.text(symbol.name))},
                                  {"min", symbol.min},
                                  {"max", bound(symbol.max)},
                                  {"hints", std::move(hints)}});
  }
  return result;
}

static json::Array describeTensors(const ArtifactFile &file, LatheArray tensors) {
  json::Array result;
  for (const LatheTensor &tensor : file.array<LatheTensor>(tensors)) {
    json::Array dims;
    for (const LatheDim &dim : file.array<LatheDim>(tensor.dims))
      dims.push_back(text(file.text(dim.text)));
    result.push_back(json::Object{{"name", text(file.text(tensor.name))},
                                  {"dtype", dtypeName({tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes})},
                                  {"shape", std::move(dims)}});
  }
  return result;
}

static json::Array describeStates(const ArtifactFile &file) {
  json::Array result;
  for (const LatheState &state : file.array<LatheState>(file.header().states)) {
    json::Array dims;
    for (const LatheDim &dim : file.array<LatheDim>(state.tensor.dims))
      dims.push_back(text(file.text(dim.text)));
    LatheDType type = state.tensor.dtype;
    result.push_back(json::Object{{"name", text(file.text(state.tensor.name))},
                                  {"dtype", dtypeName({type.code, type.bits, type.lanes})},
                                  {"shape", std::move(dims)},
                                  {"zeros", state.initial == LATHE_STATE_ZEROS}});
  }
  return result;
}

static StringRef levelName(uint32_t level, uint32_t machine) {
  static const char *const names[] = {"baseline", "avx2", "avx512"};
  switch (level) {
  case LATHE_LEVEL_AVX2_VNNI:
    return "avx2vnni";
  case LATHE_LEVEL_AVX512_VNNI:
    return "avx512vnni";
  case LATHE_LEVEL_AVX512_BF16:
    return "avx512bf16";
  case LATHE_LEVEL_AVX512_AMX:
    return "avx512amx";
  }
  const artifact::ElfMachine *elf = artifact::findElfMachine(machine);
  return elf && level == 0 ? elf->baseline : level < std::size(names) ? names[level] : "unknown";
}

static StringRef deviceName(uint32_t type) { return type == kDLCPU ? "cpu" : type == kDLCUDA ? "cuda" : "unknown"; }

static json::Array describeKernels(const ArtifactFile &file) {
  std::map<uint32_t, int64_t> launches;
  for (const ArtifactFile::Entry &entry : file.entries())
    for (const LatheProgram &program : file.array<LatheProgram>(entry.tables->programs))
      for (const LatheStep &step : file.array<LatheStep>(program.steps))
        if (step.kind == LATHE_STEP_KERNEL)
          ++launches[step.target];
  ArrayRef<LatheArray> schedules = file.array<LatheArray>(file.header().schedules);
  json::Array result;
  for (auto [i, kernel] : enumerate(file.array<LatheKernel>(file.header().kernels))) {
    json::Array variants;
    for (const LatheVariant &variant : file.array<LatheVariant>(kernel.variants))
      variants.push_back(levelName(variant.level, file.header().machine));
    if (kernel.cuda != LATHE_NONE)
      variants.push_back("cuda");
    result.push_back(json::Object{{"name", text(file.text(kernel.name))},
                                  {"class", text(file.text(kernel.kernelClass))},
                                  {"launches", launches[i]},
                                  {"variants", std::move(variants)},
                                  {"schedules", i < schedules.size() ? texts(file.texts(schedules[i])) : json::Array()},
                                  {"nodes", texts(file.texts(kernel.nodes))},
                                  {"unfused", texts(file.texts(kernel.unfused))}});
  }
  return result;
}

static json::Array describePrograms(const ArtifactFile &file, const LatheHeader &tables) {
  json::Array result;
  for (const LatheProgram &program : file.array<LatheProgram>(tables.programs)) {
    int64_t temporaries = 0, kernels = 0, conditional = 0;
    for (const LatheBuffer &buffer : file.array<LatheBuffer>(program.buffers))
      temporaries += buffer.kind == LATHE_BUFFER_TEMP;
    auto steps = file.array<LatheStep>(program.steps);
    for (const LatheStep &step : steps) {
      kernels += step.kind == LATHE_STEP_KERNEL;
      conditional += bool(step.flags & LATHE_STEP_CONDITIONAL);
    }
    result.push_back(json::Object{{"device", deviceName(program.deviceType)},
                                  {"steps", int64_t(steps.size())},
                                  {"kernel_launches", kernels},
                                  {"conditional_launches", conditional},
                                  {"temporaries", temporaries}});
  }
  return result;
}

static json::Array describeCuda(const ArtifactFile &file) {
  json::Array result;
  LatheArray reference = {file.header().cuda, 1};
  for (const LatheCudaTable &table : file.array<LatheCudaTable>(reference))
    for (const LatheCudaModule &module : file.array<LatheCudaModule>(table.modules))
      result.push_back(json::Object{
          {"sm", int64_t(module.sm)}, {"kind", module.kind ? "ptx" : "cubin"}, {"bytes", int64_t(module.bytes)}});
  return result;
}

static json::Object describeEntry(const ArtifactFile &file, const ArtifactFile::Entry &entry) {
  json::Array checks;
  for (const LatheCheck &check : file.array<LatheCheck>(entry.tables->checks))
    checks.push_back(text(file.text(check.text)));
  return json::Object{{"name", text(entry.name)},
                      {"symbols", describeSymbols(file, *entry.tables)},
                      {"inputs", describeTensors(file, entry.tables->inputs)},
                      {"outputs", describeTensors(file, entry.tables->outputs)},
                      {"relations", std::move(checks)},
                      {"programs", describePrograms(file, *entry.tables)}};
}

/// The first entry point stands at the top level, as that of an artifact of one model does; all of them are in
/// "entries".
static json::Object describe(const ArtifactFile &file) {
  const LatheHeader &header = file.header();
  const artifact::ElfMachine *elf = artifact::findElfMachine(header.machine);
  json::Object notes;
  std::vector<StringRef> pairs = file.texts(header.notes);
  for (size_t i = 0; i + 1 < pairs.size(); i += 2)
    notes[json::fixUTF8(pairs[i])] = text(pairs[i + 1]);
  json::Array entries;
  for (const ArtifactFile::Entry &entry : file.entries())
    entries.push_back(describeEntry(file, entry));
  json::Object result = *entries[0].getAsObject();
  result.erase("name");
  json::Object common{{"format", std::to_string(header.major) + "." + std::to_string(header.minor)},
                      {"producer", text(file.text(header.producer))},
                      {"model", text(file.text(header.modelName))},
                      {"machine", elf ? elf->arch : "unknown"},
                      {"file_bytes", int64_t(file.fileBytes())},
                      {"data_bytes", int64_t(header.dataBytes)},
                      {"external_data", text(file.text(header.externalData))},
                      {"states", describeStates(file)},
                      {"entries", std::move(entries)},
                      {"kernels", describeKernels(file)},
                      {"cuda_modules", describeCuda(file)},
                      {"notes", std::move(notes)}};
  for (auto &[key, value] : common)
    result[key] = std::move(value);
  return result;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string joined(const json::Array *array, StringRef separator) {
  std::string result;
  for (const json::Value &value : *array)
    result += (result.empty() ? "" : separator.str()) + value.getAsString().value_or("").str();
  return result;
}

static void printTensors(const json::Object &root, StringRef key, StringRef title) {
  for (const json::Value &value : *root.getArray(key)) {
    const json::Object &tensor = *value.getAsObject();
    outs() << title << " " << *tensor.getString("name") << ": " << *tensor.getString("dtype") << " ["
           << joined(tensor.getArray("shape"), ", ") << "]\n";
  }
}

static void printSymbols(const json::Object &root) {
  for (const json::Value &value : *root.getArray("symbols")) {
    const json::Object &symbol = *value.getAsObject();
    outs() << "size   " << *symbol.getString("name") << " in [" << *symbol.getInteger("min") << ", ";
    if (auto max = symbol.getInteger("max"))
      outs() << *max << "]";
    else
      outs() << "unbounded)";
    for (const json::Value &hint : *symbol.getArray("hints"))
      outs() << " @" << hint.getAsInteger().value_or(0);
    outs() << "\n";
  }
}

static void printKernels(const json::Object &root) {
  for (const json::Value &value : *root.getArray("kernels")) {
    const json::Object &kernel = *value.getAsObject();
    outs() << "kernel " << *kernel.getString("name") << " (" << *kernel.getString("class") << ", "
           << joined(kernel.getArray("variants"), "+") << ", " << *kernel.getInteger("launches") << " launches)\n";
    if (!kernel.getArray("nodes")->empty())
      outs() << "         nodes: " << joined(kernel.getArray("nodes"), ", ") << "\n";
    for (const json::Value &line : *kernel.getArray("schedules"))
      outs() << "         " << line.getAsString().value_or("") << "\n";
    for (const json::Value &reason : *kernel.getArray("unfused"))
      outs() << "         unfused: " << reason.getAsString().value_or("") << "\n";
  }
}

/// `shared`: the states, of an artifact of one entry point.
static void printEntry(const json::Object &entry, const json::Object *shared) {
  printSymbols(entry);
  printTensors(entry, "inputs", "input ");
  printTensors(entry, "outputs", "output");
  if (shared)
    printTensors(*shared, "states", "state ");
  for (const json::Value &relation : *entry.getArray("relations"))
    outs() << "where  " << relation.getAsString().value_or("") << "\n";
  for (const json::Value &value : *entry.getArray("programs")) {
    const json::Object &program = *value.getAsObject();
    outs() << "program for " << *program.getString("device") << ": " << *program.getInteger("steps") << " steps, "
           << *program.getInteger("kernel_launches") << " kernel launches, ";
    if (int64_t conditional = *program.getInteger("conditional_launches"))
      outs() << conditional << " of them where sizes ask for them, ";
    outs() << *program.getInteger("temporaries") << " temporaries\n";
  }
}

static void printText(const json::Object &root) {
  outs() << "model  " << *root.getString("model") << " for " << *root.getString("machine") << ", by "
         << *root.getString("producer") << " (format " << *root.getString("format") << ")\n";
  outs() << "bytes  " << *root.getInteger("file_bytes") << " in the file, " << *root.getInteger("data_bytes")
         << " of constants";
  if (StringRef external = *root.getString("external_data"); !external.empty())
    outs() << " in " << external;
  outs() << "\n";
  std::map<StringRef, StringRef> notes; // in an order of their own
  for (const auto &note : *root.getObject("notes"))
    notes[note.first] = note.second.getAsString().value_or("");
  for (auto [key, value] : notes)
    outs() << "note   " << key << ": " << value << "\n";
  const json::Array &entries = *root.getArray("entries");
  for (const json::Value &entry : entries) {
    if (entries.size() > 1)
      outs() << "entry  " << *entry.getAsObject()->getString("name") << "\n";
    printEntry(*entry.getAsObject(), entries.size() > 1 ? nullptr : &root);
  }
  if (entries.size() > 1)
    printTensors(root, "states", "state ");
  for (const json::Value &value : *root.getArray("cuda_modules")) {
    const json::Object &module = *value.getAsObject();
    outs() << "cuda   " << *module.getString("kind") << " sm_" << *module.getInteger("sm") << ", "
           << *module.getInteger("bytes") << " bytes\n";
  }
  printKernels(root);
}

Error lathe::tool::inspectArtifact(const std::string &path, bool json) {
  Expected<ArtifactFile> file = ArtifactFile::open(path);
  if (!file)
    return file.takeError();
  json::Object root = describe(*file);
  if (json)
    outs() << formatv("{0:2}", json::Value(std::move(root))) << "\n";
  else
    printText(root);
  return Error::success();
}
