# Warnings and sanitizers for Stet's own executables. Included only when Stet is the top-level project; nothing here
# reaches users: stet_add_executable() links stet_development privately, and it is not exported. Targets made
# otherwise link it themselves, when it is there.

# Host code only: device code has compute-sanitizer.
set(STET_SANITIZE "" CACHE STRING "Sanitizers for Stet's own C++ executables, e.g. address,undefined")

add_library(stet_development INTERFACE)
target_compile_options(stet_development INTERFACE
  "$<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang>:-Wall;-Wextra>"
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>)
if(STET_SANITIZE)
  target_compile_options(stet_development INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${STET_SANITIZE};-fno-sanitize-recover=all;-fno-omit-frame-pointer>")
  target_link_options(stet_development INTERFACE -fsanitize=${STET_SANITIZE})
endif()
