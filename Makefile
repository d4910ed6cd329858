# Run `make help` for the commands. Nothing here needs root; `make test` uses it where it has it.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

VENV ?= .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
JOBS ?= auto

# The first Python that is new enough. tflite-micro, an oracle of the tests, exists for 3.11 only.
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3.14 python3; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$python" && break; \
	done)

C_FILES = $(shell find runtime_c mlperf_tiny tests -name '*.[ch]' | sort)

# program or file=Debian packages that bring it
SYSTEM := \
	gcc=gcc,libc6-dev \
	g++=g++ \
	arm-none-eabi-gcc=gcc-arm-none-eabi \
	/usr/include/newlib/string.h=libnewlib-arm-none-eabi \
	riscv64-unknown-elf-gcc=gcc-riscv64-unknown-elf \
	qemu-system-arm=qemu-system-arm \
	qemu-system-riscv32=qemu-system-misc \
	openocd=openocd \
	avr-gcc=gcc-avr,avr-libc \
	simavr=simavr \
	xtensa-lx106-elf-gcc=gcc-xtensa-lx106 \
	node=nodejs \
	npm=npm

# The emulator of the RP2040, a tool of the tests.
RP2040JS := $(VENV)/node_modules/rp2040js/package.json

.PHONY: help
help: ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

.PHONY: test
test: system lint $(RP2040JS) ## install what the tests need, check the style, run the tests of the tier ci
	$(PYTEST) -n $(JOBS) -m "not full"

.PHONY: torch
torch: $(VENV)/.test ## PyTorch's CPU build, for the tests that are skipped without it
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'torch==2.13.0+cpu' 'onnxscript>=0.7' torchao

.PHONY: test-fast
test-fast: $(VENV)/.test ## the tests that take less than a minute together, for every save
	$(PYTEST) -n $(JOBS) -m "not slow and not emulated and not full"

.PHONY: test-full
test-full: system lint $(RP2040JS) ## every test, however long
	$(PYTEST) -n $(JOBS)

.PHONY: lint
lint: $(VENV)/.test ## ruff, mypy and clang-format, warnings as errors
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@echo '$(BIN)/clang-format --dry-run -Werror'
	@$(BIN)/clang-format --dry-run -Werror $(C_FILES)

.PHONY: format
format: $(VENV)/.test ## rewrite Python and C files in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(C_FILES)

.PHONY: demo
demo: $(VENV)/.demo ## the whole line on the bundled model and an emulated board, from pip alone
	$(BIN)/tinydeploy demo

.PHONY: bench
bench: $(VENV)/.test ## measure every model on a board of each core; writes benchmarks/results.json and docs/PERFORMANCE.md
	$(BIN)/python -m benchmarks

.PHONY: boards
boards: $(VENV)/.test $(RP2040JS) ## build, check and run every board; writes docs/BOARDS.md
	$(BIN)/python -m tests.boards.coverage

.PHONY: onnx-coverage
onnx-coverage: $(VENV)/.test ## run ONNX's node tests in generated C; writes docs/ONNX_SUPPORT.md
	$(BIN)/python -m tests.onnx_nodes.coverage

.PHONY: wheel
wheel: $(VENV)/.test ## build the wheel into dist/
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

.PHONY: clean
clean: ## remove what was built; the virtual environment stays
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find tinydeploy tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# System packages: installed as root, else named in one command. A missing one fails no run by itself.
.PHONY: system
system:
	@packages=; \
	for pair in $(SYSTEM); do \
		command -v "$${pair%%=*}" >/dev/null || [ -e "$${pair%%=*}" ] || packages="$$packages $${pair#*=}"; \
	done; \
	packages="$$(echo $$packages | tr , ' ')"; \
	if [ -n "$(PYTHON)" ] && ! "$(PYTHON)" -c 'import ensurepip' 2>/dev/null; then \
		packages="$$packages python3-venv"; \
	fi; \
	if [ -z "$$packages" ]; then exit 0; fi; \
	if ! command -v apt-get >/dev/null; then \
		echo "not installed, tests that need them are skipped: $$packages"; \
	elif [ "$$(id -u)" != 0 ]; then \
		echo "tests that need them are skipped; to install them: sudo apt-get install $$packages"; \
	else \
		export DEBIAN_FRONTEND=noninteractive; \
		install="apt-get install -y -qq --no-install-recommends"; \
		$$install $$packages >/dev/null 2>&1 || { \
			apt-get update -qq || true; \
			for package in $$packages; do \
				$$install "$$package" >/dev/null || echo "not available, tests that need it are skipped: $$package"; \
			done; \
		}; \
	fi

$(BIN)/python:
	@if [ -z "$(PYTHON)" ]; then echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3" >&2; exit 1; fi
	"$(PYTHON)" -m venv $(VENV)

$(RP2040JS): | $(VENV)/.test
	@{ command -v npm >/dev/null && npm install --silent --no-audit --no-fund --prefix $(VENV) rp2040js@1.4.1; } || \
		echo "rp2040js is not installed, its tests are skipped: apt-get install nodejs npm"

# One stamp for each set of dependencies, an extra of pyproject.toml.
$(VENV)/.%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@
