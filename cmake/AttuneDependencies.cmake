# Every third-party package in one place. attune itself needs the REQUIRED ones; the libraries that
# it tunes are optional, and a missing one is reported by `attune devices`.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tl-expected REQUIRED)

find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
find_library(XXHASH_LIBRARY xxhash REQUIRED)
add_library(attune_xxhash INTERFACE)
target_include_directories(attune_xxhash SYSTEM INTERFACE ${XXHASH_INCLUDE_DIR})
target_link_libraries(attune_xxhash INTERFACE ${XXHASH_LIBRARY})

# libcrypto, for the SHA-256 of packages and the MD5 of kernels in databases of MIOpen's, which bzlib packs.
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(BZip2 REQUIRED)
# Recorded search spaces and the data of captured launches are packed with gzip.
find_package(ZLIB REQUIRED)

# SOCI 4.0 on Debian ships no CMake package.
find_path(SOCI_INCLUDE_DIR soci/soci.h REQUIRED)
find_library(SOCI_CORE_LIBRARY soci_core REQUIRED)
find_library(SOCI_SQLITE3_LIBRARY soci_sqlite3 REQUIRED)
find_package(SQLite3 REQUIRED)
add_library(attune_soci INTERFACE)
target_include_directories(attune_soci SYSTEM INTERFACE ${SOCI_INCLUDE_DIR})
target_link_libraries(attune_soci INTERFACE ${SOCI_SQLITE3_LIBRARY} ${SOCI_CORE_LIBRARY}
                                            SQLite::SQLite3 ${CMAKE_DL_LIBS})
# Its backends for servers ask for the headers of the servers' client libraries.
find_library(SOCI_POSTGRESQL_LIBRARY soci_postgresql)
find_library(SOCI_MYSQL_LIBRARY soci_mysql)
find_path(LIBPQ_INCLUDE_DIR libpq-fe.h PATH_SUFFIXES postgresql)
find_path(MARIADB_INCLUDE_DIR mysql.h PATH_SUFFIXES mariadb mysql)
if(SOCI_POSTGRESQL_LIBRARY AND SOCI_MYSQL_LIBRARY AND LIBPQ_INCLUDE_DIR AND MARIADB_INCLUDE_DIR)
  add_library(attune_soci_servers INTERFACE)
  target_include_directories(attune_soci_servers SYSTEM INTERFACE ${LIBPQ_INCLUDE_DIR}
                                                                  ${MARIADB_INCLUDE_DIR})
  target_link_libraries(attune_soci_servers INTERFACE ${SOCI_POSTGRESQL_LIBRARY}
                                                      ${SOCI_MYSQL_LIBRARY})
endif()

# The queue of a fleet.
find_path(NATS_INCLUDE_DIR nats/nats.h)
find_library(NATS_LIBRARY nats)
if(NATS_INCLUDE_DIR AND NATS_LIBRARY)
  add_library(attune_nats INTERFACE)
  target_include_directories(attune_nats SYSTEM INTERFACE ${NATS_INCLUDE_DIR})
  target_link_libraries(attune_nats INTERFACE ${NATS_LIBRARY})
endif()

find_package(dnnl CONFIG QUIET)
find_package(Eigen3 CONFIG QUIET)
find_path(XSMM_INCLUDE_DIR libxsmm.h PATH_SUFFIXES libxsmm)
find_library(XSMM_LIBRARY libxsmm.a)
# Stands in for the BLAS that libxsmm would otherwise call for large products, which we never ask it for.
find_library(XSMM_NO_BLAS_LIBRARY libxsmmnoblas.a)
if(XSMM_INCLUDE_DIR AND XSMM_LIBRARY AND XSMM_NO_BLAS_LIBRARY)
  add_library(attune_xsmm INTERFACE)
  target_include_directories(attune_xsmm SYSTEM INTERFACE ${XSMM_INCLUDE_DIR})
  # At load, libxsmm opens the lock file /tmp/.libxsmm.UID, follows symbolic links there, keeps any descriptor
  # number, and closes that number at exit. It unmaps its kernels at exit, too, while other threads may run them. A guest
  # must not do that: xsmm_gemm.cc defines these calls instead.
  set(xsmm_copy "${CMAKE_BINARY_DIR}/lib/libattune_xsmm.a")
  add_custom_command(OUTPUT "${xsmm_copy}"
    COMMAND "${CMAKE_OBJCOPY}" --redefine-sym open=attune_xsmm_open
            --redefine-sym atexit=attune_xsmm_atexit "${XSMM_LIBRARY}" "${xsmm_copy}"
    DEPENDS "${XSMM_LIBRARY}" COMMENT "Copying libxsmm without its lock file and exit code" VERBATIM)
  add_custom_target(attune_xsmm_copy DEPENDS "${xsmm_copy}")
  add_dependencies(attune_xsmm attune_xsmm_copy)
  target_link_libraries(attune_xsmm INTERFACE "${xsmm_copy}" ${XSMM_NO_BLAS_LIBRARY}
                                              Threads::Threads ${CMAKE_DL_LIBS})
endif()
find_path(OPENCL_INCLUDE_DIR CL/cl.h)
find_library(OPENCL_LIBRARY OpenCL)
