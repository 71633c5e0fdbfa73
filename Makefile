# The short commands. Each works as the first and only one on a fresh Debian 12 machine: scripts/bootstrap installs what is
# missing. Build trees are build/<preset> (CMakePresets.json); build/bin is a link to the programs of build/release.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
# make test TESTS='-R Manifest' passes options to ctest.
TESTS ?=
FUZZ_SECONDS ?= 60
export SOAK_SECONDS ?= 3600
export RANDOM_TABLES ?= 40
KILLS ?= 150

CTEST = ctest --output-on-failure --no-tests=error

# $(call tree,PRESET,TARGETS,CACHE…): configure, build. The tests run from build/asan (assertions and sanitizers on), or from build/dev
# (the same without sanitizers, quicker); the programs, and so the interop tests of them, are those of build/release, which is what a
# user gets.
tree = cmake --preset $(1) $(3) > build/$(1).configure.log || { cat build/$(1).configure.log; exit 1; }; \
       cmake --build build/$(1) --parallel $(JOBS) $(if $(2),--target $(2))

.PHONY: help
help: ## print this list
	@echo "make TARGET, where TARGET is one of"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: bootstrap
bootstrap: ## install what a build needs and is missing (apt packages, .venv)
	@scripts/bootstrap

.PHONY: build
build: bootstrap ## the programs build/bin/headrace and build/bin/headrace-bench, optimised
	@$(call tree,release,programs)
	@ln -sfn release/bin build/bin

.PHONY: demo
demo: build ## the worked example: one customer, four changes, what the table and its changelog gain
	@build/bin/headrace demo

.PHONY: test
test: bootstrap ## every test that needs no other program, under ASan and UBSan (TESTS='-R Name' chooses)
	@$(call tree,asan,all all_verify_interface_header_sets)
	@$(CTEST) --parallel $(JOBS) --test-dir build/asan $(TESTS)

.PHONY: asan
asan: test ## the same as test

.PHONY: dev
dev: bootstrap ## the same tests without sanitizers: quicker to build and to run
	@$(call tree,dev,all all_verify_interface_header_sets)
	@$(CTEST) --parallel $(JOBS) --test-dir build/dev $(TESTS)

.PHONY: crash
crash: bootstrap ## a fault at every operation, KILLS (150) kills of each kind, 8 writers of 100 commits
	@$(call tree,dev,crash_tests crash_race_tests kill_tests commit_tests many_writers_tests headrace)
	@export HEADRACE_CRASH_ALL=1 HEADRACE_CRASH_KILLS=$(KILLS); \
	build/dev/tests/crash_tests && build/dev/tests/crash_race_tests && build/dev/tests/kill_tests && build/dev/tests/commit_tests --gtest_filter='Renaming*:Racing*' && \
	build/dev/tests/many_writers_tests && \
	HEADRACE_PROGRAM=$$PWD/build/dev/bin/headrace HEADRACE_FIXTURES=$$PWD/tests/fixtures python3 tests/program/test_many_writers.py

.PHONY: interop
interop: ## both ways with Java Paimon, pypaimon and Flink; RANDOM_TABLES (40) random tables
	@scripts/bootstrap interop
	@$(call tree,release,programs interop_programs,-DHEADRACE_INTEROP=ON)
	@ln -sfn release/bin build/bin
	@$(CTEST) --parallel $(JOBS) --test-dir build/release/tests/interop $(TESTS)

.PHONY: bench
bench: build ## the micro benchmarks, optimised
	@cmake --build build/release --parallel $(JOBS) --target headrace-micro
	@build/bin/headrace-micro

.PHONY: lint
lint: bootstrap ## layers, documentation, format, forbidden words
	@tools/lint

.PHONY: format
format: bootstrap ## clang-format every tracked C++ file in place
	@tools/lint --fix

.PHONY: tsan
tsan: bootstrap ## the tests that run threads (label concurrent), under the thread sanitizer
	@$(call tree,tsan,concurrent_tests)
	@$(CTEST) --parallel $(JOBS) --test-dir build/tsan --label-regex '^concurrent$$' $(TESTS)

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZ_SECONDS (60) each, FUZZ_JOBS (1) at a time
	@scripts/bootstrap fuzz
	@$(call tree,fuzz,fuzz)
	@tests/fuzz/run build/fuzz $(FUZZ_SECONDS)

.PHONY: soak
soak: bootstrap ## random histories for SOAK_SECONDS (3600), optimised; stops at the first broken law, shrunk to a scenario
	@$(call tree,release,headrace-soak)
	@build/release/bin/headrace-soak

.PHONY: soak-sustained
soak-sustained: bootstrap ## five commits a second for SOAK_SECONDS (3600), optimised; fails when files, memory or times grow
	@$(call tree,release,headrace-sustained)
	@build/release/bin/headrace-sustained

.PHONY: tidy
tidy: ## clang-tidy over the files changed since main (FILES='…' chooses)
	@scripts/bootstrap fuzz
	@cmake --preset tidy > build/tidy.configure.log || { cat build/tidy.configure.log; exit 1; }
	@scripts/tidy build/tidy $(FILES)

.PHONY: headers
headers: bootstrap ## compile every header alone (a part of test)
	@$(call tree,dev,all_verify_interface_header_sets)

.PHONY: report
report: bootstrap ## sizes, long functions, what headers drag in, share of comments
	@.venv/bin/python tools/report.py

.PHONY: install
install: build ## install the program below PREFIX (/usr/local), with the Arrow libraries it needs
	@cmake --install build/release --prefix "$(PREFIX)"

.PHONY: clean
clean: ## remove the build trees (the Python environments stay)
	@rm -rf build
