# Language level and warnings, in one interface target that every module links privately.
add_library(attune_compiler INTERFACE)
target_compile_features(attune_compiler INTERFACE cxx_std_20)
# Clang's -Wshadow also warns of equal type names in sources that a unity build joins.
target_compile_options(attune_compiler INTERFACE -Wall -Wextra -Wnon-virtual-dtor -Woverloaded-virtual
                                                 $<$<CXX_COMPILER_ID:GNU>:-Wshadow>)
# Neither assertions nor debug information name a path of the machine that built a program. A debugger that is started
# in the source folder finds the sources.
target_compile_options(attune_compiler INTERFACE "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")
add_compile_options("-fdebug-prefix-map=${PROJECT_SOURCE_DIR}=." "-fdebug-prefix-map=${PROJECT_BINARY_DIR}=.")
if(ATTUNE_WERROR)
  target_compile_options(attune_compiler INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 takes the inside of an empty std::optional or of a std::variant that is moved for
  # uninitialised, and assignments of string literals for copies of a string into itself (its bug
  # 105651). Clang and later versions look on.
  target_compile_options(attune_compiler INTERFACE -Wno-maybe-uninitialized -Wno-restrict)
endif()
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC takes a source that another one includes for a header. Anonymous namespaces of a header
  # would make different types of one name.
  target_compile_options(attune_compiler INTERFACE -Wno-subobject-linkage)
endif()
# `asan` and `tsan` presets set this; it must reach every object, so it is global.
set(ATTUNE_SANITIZE "" CACHE STRING "Value of -fsanitize=, empty for none")
# The command prefix of a test: under a sanitizer, a watch over the reports of its children.
set(ATTUNE_TEST_LAUNCHER)
# How much longer than usual a test may take: loops over instrumented kernels are ten times as slow.
set(ATTUNE_TEST_TIME_FACTOR 1)
if(ATTUNE_SANITIZE)
  set(ATTUNE_TEST_TIME_FACTOR 12)
  set(ATTUNE_TEST_LAUNCHER python3 "${PROJECT_SOURCE_DIR}/tools/sanitizers/watched_run.py")
  add_compile_options(-fsanitize=${ATTUNE_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${ATTUNE_SANITIZE})
  if(ATTUNE_SANITIZE MATCHES "undefined")
    # Debian's libsoci hides the type information that the check of virtual tables asks for.
    add_compile_options(-fno-sanitize=vptr)
  endif()
endif()
# libFuzzer finds its way by the coverage of the code under test, so every object is instrumented.
if(ATTUNE_BUILD_FUZZERS)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Otherwise GCC spends a tenth of its time on garbage collection, and needs a fifth less memory.
  add_compile_options(--param=ggc-min-heapsize=1048576)
endif()
find_program(ATTUNE_CCACHE ccache DOC "Compiler cache to compile through; OFF for none")
if(ATTUNE_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache keeps objects with precompiled headers only with this setting, and if GCC names the headers.
  foreach(language C CXX)
    set(CMAKE_${language}_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_DEPEND=1
        CCACHE_SLOPPINESS=pch_defines,time_macros "${ATTUNE_CCACHE}")
  endforeach()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)
  endif()
endif()
