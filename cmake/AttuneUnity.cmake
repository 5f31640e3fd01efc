# Presets compile sources in batches (CMAKE_UNITY_BUILD), which makes a whole build twice as fast. Those of
# compiled_alone.txt are left out: most have a local name that another one of their batch has, too; some are
# objects of two libraries that one program links.
function(attune_add_folders FOLDER)
  get_property(parts DIRECTORY "${FOLDER}" PROPERTY SUBDIRECTORIES)
  foreach(part IN LISTS parts)
    attune_add_folders("${part}")
  endforeach()
  set_property(GLOBAL APPEND PROPERTY ATTUNE_FOLDERS "${FOLDER}")
endfunction()
attune_add_folders("${PROJECT_SOURCE_DIR}")
get_property(folders GLOBAL PROPERTY ATTUNE_FOLDERS)

set(list "${CMAKE_CURRENT_LIST_DIR}/compiled_alone.txt")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${list}")
file(STRINGS "${list}" sources)
foreach(source IN LISTS sources)
  set(path "${PROJECT_SOURCE_DIR}/${source}")
  if(NOT EXISTS "${path}")
    message(FATAL_ERROR "${list} names ${source}, which is not there: take the line out.")
  endif()
  get_filename_component(folder "${path}" DIRECTORY)
  while(NOT EXISTS "${folder}/CMakeLists.txt")
    get_filename_component(folder "${folder}" DIRECTORY)
  endwhile()
  if(folder IN_LIST folders)  # Else it is not built: a test, a bench, a backend or an extension.
    set_source_files_properties("${path}" DIRECTORY "${folder}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endforeach()
