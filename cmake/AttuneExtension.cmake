# attune_extension(NAME SOURCES ... [LIBRARIES ...] [TESTS ...]): the program of an extension from main.cc beside the
# caller, and from the sources of its verbs. extension.txt beside the caller lists the verbs (apps/attune/extensions.h); each is
# a link to the program, which `attune VERB` becomes.
function(attune_extension NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES;TESTS" ${ARGN})
  add_library(attune_${NAME}_verbs OBJECT ${ARG_SOURCES})
  target_include_directories(attune_${NAME}_verbs PUBLIC ${PROJECT_SOURCE_DIR})
  attune_precompile_headers(attune_${NAME}_verbs VERBS)
  target_link_libraries(attune_${NAME}_verbs PUBLIC attune_program ${ARG_LIBRARIES} PRIVATE attune_compiler)

  set(program attune-${NAME})
  add_executable(${program} main.cc ${PROJECT_SOURCE_DIR}/apps/attune/standard_descriptors.cc)
  target_link_libraries(${program} PRIVATE attune_${NAME}_verbs attune_command_line attune_program
    ${ARG_LIBRARIES} attune_storage_servers attune_compiler)
  add_dependencies(${program} attune-evaluator)
  add_dependencies(attune ${program})
  install(TARGETS ${program} RUNTIME DESTINATION libexec/attune)

  set(list "${CMAKE_BINARY_DIR}/share/attune/extensions/${NAME}.txt")
  configure_file(extension.txt "${list}" COPYONLY)
  install(FILES extension.txt DESTINATION share/attune/extensions RENAME ${NAME}.txt)
  file(STRINGS extension.txt lines REGEX "^[a-z-]+  ")
  list(TRANSFORM lines REPLACE "  .*" "" OUTPUT_VARIABLE verbs)
  list(REMOVE_ITEM verbs ${NAME})
  file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
  foreach(verb IN LISTS verbs)
    file(CREATE_LINK ${program} "${CMAKE_BINARY_DIR}/bin/attune-${verb}" SYMBOLIC)
    install(CODE "
      file(CREATE_LINK ${program} \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/libexec/attune/attune-${verb}\" SYMBOLIC)")
  endforeach()
  if(ATTUNE_BUILD_TESTS AND ARG_TESTS)
    attune_test(attune_${NAME}_extension_test SOURCES ${ARG_TESTS}
      LIBRARIES attune_${NAME}_verbs attune_command_line attune_program ${ARG_LIBRARIES} attune_storage_servers attune_sample_records)
  endif()
endfunction()
