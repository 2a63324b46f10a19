# How Stet's header-only libraries are declared and installed.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# stet_add_library(<name>): the INTERFACE library stet::<name> over ./include, installed and exported on its own, so
# that the package can leave out a backend whose dependencies the user lacks.
function(stet_add_library name)
  add_library(stet_${name} INTERFACE)
  add_library(stet::${name} ALIAS stet_${name})
  set_target_properties(stet_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(stet_${name} INTERFACE
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  if(STET_INSTALL)
    install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    install(TARGETS stet_${name} EXPORT stet_${name})
    install(EXPORT stet_${name} NAMESPACE stet:: FILE stet_${name}.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/stet)
  endif()
endfunction()

function(stet_install_package)
  set(destination ${CMAKE_INSTALL_LIBDIR}/cmake/stet)
  configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/stetConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/stetConfig.cmake" INSTALL_DESTINATION ${destination} NO_SET_AND_CHECK_MACRO)
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/stetConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
  install(FILES "${PROJECT_BINARY_DIR}/stetConfig.cmake" "${PROJECT_BINARY_DIR}/stetConfigVersion.cmake"
    "${PROJECT_SOURCE_DIR}/cmake/StetKokkos.cmake" "${PROJECT_SOURCE_DIR}/cmake/StetTargets.cmake"
    DESTINATION ${destination})
endfunction()
