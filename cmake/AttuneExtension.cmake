# attune_extension(NAME VERBS verb ... SOURCES ... [LIBRARIES ...] [TESTS ...]): the program of an extension from
# main.cc beside the caller, and from the sources of its verbs. `attune VERB` becomes it; extension.txt beside the caller lists
# its verbs (apps/attune/extensions.h).
function(attune_extension NAME)
  cmake_parse_arguments(ARG "" "" "VERBS;SOURCES;LIBRARIES;TESTS" ${ARGN})
  add_library(attune_${NAME}_verbs OBJECT ${ARG_SOURCES})
  target_include_directories(attune_${NAME}_verbs PUBLIC ${PROJECT_SOURCE_DIR})
  attune_precompile_headers(attune_${NAME}_verbs VERBS)
  target_link_libraries(attune_${NAME}_verbs PUBLIC attune_program ${ARG_LIBRARIES} PRIVATE attune_compiler)

  set(program attune-${NAME})
  add_executable(${program} main.cc ${PROJECT_SOURCE_DIR}/apps/attune/standard_descriptors.cc)
  target_link_libraries(${program} PRIVATE attune_${NAME}_verbs attune_core_verbs attune_program
    ${ARG_LIBRARIES} attune_storage_servers attune_compiler)
  add_dependencies(${program} attune-evaluator)
  add_dependencies(attune ${program})
  install(TARGETS ${program} RUNTIME DESTINATION libexec/attune)

  set(list "${CMAKE_BINARY_DIR}/share/attune/extensions/${NAME}.txt")
  configure_file(extension.txt "${list}" COPYONLY)
  install(FILES extension.txt DESTINATION share/attune/extensions RENAME ${NAME}.txt)
  list(REMOVE_ITEM ARG_VERBS ${NAME})
  file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
  foreach(verb IN LISTS ARG_VERBS)
    file(CREATE_LINK ${program} "${CMAKE_BINARY_DIR}/bin/attune-${verb}" SYMBOLIC)
    install(CODE "
      file(CREATE_LINK ${program} \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/libexec/attune/attune-${verb}\" SYMBOLIC)")
  endforeach()
  if(ATTUNE_BUILD_TESTS AND ARG_TESTS)
    attune_test(attune_${NAME}_extension_test SOURCES ${ARG_TESTS}
      LIBRARIES attune_${NAME}_verbs attune_core_verbs attune_program ${ARG_LIBRARIES} attune_storage_servers attune_sample_records)
  endif()
endfunction()
