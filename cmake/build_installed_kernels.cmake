# Builds kernels for the GPUs that programs will run on, once for all users, when attune is
# installed: an unseen shape then finds its kernel built.
#
#   cmake -DPREFIX=... -DTARGETS=... -P build_installed_kernels.cmake
#
# PREFIX is the folder of the installation. TARGETS are GPUs as compilers call them, separated by
# semicolons; `native` among them stands for the NVIDIA GPUs that are in this machine now. A failure
# to build kernels for a named GPU is an error. For a detected GPU it is only a message.

cmake_minimum_required(VERSION 3.25)
set(attune "${PREFIX}/bin/attune")
set(folder "${PREFIX}/share/attune/built")

# Sets `out` to the names of the NVIDIA GPUs of this machine, each once.
function(find_native_targets out)
  set(${out} "" PARENT_SCOPE)
  execute_process(COMMAND "${attune}" devices --json
    OUTPUT_VARIABLE json ERROR_VARIABLE said RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(WARNING "Which GPUs there are is not known, and no kernel is built: attune devices ended with "
                    "${result}: ${said}")
    return()
  endif()
  string(JSON backends LENGTH "${json}" backends)
  set(found)
  # RANGE includes its end, where there is nothing and what is got is no name.
  foreach(i RANGE ${backends})
    string(JSON name ERROR_VARIABLE none GET "${json}" backends ${i} name)
    if(NOT name STREQUAL "cuda")
      continue()
    endif()
    string(JSON devices LENGTH "${json}" backends ${i} devices)
    foreach(j RANGE ${devices})
      string(JSON usable ERROR_VARIABLE none GET "${json}" backends ${i} devices ${j} usable)
      if(usable STREQUAL "ON")
        string(JSON arch GET "${json}" backends ${i} devices ${j} arch)
        list(APPEND found "${arch}")
      endif()
    endforeach()
  endforeach()
  if(NOT found)
    message(STATUS "No NVIDIA GPU here: no kernels are built for one that is. "
                   "-DATTUNE_INSTALL_TARGETS=sm_90 names others")
  endif()
  list(REMOVE_DUPLICATES found)
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

function(build_for target severity)
  message(STATUS "Kernels for ${target}, as ATTUNE_INSTALL_TARGETS says; some minutes of one core")
  execute_process(
    COMMAND "${attune}" build --every-kernel --target "${target}" --into "${folder}"
    RESULT_VARIABLE result)
  if(result EQUAL 3)
    message(WARNING "Not every kernel was built for ${target}; the others are installed")
  elseif(NOT result EQUAL 0)
    message(${severity} "Kernels for ${target} cannot be built: attune build ended with ${result}")
  endif()
endfunction()

set(native)
if("native" IN_LIST TARGETS)
  find_native_targets(native)
  list(REMOVE_ITEM TARGETS native)
  list(REMOVE_ITEM native ${TARGETS})
endif()
foreach(target IN LISTS TARGETS)
  build_for("${target}" FATAL_ERROR)
endforeach()
foreach(target IN LISTS native)
  build_for("${target}" WARNING)
endforeach()
