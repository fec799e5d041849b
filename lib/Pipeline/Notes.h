//===- Notes.h - How an artifact was compiled --------------------------------===//
#ifndef LATHE_LIB_PIPELINE_NOTES_H
#define LATHE_LIB_PIPELINE_NOTES_H

#include "lathe/Artifact/ArtifactBuilder.h"
#include "lathe/Pipeline/Compile.h"

namespace lathe::pipeline {

/// The model's format, the flags that the bytes depend on, and the version of LLVM.
void addNotes(artifact::ArtifactBuilder &builder, const CompileOptions &options);

/// The flags that the bytes depend on, with their defaults where that is needed to say what was meant (`host`).
std::string flagsOf(const CompileOptions &options);

} // namespace lathe::pipeline

#endif // LATHE_LIB_PIPELINE_NOTES_H
