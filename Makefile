# Shortcuts around CMake; `make help` lists them. Everything here can be repeated.
#   PRESET=default|debug|sanitize|cuda  CUDA=AUTO|ON|OFF  JOBS=2  CMAKE_ARGS="-DSTET_SUITE=full"  STET_ACCEPTANCE_DIR=<folder>

PRESET ?= default
CUDA ?= AUTO
JOBS ?= $(shell nproc)
CMAKE_ARGS ?=
STET_ACCEPTANCE_DIR ?=

BUILD := $(if $(filter default,$(PRESET)),build,build-$(PRESET))
CONFIGURE = cmake --preset $(PRESET) -DSTET_ENABLE_CUDA=$(CUDA) $(CMAKE_ARGS)

.DEFAULT_GOAL := help
.PHONY: help setup demo test gpu-bundle format check-format clean

help: ## This list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 22

setup: ## Install the Debian packages that are missing (as root; otherwise name them)
	@cmake/setup-debian.sh

demo: CUDA = OFF
demo: setup ## Heat spreading on a plate (build/heat.png), then a few benchmarks
	$(CONFIGURE)
	cmake --build --preset $(PRESET) -j $(JOBS) --target heat_kokkos_ref stencil_bench
	$(BUILD)/bin/heat_kokkos_ref --size 512x512 --steps 2000 --output $(BUILD)/heat.png
	$(BUILD)/bin/stencil_bench --benchmark_filter='suite/(2d5pt|3d7pt)/'
	@echo "The picture is $(CURDIR)/$(BUILD)/heat.png"

test: setup ## Build everything and run all tests
	$(CONFIGURE) -DSTET_BUILD_TESTS=ON -DSTET_ACCEPTANCE_DIR='$(abspath $(STET_ACCEPTANCE_DIR))'
	cmake --build --preset $(PRESET) -j $(JOBS)
	ctest --preset $(PRESET) -j $(JOBS)

gpu-bundle: BUILD = build-gpu-bundle
gpu-bundle: setup ## Tests and benchmarks that run on another machine with a GPU (build-gpu-bundle/bundle)
	cmake -G Ninja -S . -B $(BUILD) -DCMAKE_PROJECT_stet_INCLUDE='$(CURDIR)/cmake/gpu-bundle.cmake' \
	  $(CMAKE_ARGS) -DSTET_ACCEPTANCE_DIR='$(abspath $(STET_ACCEPTANCE_DIR))'
	cmake --build $(BUILD) -j $(JOBS) --target gpu_bundle

format: setup ## Format all sources with clang-format 14
	@cmake/format.sh

check-format: setup ## Fail when a source is not formatted
	@cmake/format.sh --check

clean: ## Remove all build folders
	rm -rf build build-debug build-sanitize build-cuda build-gpu-bundle build-gpu-ptx
