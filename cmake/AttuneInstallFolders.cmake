# Makes installed folders accessible to all users, whatever the umask of the installing user: CMake
# makes them with it. Existing folders stay as they are. Runs before everything else that is
# installed.
install(CODE [[
  foreach(folder bin include lib/attune lib/cmake/attune lib/pkgconfig libexec/attune
                 share/attune/kernels share/attune/extensions share/doc/attune
                 share/bash-completion/completions share/zsh/site-functions share/fish/vendor_completions.d)
    set(missing "")
    set(path "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/${folder}")
    while(path AND NOT EXISTS "${path}")
      list(PREPEND missing "${path}")
      get_filename_component(path "${path}" DIRECTORY)
    endwhile()
    foreach(path IN LISTS missing)
      file(MAKE_DIRECTORY "${path}")
      file(CHMOD "${path}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
           GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
    endforeach()
  endforeach()]])
