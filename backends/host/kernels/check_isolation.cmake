# cmake -DNM=nm -DOBJECTS=a.o;b.o -P check_isolation.cmake
#
# Fails if a unit that is compiled for another level of the instruction set defines a symbol that the linker could
# prefer to the one of a baseline unit: anything global or weak that is not ours alone.
foreach(object IN LISTS OBJECTS)
  execute_process(COMMAND ${NM} --defined-only --demangle ${object}
                  OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE ";" "," symbols "${symbols}")
  string(REPLACE "\n" ";" lines "${symbols}")
  foreach(line IN LISTS lines)
    # Upper case is visible to the linker, and so are u (unique) and v, w (weak).
    if(NOT line MATCHES "^[0-9a-f]+ ([A-Zuvw]) (.*)$")
      continue()
    endif()
    set(name "${CMAKE_MATCH_2}")
    if(NOT name MATCHES "eigen_for_x86_64_v|^attune::host::(Kernels|Eigen)(Baseline|V[234])\\(\\)$|^DW\\.ref\\.")
      message(SEND_ERROR "${object} shares ${name} with the rest of the program.")
    endif()
  endforeach()
endforeach()
