# Enables the CUDA language according to STET_ENABLE_CUDA (AUTO, ON, OFF). Sets STET_CUDA_FOUND.
# Looks where CMake looks (CMAKE_CUDA_COMPILER, CUDACXX, PATH), then in /usr/local/cuda/bin.

set(STET_CUDA_FOUND FALSE)
if(NOT STET_ENABLE_CUDA AND NOT STET_ENABLE_CUDA STREQUAL "AUTO")
  message(STATUS "CUDA: off")
  return()
endif()

if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  set(CMAKE_CUDA_ARCHITECTURES ${STET_CUDA_ARCHITECTURES})
endif()
if(NOT CMAKE_CUDA_COMPILER)
  unset(CMAKE_CUDA_COMPILER CACHE) # an earlier "not found" is no reason not to look again
endif()
if(NOT DEFINED CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(nvcc nvcc PATHS /usr/local/cuda/bin NO_CACHE)
  if(nvcc)
    set(ENV{CUDACXX} "${nvcc}")
  endif()
endif()

if(STET_ENABLE_CUDA STREQUAL "AUTO")
  include(CheckLanguage)
  check_language(CUDA)
endif()
if(CMAKE_CUDA_COMPILER OR NOT STET_ENABLE_CUDA STREQUAL "AUTO")
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED GLOBAL)
  set(STET_CUDA_FOUND TRUE)
  message(STATUS "CUDA: ${CMAKE_CUDA_COMPILER_VERSION} in ${CMAKE_CUDA_COMPILER}, "
                 "architectures ${CMAKE_CUDA_ARCHITECTURES}")
else()
  message(STATUS "CUDA: not found; persistent_cuda is left out")
endif()
