# stet_add_executable(<name> SOURCES <file>... [BACKEND <backend>...]
#                     [DEFINITIONS <definition>...] [LIBRARIES <library>...])
# stet_add_object_library(<name> ...the same...)
#
# A program, or a part of one, that uses Stet. BACKEND lists kokkos_ref and/or persistent_cuda; the first one becomes
# stet::default_backend inside this target. Without BACKEND it uses the language alone (stet::dsl). Everything is linked
# privately.
#
#   stet_add_executable(heat_kokkos_ref SOURCES heat.cpp BACKEND kokkos_ref LIBRARIES PNG::PNG)
#   if(TARGET stet::persistent_cuda)
#     stet_add_executable(heat_persistent_cuda SOURCES heat.cpp BACKEND persistent_cuda LIBRARIES PNG::PNG)
#   endif()
#
# When a backend's code must be compiled by nvcc (persistent_cuda always, kokkos_ref when Kokkos was built for CUDA),
# each .cpp file is compiled through a generated .cu file that includes it: CMake's LANGUAGE property belongs to the
# source file, so one .cpp could not be C++ in one target and CUDA in another.

function(stet_add_executable name)
  _stet_read_arguments()
  add_executable(${name} ${sources})
  _stet_link()
endfunction()

function(stet_add_object_library name)
  _stet_read_arguments()
  add_library(${name} OBJECT ${sources})
  _stet_link()
endfunction()

# Sets arg_BACKEND, arg_DEFINITIONS, arg_LIBRARIES, and sources: what is to be compiled.
macro(_stet_read_arguments)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;BACKEND;DEFINITIONS;LIBRARIES")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
    message(FATAL_ERROR "${name}: SOURCES are missing, or there are unknown arguments (${arg_UNPARSED_ARGUMENTS}).")
  endif()

  set(needs_nvcc FALSE)
  foreach(backend IN LISTS arg_BACKEND)
    if(NOT TARGET stet::${backend})
      message(FATAL_ERROR "${name}: there is no backend '${backend}' in this configuration.")
    endif()
    if(backend STREQUAL "persistent_cuda" OR (backend STREQUAL "kokkos_ref" AND STET_KOKKOS_USES_CUDA))
      set(needs_nvcc TRUE)
    endif()
  endforeach()
  if(needs_nvcc AND NOT CMAKE_CUDA_COMPILER_LOADED)
    message(FATAL_ERROR "${name}: BACKEND ${arg_BACKEND} needs enable_language(CUDA).")
  endif()

  set(sources "")
  foreach(source IN LISTS arg_SOURCES)
    if(needs_nvcc AND source MATCHES "\\.(cpp|cc|cxx)$")
      cmake_path(ABSOLUTE_PATH source NORMALIZE)
      cmake_path(GET source STEM stem)
      set(wrapper "${CMAKE_CURRENT_BINARY_DIR}/cuda/${name}/${stem}.cu")
      if(wrapper IN_LIST sources)
        message(FATAL_ERROR "${name}: two sources are called '${stem}'.")
      endif()
      file(CONFIGURE OUTPUT "${wrapper}" CONTENT "#include \"${source}\"\n" @ONLY)
      set(source "${wrapper}")
    endif()
    list(APPEND sources "${source}")
  endforeach()
endmacro()

macro(_stet_link)
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF CUDA_EXTENSIONS OFF)
  target_compile_definitions(${name} PRIVATE ${arg_DEFINITIONS})
  target_link_libraries(${name} PRIVATE stet::dsl ${arg_LIBRARIES})
  if(arg_BACKEND)
    list(GET arg_BACKEND 0 default)
    target_compile_definitions(${name} PRIVATE STET_DEFAULT_BACKEND=${default})
    list(TRANSFORM arg_BACKEND PREPEND stet::)
    target_link_libraries(${name} PRIVATE ${arg_BACKEND})
  endif()
  if(TARGET stet_development) # warnings and sanitizers; only inside Stet itself
    target_link_libraries(${name} PRIVATE stet_development)
  endif()
endmacro()
