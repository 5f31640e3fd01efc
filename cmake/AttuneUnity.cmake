# Presets compile sources in batches (CMAKE_UNITY_BUILD), which makes a whole build twice as fast. Those of
# compiled_alone.txt are left out: most have a local name that another one of their batch has, too; some are
# objects of two libraries that one program links.
set(list "${CMAKE_CURRENT_LIST_DIR}/compiled_alone.txt")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${list}")
file(STRINGS "${list}" sources)
foreach(source IN LISTS sources)
  set(path "${PROJECT_SOURCE_DIR}/${source}")
  if(NOT EXISTS "${path}")
    message(FATAL_ERROR "${list} names ${source}, which is not there: take the line out.")
  endif()
  if(source MATCHES "^tests/" AND NOT ATTUNE_BUILD_TESTS)
    continue()  # CMake does not know the folder.
  endif()
  if(source MATCHES "^bench/" AND NOT ATTUNE_BUILD_BENCH)
    continue()
  endif()
  get_filename_component(folder "${path}" DIRECTORY)
  while(NOT EXISTS "${folder}/CMakeLists.txt")
    get_filename_component(folder "${folder}" DIRECTORY)
  endwhile()
  set_source_files_properties("${path}" DIRECTORY "${folder}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endforeach()
