# Files for linking programs: headers, libattune.so, and its CMake and pkg-config files. The folder
# is always lib, because the library looks for its plug-ins beside itself.
set(CMAKE_INSTALL_LIBDIR lib)
include(CMakePackageConfigHelpers)

install(TARGETS attune_shared EXPORT attune-targets LIBRARY DESTINATION lib)
install(DIRECTORY include/attune DESTINATION include)
install(EXPORT attune-targets NAMESPACE attune:: DESTINATION lib/cmake/attune)
configure_package_config_file(cmake/attune-config.cmake.in
  "${CMAKE_CURRENT_BINARY_DIR}/attune-config.cmake" INSTALL_DESTINATION lib/cmake/attune)
# Interfaces are only ever added within a major release.
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/attune-config-version.cmake"
  COMPATIBILITY SameMajorVersion)
configure_file(cmake/attune.pc.in "${CMAKE_CURRENT_BINARY_DIR}/attune.pc" @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/attune-config.cmake"
              "${CMAKE_CURRENT_BINARY_DIR}/attune-config-version.cmake"
        DESTINATION lib/cmake/attune)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/attune.pc" DESTINATION lib/pkgconfig)

# build_installed_kernels.cmake says what becomes of them. Takes about a minute for each on two cores; an empty
# list builds nothing.
set(ATTUNE_INSTALL_TARGETS "native" CACHE STRING
    "GPUs for which installing compiles every kernel, as compilers call them: native;sm_90;gfx90a")
install(CODE "
  set(PREFIX \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
  set(TARGETS \"${ATTUNE_INSTALL_TARGETS}\")
  include(\"${CMAKE_CURRENT_LIST_DIR}/build_installed_kernels.cmake\")")
