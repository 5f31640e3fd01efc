# attune_module(NAME SOURCES a.cc ... [DEPENDS m ...] [LIBRARIES lib ...] [TESTS a_test.cc ...]
#               [TEST_LIBRARIES lib ...] [TESTS_ALONE])
#
# One folder = one module = one static library `attune_NAME` (alias `attune::NAME`) = one test program
# `attune_NAME_test`. DEPENDS names other modules and is law: tools/check_layers.py compares it with
# the includes. LIBRARIES are third-party targets. Tests of modules only compute, and share the machine
# with others of their kind; TESTS_ALONE are of threads that wait for each other.
function(attune_module NAME)
  cmake_parse_arguments(ARG "TESTS_ALONE" "" "SOURCES;DEPENDS;LIBRARIES;TESTS;TEST_LIBRARIES" ${ARGN})
  list(TRANSFORM ARG_DEPENDS PREPEND attune_ OUTPUT_VARIABLE modules)
  if(ARG_SOURCES)
    add_library(attune_${NAME} STATIC ${ARG_SOURCES})
    set(scope PUBLIC)
    target_link_libraries(attune_${NAME} PRIVATE attune_compiler)
    # Those below base may lack the macros of its libraries.
    if(NAME STREQUAL base OR attune_base IN_LIST modules)
      attune_precompile_headers(attune_${NAME} MODULE)
    endif()
  else()
    add_library(attune_${NAME} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(attune::${NAME} ALIAS attune_${NAME})
  target_compile_features(attune_${NAME} ${scope} cxx_std_20)
  target_include_directories(attune_${NAME} ${scope} $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  target_link_libraries(attune_${NAME} ${scope} ${modules} ${ARG_LIBRARIES})
  if(ATTUNE_BUILD_TESTS AND ARG_TESTS)
    set(labels compute)
    if(ARG_TESTS_ALONE)
      set(labels)
    endif()
    attune_test(attune_${NAME}_test SOURCES ${ARG_TESTS}
                LIBRARIES attune_${NAME} ${ARG_TEST_LIBRARIES} LABELS ${labels})
  endif()
endfunction()

# attune_test(NAME SOURCES ... LIBRARIES ... [LABELS l ...] [TIMEOUT seconds] [SHARDS n]): one GoogleTest program = one CTest
# entry, or n of them, NAME_1 and so on, which share its tests out.

function(attune_test NAME)
  cmake_parse_arguments(ARG "" "TIMEOUT;SHARDS" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  math(EXPR timeout_s "${ARG_TIMEOUT} * ${ATTUNE_TEST_TIME_FACTOR}")
  add_executable(${NAME} ${ARG_SOURCES})
  target_link_libraries(${NAME} PRIVATE attune_compiler ${ARG_LIBRARIES} fmt::fmt GTest::gmock_main)
  # Debug tests are not optimised: that only slows their compilation. The code under test is.
  target_compile_options(${NAME} PRIVATE $<$<CONFIG:Debug>:-O0>)
  attune_precompile_headers(${NAME} TEST)
  if(NOT ARG_SHARDS)
    add_test(NAME ${NAME} COMMAND ${ATTUNE_TEST_LAUNCHER} $<TARGET_FILE:${NAME}>)
    set_tests_properties(${NAME} PROPERTIES TIMEOUT ${timeout_s} LABELS "${ARG_LABELS}")
    return()
  endif()
  foreach(shard RANGE 1 ${ARG_SHARDS})
    math(EXPR index "${shard} - 1")
    add_test(NAME ${NAME}_${shard} COMMAND ${ATTUNE_TEST_LAUNCHER} $<TARGET_FILE:${NAME}>)
    set_tests_properties(${NAME}_${shard} PROPERTIES TIMEOUT ${timeout_s} LABELS "${ARG_LABELS}"
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()

# attune_precompile_headers(TARGET KIND): the headers that most sources of a kind include take a third of the time of a
# source. The first target of the kind compiles them for all targets of it, with macros that all of them have. Clang accepts
# a precompiled header only with the very same macros on the command line, so it compiles without, which shows missing
# includes. A source with its own level of optimisation needs SKIP_PRECOMPILE_HEADERS.
#
#   MODULE  libraries        VERBS  libraries of verbs        TEST  test programs        BENCH  other programs
function(attune_precompile_headers TARGET KIND)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR ATTUNE_SANITIZE)
    return()
  endif()
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # With optimisation, GCC 12 reports false overflows in strings from a precompiled header.
    target_compile_options(${TARGET} PRIVATE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
  get_property(first GLOBAL PROPERTY ATTUNE_FIRST_${KIND})
  if(first)
    target_precompile_headers(${TARGET} REUSE_FROM ${first})
    return()
  endif()
  set(headers <algorithm> <chrono> <cstdint> <filesystem> <functional> <map> <memory> <optional> <set> <span> <sstream>
              <string> <unordered_map> <vector> <fmt/format.h> <fmt/ranges.h> <nlohmann/json.hpp>)
  set(headers_of_VERBS <CLI/CLI.hpp>)
  set(headers_of_BENCH <CLI/CLI.hpp>)
  set(headers_of_TEST <gmock/gmock.h> <gtest/gtest.h>)
  target_precompile_headers(${TARGET} PRIVATE ${headers} ${headers_of_${KIND}})
  set_property(GLOBAL PROPERTY ATTUNE_FIRST_${KIND} ${TARGET})
endfunction()

# attune_plugin(NAME SOURCES ... [DEPENDS m ...] [LIBRARIES lib ...]): a shared object that
# attune/solver/plugin.h loads at run time. Only its entry point is visible.
function(attune_plugin NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LIBRARIES" ${ARGN})
  list(TRANSFORM ARG_DEPENDS PREPEND attune_ OUTPUT_VARIABLE modules)
  add_library(attune_plugin_${NAME} MODULE ${ARG_SOURCES})
  set_target_properties(attune_plugin_${NAME} PROPERTIES
    PREFIX "" OUTPUT_NAME attune_${NAME} CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib/attune")
  target_link_libraries(attune_plugin_${NAME} PRIVATE attune_compiler ${modules} ${ARG_LIBRARIES})
  target_link_options(attune_plugin_${NAME} PRIVATE -Wl,--exclude-libs,ALL)
endfunction()
