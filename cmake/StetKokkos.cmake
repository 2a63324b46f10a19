# stet_find_kokkos([FETCH])
#
# Makes Kokkos::kokkos (3.4 to 5.x) available, from the first of
#   1. the enclosing project, when it has made that target already;
#   2. find_package(Kokkos): set Kokkos_ROOT to an installation;
#   3. Debian 12's libtrilinos-kokkos-dev (Kokkos 3.4.1, Serial);
#   4. with FETCH: its source, by Git.
# With FETCH, FETCHCONTENT_SOURCE_DIR_KOKKOS names a local source folder, which comes before 2.
#
# Sets STET_KOKKOS_FOUND, and STET_KOKKOS_USES_CUDA when code that uses this Kokkos must be compiled by nvcc.
# The installed package contains this file, so users resolve Kokkos by the same rules.

set(STET_KOKKOS_GIT_REPOSITORY https://github.com/kokkos/kokkos.git)
set(STET_KOKKOS_GIT_TAG 5.2.2)

function(stet_find_kokkos)
  cmake_parse_arguments(PARSE_ARGV 0 arg "FETCH" "" "")
  set(CMAKE_CXX_EXTENSIONS OFF) # else a Kokkos package may warn and change it in the cache

  set(origin "")
  if(TARGET Kokkos::kokkos)
    set(origin "from the enclosing project")
  endif()
  if(NOT origin AND arg_FETCH AND FETCHCONTENT_SOURCE_DIR_KOKKOS)
    _stet_fetch_kokkos()
  endif()
  if(NOT origin)
    _stet_find_installed_kokkos()
  endif()
  if(NOT origin)
    _stet_find_debian_kokkos()
  endif()
  if(NOT origin AND arg_FETCH)
    _stet_fetch_kokkos()
  endif()

  set(STET_KOKKOS_FOUND FALSE PARENT_SCOPE)
  set(STET_KOKKOS_USES_CUDA FALSE PARENT_SCOPE)
  if(NOT origin)
    message(STATUS "Kokkos: not found; kokkos_ref is left out")
    return()
  endif()

  if(Kokkos_VERSION AND (Kokkos_VERSION VERSION_LESS 3.4 OR Kokkos_VERSION VERSION_GREATER_EQUAL 6))
    message(FATAL_ERROR "Kokkos ${Kokkos_VERSION} (${origin}) is not supported: 3.4 to 5.x are. "
                        "Set Kokkos_ROOT to another installation.")
  endif()
  set(devices "")
  foreach(device IN ITEMS SERIAL OPENMP THREADS HPX CUDA HIP SYCL OPENACC OPENMPTARGET)
    if(Kokkos_ENABLE_${device})
      list(APPEND devices ${device})
    endif()
  endforeach()
  list(JOIN devices " " device_text)
  if(NOT device_text)
    set(device_text unknown)
  endif()
  message(STATUS "Kokkos: ${Kokkos_VERSION} ${origin}, devices: ${device_text}")

  if("CUDA" IN_LIST devices AND NOT CMAKE_CXX_COMPILER MATCHES "nvcc_wrapper$")
    if(NOT CMAKE_CUDA_COMPILER_LOADED)
      message(FATAL_ERROR "This Kokkos was built for CUDA, but the CUDA language is not enabled "
                          "(no nvcc found, or STET_ENABLE_CUDA=OFF).")
    endif()
    set(STET_KOKKOS_USES_CUDA TRUE PARENT_SCOPE)
  endif()
  set(STET_KOKKOS_FOUND TRUE PARENT_SCOPE)
endfunction()

# The steps are macros: they set origin, Kokkos_VERSION and Kokkos_ENABLE_<device> in the function above.

macro(_stet_find_installed_kokkos)
  # The configuration file of Debian 12's package derives an include directory that does not exist, and the mistake
  # shows only when files are generated. It must not even be loaded, as imported targets cannot be taken back.
  file(GLOB debian_configs /usr/lib/*/cmake/Kokkos/KokkosConfig.cmake /lib/*/cmake/Kokkos/KokkosConfig.cmake)
  foreach(config IN LISTS debian_configs)
    file(STRINGS "${config}" marker REGEX KOKKOS_IMPORT_PREFIX LIMIT_COUNT 1)
    if(marker)
      cmake_path(GET config PARENT_PATH config_dir)
      list(APPEND CMAKE_IGNORE_PATH "${config_dir}")
      if(Kokkos_DIR STREQUAL config_dir)
        unset(Kokkos_DIR CACHE)
      endif()
    endif()
  endforeach()

  find_package(Kokkos CONFIG QUIET GLOBAL)
  if(Kokkos_FOUND)
    set(origin "in ${Kokkos_DIR}")
  else()
    # Someone who names an installation must not get another one.
    foreach(root IN ITEMS ${Kokkos_ROOT} $ENV{Kokkos_ROOT})
      if(NOT EXISTS "${root}/include/trilinos/Kokkos_Core.hpp")
        message(FATAL_ERROR "There is no KokkosConfig.cmake below Kokkos_ROOT=${root}.")
      endif()
    endforeach()
  endif()
endmacro()

macro(_stet_find_debian_kokkos)
  find_path(include_dir trilinos/Kokkos_Core.hpp NO_CACHE)
  find_library(library trilinos_kokkoscore NO_CACHE)
  if(include_dir AND library)
    cmake_path(APPEND include_dir trilinos)
    file(READ "${include_dir}/KokkosCore_config.h" config)
    if(config MATCHES "define KOKKOS_VERSION ([0-9]+)")
      math(EXPR major "${CMAKE_MATCH_1} / 10000")
      math(EXPR minor "${CMAKE_MATCH_1} / 100 % 100")
      math(EXPR patch "${CMAKE_MATCH_1} % 100")
      set(Kokkos_VERSION ${major}.${minor}.${patch})
    endif()
    string(REGEX MATCHALL "#define KOKKOS_ENABLE_(SERIAL|OPENMP|THREADS|CUDA|HIP)\n" defines "${config}")
    foreach(define IN LISTS defines)
      string(REGEX REPLACE ".*KOKKOS_ENABLE_([A-Z]+).*" "\\1" device "${define}")
      set(Kokkos_ENABLE_${device} ON)
    endforeach()
    add_library(Kokkos::kokkos INTERFACE IMPORTED GLOBAL)
    set_target_properties(Kokkos::kokkos PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES "${include_dir}"
      INTERFACE_LINK_LIBRARIES "${library};${CMAKE_DL_LIBS}")
    set(origin "in ${include_dir}")
  endif()
endmacro()

macro(_stet_fetch_kokkos)
  include(FetchContent)
  if(NOT FETCHCONTENT_SOURCE_DIR_KOKKOS)
    message(STATUS "Kokkos: none installed; fetching ${STET_KOKKOS_GIT_TAG} from ${STET_KOKKOS_GIT_REPOSITORY}")
  endif()
  FetchContent_Declare(Kokkos
    GIT_REPOSITORY ${STET_KOKKOS_GIT_REPOSITORY} GIT_TAG ${STET_KOKKOS_GIT_TAG} GIT_SHALLOW ON SYSTEM)
  if(Kokkos_ENABLE_CUDA AND NOT DEFINED Kokkos_ENABLE_COMPILE_AS_CMAKE_LANGUAGE)
    set(Kokkos_ENABLE_COMPILE_AS_CMAKE_LANGUAGE ON CACHE BOOL "Compile Kokkos with CMake's CUDA language")
  endif()
  FetchContent_MakeAvailable(Kokkos)
  if(NOT TARGET Kokkos::kokkos)
    message(FATAL_ERROR "The Kokkos source in ${kokkos_SOURCE_DIR} defines no target Kokkos::kokkos.")
  endif()
  get_directory_property(Kokkos_VERSION DIRECTORY "${kokkos_SOURCE_DIR}" DEFINITION Kokkos_VERSION)
  set(origin "built from ${kokkos_SOURCE_DIR}")
endmacro()
