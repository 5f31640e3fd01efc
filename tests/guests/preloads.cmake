# The libraries that programs of users have preloaded: allocators, and the runtimes of GCC's sanitizers.
# Sets ATTUNE_PRELOADS to the names of those that are installed, and ATTUNE_PRELOAD_<name> to their files.
set(ATTUNE_PRELOADS)
set(ATTUNE_PRELOADED_ALLOCATORS)
if(ATTUNE_SANITIZE)
  set(preloads)  # Instrumented programs have a runtime of their own.
else()
  set(preloads jemalloc tcmalloc mimalloc asan tsan)
endif()
foreach(name ${preloads})
  set(file_jemalloc libjemalloc.so.2)
  set(file_tcmalloc libtcmalloc_minimal.so.4)
  set(file_mimalloc libmimalloc.so.2.0)
  set(file_asan libasan.so.8)
  set(file_tsan libtsan.so.2)
  set(ATTUNE_PRELOAD_${name} "/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/${file_${name}}")
  if(NOT EXISTS "${ATTUNE_PRELOAD_${name}}")
    message(STATUS "No tests with ${file_${name}} preloaded: it is not installed")
    continue()
  endif()
  list(APPEND ATTUNE_PRELOADS ${name})
  if(NOT name MATCHES "san$")
    list(APPEND ATTUNE_PRELOADED_ALLOCATORS ${name})
  endif()
endforeach()

# attune_preloaded_script(NAME TIMEOUT s [LABELS l ...] PRELOADS name ... COMMAND ...): one test for each library, NAME_with_<name>.
# The command understands --preload.
function(attune_preloaded_script NAME)
  cmake_parse_arguments(ARG "" "TIMEOUT" "LABELS;PRELOADS;COMMAND" ${ARGN})
  foreach(name ${ARG_PRELOADS})
    add_test(NAME ${NAME}_with_${name} COMMAND ${ARG_COMMAND} --preload "${ATTUNE_PRELOAD_${name}}")
    set_tests_properties(${NAME}_with_${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
  endforeach()
endfunction()

# The same for a program. tests/guests checks for leaks. attune-tuner ends in the middle of its work, and its threads with it.
function(attune_preloaded_program NAME)
  cmake_parse_arguments(ARG "" "TIMEOUT" "LABELS;PRELOADS;COMMAND" ${ARGN})
  foreach(name ${ARG_PRELOADS})
    add_test(NAME ${NAME}_with_${name}
      COMMAND ${CMAKE_COMMAND} -E env "LD_PRELOAD=${ATTUNE_PRELOAD_${name}}" "ASAN_OPTIONS=detect_leaks=0"
              "TSAN_OPTIONS=ignore_noninstrumented_modules=1,atexit_sleep_ms=0,report_thread_leaks=0"
              ${ARG_COMMAND})
    set_tests_properties(${NAME}_with_${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
  endforeach()
endfunction()
