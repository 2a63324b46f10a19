// The version of Stet. CMake reads it from here; nothing else states it.
#pragma once

#define STET_VERSION_MAJOR 0
#define STET_VERSION_MINOR 1
#define STET_VERSION_PATCH 0
