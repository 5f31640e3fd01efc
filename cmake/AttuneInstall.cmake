# What programs link: headers, libattune.so, and how CMake and pkg-config find them. The folder is
# always lib, because the library looks for its plug-ins beside itself.
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

# Kernels for GPUs that programs will run on, compiled once for everybody: a shape that nobody has
# seen then finds its kernel built. Takes about a minute for each target on two cores.
set(ATTUNE_INSTALL_TARGETS "" CACHE STRING
    "GPUs for which installing compiles every kernel, as compilers call them: sm_90;gfx90a")
foreach(target IN LISTS ATTUNE_INSTALL_TARGETS)
  install(CODE "
    set(prefix \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
    execute_process(
      COMMAND \"\${prefix}/bin/attune\" build --every-kernel --target ${target} --into \"\${prefix}/share/attune/built\"
      RESULT_VARIABLE result)
    if(result EQUAL 3)
      message(WARNING \"Not every kernel was built for ${target}; the others are installed\")
    elseif(NOT result EQUAL 0)
      message(FATAL_ERROR \"Kernels for ${target} cannot be built: attune build ended with \${result}\")
    endif()")
endforeach()
