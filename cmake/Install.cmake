# `cmake --install`: the program, the headers of the C interface, and what find_package(lathe) needs.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set_target_properties(lathe PROPERTIES INSTALL_RPATH "${LLVM_LIBRARY_DIR}")
install(TARGETS lathe RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES include/lathe/Runtime/lathe.h include/lathe/Runtime/DLPack.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lathe/Runtime)
configure_package_config_file(cmake/LatheConfig.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/LatheConfig.cmake"
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Lathe PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/LatheConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/LatheConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/LatheConfigVersion.cmake" cmake/LatheAddModel.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Lathe)
