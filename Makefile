# jobscope: what people type. CMake does the building; `make help` lists the rest.
BUILD  ?= build
PREFIX ?= /usr/local
JOBS   ?= $(shell nproc)
PYTHON ?= /usr/bin/python3
CMAKE_FLAGS ?=

.DEFAULT_GOAL := build

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1	\2/p' $(MAKEFILE_LIST) | expand -t 20

deps: ## install with apt what building and testing needs
	@scripts/install_deps.sh test

build: ## build/jobscope
	@scripts/install_deps.sh build
	@scripts/configure.sh $(BUILD) $(CMAKE_FLAGS)
	@cmake --build $(BUILD) --parallel $(JOBS) --target jobscope

all-targets:
	@scripts/configure.sh $(BUILD) $(CMAKE_FLAGS)
	@cmake --build $(BUILD) --parallel $(JOBS)

demo: ## trains a LeNet with MindSpore under jobscope and shows where its time goes
	@scripts/install_deps.sh demo
	@scripts/demo.sh $(BUILD)

test: deps all-targets ## everything that CI runs
	@tests/run.sh $(BUILD)

unit: all-targets ## the tests that need no privileges
	@$(BUILD)/unit_tests --gtest_brief=1

workloads:
	@$(MAKE) --no-print-directory -C tests/workloads OUT=$(abspath $(BUILD))/workloads

runtime: all-targets workloads ## the tests on the running kernel; as root
	@JOBSCOPE=$(abspath $(BUILD))/jobscope $(PYTHON) -m pytest tests/runtime -q

kernels: deps all-targets workloads ## the same under other kernels, emulated; KERNELS="6.1 7 arm64": only these
	@tests/kernels/run.py $(BUILD) $(KERNELS)

conformance: all-targets ## people's programs under jobscope, case by case; as root
	@JOBSCOPE=$(abspath $(BUILD))/jobscope JOBSCOPE_INTEROP=$(abspath $(BUILD))/interop \
	  $(PYTHON) -m pytest tests/conformance -q

interop: deps build ## the real ebpf_exporter beside jobscope; needs Go and cargo, else it is skipped
	@tests/interop/run.sh $(abspath $(BUILD))

container: deps build ## jobscope in a container, with the least privileges; as root
	@JOBSCOPE=$(abspath $(BUILD))/jobscope JOBSCOPE_INTEROP=$(abspath $(BUILD))/interop \
	  $(PYTHON) -m pytest tests/container -q -rs

bench: deps all-targets workloads ## what jobscope costs a job, beside other tools
	@tests/bench/bench.sh $(BUILD)

lint: deps all-targets ## formatting, clang-tidy, shellcheck, the order of layers
	@scripts/lint.sh $(BUILD)

format: ## write all files as clang-format wants them
	@scripts/lint.sh --format

asan: deps ## unit tests and a real run with the address and undefined-behaviour sanitizers
	@scripts/asan.sh build-asan build-fuzz

fuzz: deps ## libFuzzer on each parser of foreign bytes; SECONDS=60 each
	@scripts/fuzz.sh build-fuzz $(or $(SECONDS),60)

install: build ## PREFIX=/usr/local
	@cmake --install $(BUILD) --prefix $(PREFIX) --strip

clean: ## remove what was built
	@rm -rf $(BUILD) build-asan build-fuzz

.PHONY: help deps build all-targets demo test unit workloads runtime kernels conformance interop container bench lint format asan fuzz install clean
