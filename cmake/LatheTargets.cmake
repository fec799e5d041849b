# The four kinds of target of this project, each declared by one line in its folder's CMakeLists.txt:
#   lathe_add_library(LatheFuse A.cpp B.cpp DEPENDS LatheKernelIncGen LINK LatheShape)
#   lathe_add_tool(lathe main.cpp LINK LathePipeline)
#   lathe_add_unittest(ShapeTest ExprTest.cpp LINK LatheShape)
#   lathe_add_fuzzer(OnnxFuzzer OnnxFuzzer.cpp RUNS 20000 LINK LatheImportOnnx)
# All C++ that uses MLIR is compiled with one precompiled header. A program has MLIR and LLVM either both as shared libraries or both as static
# ones (a static MLIR library beside libLLVM would be a second copy of LLVM in the process).
# The header is a chain of two: the headers of LLVM and MLIR, which never change, and those of the two dialects, which take a second.
# Templates that a header instantiates are instantiated in it, once: that is a third of what a file would take.

separate_arguments(_lathe_flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_RELEASE}")
if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")
  string(TOUPPER "${CMAKE_BUILD_TYPE}" _type)
  separate_arguments(_lathe_flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${_type}}")
endif()
separate_arguments(_lathe_defs UNIX_COMMAND "${LLVM_DEFINITIONS}")

# HEADER becomes RESULT; rebuilt when anything that it includes changes.
function(_lathe_precompile header result)
  cmake_parse_arguments(A "" "" "FLAGS;DEPENDS" ${ARGN})
  add_custom_command(OUTPUT "${result}"
    COMMAND ${CMAKE_CXX_COMPILER} -x c++-header ${_lathe_flags} ${_lathe_defs} -std=gnu++17 -fPIC -Xclang -fno-pch-timestamp
            -fpch-instantiate-templates -isystem /usr/lib/llvm-19/include ${A_FLAGS} -MD -MF "${result}.d" "${header}" -o "${result}"
    DEPENDS "${header}" ${A_DEPENDS} DEPFILE "${result}.d" COMMENT "Precompiling ${header}" VERBATIM)
endfunction()

if(NOT LATHE_PCH)
  set(LATHE_PCH "${CMAKE_BINARY_DIR}/LathePch.pch")
  _lathe_precompile("${CMAKE_SOURCE_DIR}/cmake/LathePch.h" "${LATHE_PCH}")
endif()
set(LATHE_DIALECTS_PCH "${CMAKE_BINARY_DIR}/DialectsPch.pch")
_lathe_precompile("${CMAKE_SOURCE_DIR}/cmake/DialectsPch.h" "${LATHE_DIALECTS_PCH}"
  FLAGS -Xclang -include-pch -Xclang "${LATHE_PCH}" "-I${CMAKE_SOURCE_DIR}/include" "-I${CMAKE_BINARY_DIR}/include"
  DEPENDS "${LATHE_PCH}" LatheDialectIncGen LatheKernelIncGen)
add_custom_target(LathePch DEPENDS "${LATHE_DIALECTS_PCH}")

function(_lathe_use_pch target)
  add_dependencies(${target} LathePch)
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -include-pch -Xclang ${LATHE_DIALECTS_PCH} -Xclang -fno-pch-timestamp>")
  get_target_property(_sources ${target} SOURCES)
  set_property(SOURCE ${_sources} APPEND PROPERTY OBJECT_DEPENDS "${LATHE_DIALECTS_PCH}")
endfunction()

function(lathe_add_library name)
  cmake_parse_arguments(A "NO_PCH" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${A_UNPARSED_ARGUMENTS})
  if(A_DEPENDS)
    add_dependencies(${name} ${A_DEPENDS})
  endif()
  list(REMOVE_ITEM A_LINK MLIR LLVM) # programs choose: shared, or static (_lathe_add_portable)
  target_link_libraries(${name} PUBLIC ${A_LINK})
  if(NOT A_NO_PCH)
    _lathe_use_pch(${name})
  endif()
endfunction()

