# Everything that wants a GPU, as programs that need nothing of the machine they run on but glibc and NVIDIA's driver.
# `make gpu-bundle` includes this file right after project(), by -DCMAKE_PROJECT_stet_INCLUDE:
#
#   cmake -G Ninja -B build-gpu-bundle -DCMAKE_PROJECT_stet_INCLUDE=cmake/gpu-bundle.cmake
#   cmake --build build-gpu-bundle --target gpu_bundle     -> build-gpu-bundle/bundle, less than 60 MB
#
#   bundle/bin          programs, stripped             bundle/run_tests.sh       all tests, one line per unit
#   bundle/build-info   commit, date, compilers        bundle/run_sanitizer.sh   compute-sanitizer on a few of them
#                                                      bundle/run_bench.sh       benchmarks, as JSON

# --- What is built -------------------------------------------------------------------------------------------
# -D on the command line comes first: -DSTET_SUITE=short leaves out most tests, and compiles in minutes, not in an hour.
set(STET_BACKEND persistent_cuda CACHE STRING "")
set(STET_ENABLE_CUDA ON CACHE STRING "")
set(STET_ENABLE_KOKKOS OFF CACHE STRING "") # Debian's has no static library
set(STET_SUITE full CACHE STRING "")
set(STET_CUDA_ARCHITECTURES 90-real CACHE STRING "") # no PTX: half as large
# Kernels of one test program are alike: compressed best, they take a seventh of the space.
add_compile_options(
  "$<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<VERSION_GREATER_EQUAL:$<CUDA_COMPILER_VERSION>,12.8>>:--compress-mode=size>")

# --- Libraries: all static -----------------------------------------------------------------------------------
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
set(Boost_USE_STATIC_LIBS ON)
set(ZLIB_USE_STATIC_LIBS ON)
find_library(PNG_LIBRARY NAMES libpng.a libpng16.a)
find_library(ZLIB_LIBRARY NAMES libz.a)
foreach(library IN ITEMS PNG ZLIB)
  if(NOT ${library}_LIBRARY)
    message(FATAL_ERROR "gpu-bundle: there is no static library for ${library}: set ${library}_LIBRARY to one.")
  endif()
endforeach()
# Without unused sections and relocations the C++ library takes half the space.
add_link_options(-static-libstdc++ -static-libgcc -Wl,--gc-sections -no-pie)

# Google Benchmark is built here, as Debian's package has a shared library only. FETCHCONTENT_SOURCE_DIR_BENCHMARK
# names a source folder that is there already.
include(FetchContent)
find_program(apt_get apt-get NO_CACHE)
if(apt_get)
  set(benchmark_origin DOWNLOAD_COMMAND "${CMAKE_CURRENT_LIST_DIR}/debian-source.sh" benchmark <SOURCE_DIR>)
else()
  set(benchmark_origin GIT_REPOSITORY https://github.com/google/benchmark.git GIT_TAG v1.7.1)
endif()
FetchContent_Declare(benchmark ${benchmark_origin} OVERRIDE_FIND_PACKAGE SYSTEM)
foreach(part IN ITEMS TESTING INSTALL INSTALL_DOCS WERROR)
  set(BENCHMARK_ENABLE_${part} OFF CACHE BOOL "")
endforeach()

# --- What is collected -----------------------------------------------------------------------------------------
function(stet_programs_below folder result)
  get_property(programs DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  get_property(folders DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
  foreach(below IN LISTS folders)
    stet_programs_below("${below}" more)
    list(APPEND programs ${more})
  endforeach()
  set(${result} ${programs} PARENT_SCOPE)
endfunction()

# Called when all targets are there.
function(stet_gpu_bundle)
  stet_programs_below("${PROJECT_SOURCE_DIR}" targets)
  set(programs "")
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    # The test of the apps looks for them where they were built.
    if(type STREQUAL "EXECUTABLE" AND NOT target MATCHES "^test_apps_" AND
       target MATCHES "(_persistent_cuda$|_persistent_cuda_|^cuda_|^l2_reuse$|^stencil_bench$)")
      list(APPEND programs ${target})
    endif()
  endforeach()

  set(files "")
  foreach(target IN LISTS programs)
    list(APPEND files $<TARGET_FILE:${target}>)
  endforeach()
  add_custom_target(gpu_bundle
    COMMAND ${PROJECT_SOURCE_DIR}/cmake/gpu-bundle.sh ${PROJECT_BINARY_DIR}/bundle ${CMAKE_STRIP}
            "nvcc ${CMAKE_CUDA_COMPILER_VERSION} (${CMAKE_CUDA_ARCHITECTURES}), ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
            ${files}
    DEPENDS ${programs} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM USES_TERMINAL
    COMMENT "Collecting the bundle")
endfunction()
cmake_language(DEFER CALL stet_gpu_bundle)