# MLIR and LLVM inside of TARGET, only as far as they are used, at an address of their own: a program that the loader has nothing to do for
# begins in a third of the time that it takes with the shared libraries, which are half a million relocations, and calls within LLVM are direct.
file(GLOB _lathe_archives ${LLVM_LIBRARY_DIR}/libMLIR*.a ${LLVM_LIBRARY_DIR}/libLLVM*.a)
list(FILTER _lathe_archives EXCLUDE REGEX "libMLIRCAPI")
add_library(LatheNoPolly STATIC EXCLUDE_FROM_ALL "${CMAKE_SOURCE_DIR}/cmake/NoPolly.cpp")
function(_lathe_link_static target)
  target_link_libraries(${target} PRIVATE ${_lathe_archives} LatheNoPolly z zstd xml2 ffi)
  target_link_options(${target} PRIVATE -fuse-ld=lld-19 -no-pie -Wl,--gc-sections,--as-needed ${ARGN})
endfunction()

function(_lathe_add_program name)
  add_executable(${name} ${ARGN})
  # CMake would say -fPIE for a program; the precompiled header is -fPIC.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIC)
endfunction()

# TOOL-portable, built on request (scripts/package): for systems without LLVM. What is left of shared libraries is looked for in lib/ beside
# the program's folder.
function(_lathe_add_portable name)
  cmake_parse_arguments(A "" "" "LINK" ${ARGN})
  _lathe_add_program(${name}-portable EXCLUDE_FROM_ALL ${A_UNPARSED_ARGUMENTS})
  target_link_libraries(${name}-portable PRIVATE ${A_LINK})
  _lathe_link_static(${name}-portable -Wl,--icf=all,--strip-all,--disable-new-dtags)
  set_target_properties(${name}-portable PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/portable/bin"
                        BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/../lib")
  _lathe_use_pch(${name}-portable)
endfunction()

function(lathe_add_tool name)
  cmake_parse_arguments(A "" "" "LINK" ${ARGN})
  _lathe_add_program(${name} ${A_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${A_LINK})
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    _lathe_link_static(${name} -Wl,--strip-debug)
  else() # links in less time
    target_link_libraries(${name} PRIVATE MLIR LLVM)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
  _lathe_use_pch(${name})
  _lathe_add_portable(${name} ${A_UNPARSED_ARGUMENTS} LINK ${A_LINK})
endfunction()

function(lathe_add_unittest name)
  cmake_parse_arguments(A "" "" "LINK" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${A_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${A_LINK} GTest::gtest GTest::gtest_main MLIR LLVM)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/unittests")
  add_test(NAME ${name} COMMAND ${name})
endfunction()

# NAME: a libFuzzer target, run briefly as a test on the seeds of a folder. Without the compiler's runtime library for it there is none.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_FLAGS -fsanitize=fuzzer)
check_cxx_source_compiles("#include <stddef.h>\n#include <stdint.h>\nextern \"C\" int LLVMFuzzerTestOneInput(const uint8_t *, size_t) { return 0; }" LATHE_HAS_FUZZER)
unset(CMAKE_REQUIRED_FLAGS)
function(lathe_add_fuzzer name)
  cmake_parse_arguments(A "" "SEEDS;RUNS" "LINK" ${ARGN})
  if(NOT LATHE_HAS_FUZZER)
    return()
  endif()
  add_executable(${name} ${A_UNPARSED_ARGUMENTS})
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(${name} PRIVATE ${A_LINK} MLIR LLVM)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/unittests")
  set(_corpus "${CMAKE_CURRENT_BINARY_DIR}/${name}.corpus")
  file(MAKE_DIRECTORY "${_corpus}")
  add_test(NAME ${name} COMMAND ${name} -seed=1 -runs=${A_RUNS} -timeout=20 -print_final_stats=1 -verbosity=0 "${_corpus}" ${A_SEEDS})
endfunction()

# Adds every folder below the current one that has a CMakeLists.txt; a new folder needs no edit here.
function(lathe_add_subdirectories)
  file(GLOB _lists RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS "*/CMakeLists.txt")
  list(SORT _lists)
  foreach(_list ${_lists})
    get_filename_component(_dir "${_list}" DIRECTORY)
    add_subdirectory("${_dir}")
  endforeach()
endfunction()
