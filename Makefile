# Every target creates .venv and installs what it needs; `make help` lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --constraint constraints.txt
PYTEST_ARGS ?= -n auto
PINS := pyproject.toml constraints.txt
# Tools of releases bring a pip of their own and stay out of the environment that is tested.
RELEASE := $(VENV)/release

# `make bench-against HEAD~3`: the word behind the target is the commit, not a target of its own.
ifeq (bench-against,$(firstword $(MAKECMDGOALS)))
REV ?= $(word 2,$(MAKECMDGOALS))
$(eval $(wordlist 2,2,$(MAKECMDGOALS)):;@:)
endif

.DEFAULT_GOAL := help
.PHONY: help demo test campaign pendant-campaign lint fuzz kills bench bench-against optimal calibration hil bus bus-faults demo-bus docs fresh objects package pins audit hashed clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## */  make \1\t/' | expand -t 21

demo: $(VENV)/.ready-core  ## simulate the GSIS SCARA with drives and controllers, write out/demo
	$(BIN)/servotwin demo --out out/demo

test: $(VENV)/.ready-test $(VENV)/.ready-octave $(VENV)/.ready-tshark $(VENV)/.ready-chromium  ## run all tests (PYTEST_ARGS="-k word" to choose)
	$(BIN)/python -m pytest -q $(PYTEST_ARGS)

campaign: $(VENV)/.ready-test  ## the tests of random cases with all their cases; make test takes a sample of each
	SERVOTWIN_CAMPAIGN=1 $(BIN)/python -m pytest -q $(PYTEST_ARGS) -m campaign -o faulthandler_timeout=3600

pendant-campaign: $(VENV)/.ready-test $(VENV)/.ready-chromium  ## the pendant: PART=stops, jogs, nonsense, ages or soak, else all in 45 minutes (ARGS="--count 10 --seconds 120")
	$(BIN)/python tests/pendant_campaign.py $(or $(PART),all) $(ARGS)

lint: $(VENV)/.ready-lint  ## style, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fuzz: $(VENV)/.ready-lint  ## mutated files against every decoder (FUZZ_SECONDS=300 FUZZ_SEED=...)
	$(BIN)/python -m fuzz

bench: $(VENV)/.ready-bench  ## speed, as ratios against peers in one run (BENCH=short: everything once, nothing judged)
	$(BIN)/python -m benchmarks $(BENCH)

bench-against: $(VENV)/.ready-core  ## make bench-against REV: speed of the tree beside that commit, in turn (AGAINST="'MOVEJ planned' rounds=3": some rows)
	@$(BIN)/python -m benchmarks.against '$(REV)' $(AGAINST)

optimal: $(VENV)/.ready-test  ## a hundred optimal motions, some of them against CasADi, all played on the averaged plant
	$(BIN)/python -m benchmarks.optimal_campaign 100 12

calibration: $(VENV)/.ready-test  ## simulated calibrations: errors held out against the noise bound (CALIBRATION="delta --seeds 25": small)
	$(BIN)/python benchmarks/calibration_campaign.py $(CALIBRATION)

hil: $(VENV)/.ready-test  ## motor substitution in real time: rates, faults, a flood; wants a quiet machine (HIL="5 3 5000": small)
	$(BIN)/python -m benchmarks.hil_campaign $(HIL)

bus: $(VENV)/.ready-test $(VENV)/.ready-tshark  ## EtherCAT frames back to back through four and six drives, with pysoem as the master
	$(BIN)/python -m benchmarks.bus_rate

bus-faults: $(VENV)/.ready-core  ## kill, freeze, unplug and damage drives and controller on a virtual wire (BUS_FAULTS="--each 3")
	$(BIN)/python -m benchmarks.bus_faults $(BUS_FAULTS)

demo-bus: $(VENV)/.ready-core  ## controller and drives as two processes over EtherCAT on a virtual wire; ends by naming the report
	$(BIN)/python -m benchmarks.bus_demo --lock-step --watchdog 2000

docs: $(VENV)/.ready-lint $(VENV)/.ready-chromium  ## the documentation as an offline site, out/site/index.html, with fresh pictures of reports
	$(BIN)/python tools/pictures.py
	$(BIN)/python tools/python_page.py --check
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "site: out/site/index.html"

fresh:  ## demo, test and a short bench, each as the first command in a fresh clone of the last commit
	$(PYTHON) tools/fresh_clone.py

kills: $(VENV)/.ready-core  ## kill every command that writes, KILLS=100 times each: old or new, never half
	$(BIN)/python tests/kills/campaign.py --kills $(or $(KILLS),100) $(if $(SEED),--seed $(SEED))

objects: $(VENV)/.ready-core  ## make the machine code of a first run, as wheels bring it along (for images of containers)
	$(BIN)/python tools/objects.py

package: $(VENV)/.ready-lint  ## build sdist and wheel, install the wheel elsewhere, run it there as another user
	$(BIN)/python tools/package.py

pins: $(VENV)/.ready-release  ## write requirements-ci.txt: the versions of constraints.txt with the hashes of all their files
	$(RELEASE)/bin/python tools/pins.py

audit: $(VENV)/.ready-release  ## known vulnerabilities of the pinned versions (1: found, 3: no service could be asked)
	$(RELEASE)/bin/python tools/audit.py

clean:  ## remove what the targets write, except .venv
	rm -rf out build dist src/servotwin/compiled/objects src/*.egg-info .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
	find fuzz -name __pycache__ -type d -prune -exec rm -rf {} +
	if [ -d benchmarks ]; then find benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +; fi

# The environment. A stamp is as old as the last installation, so an unchanged project installs nothing;
# a larger set of extras also freshens the stamps of the smaller ones.

$(VENV)/.ready-core: $(VENV)/.ready-venv $(PINS)
	@echo "installing servotwin ..."
	@$(PIP) --editable .
	@touch $@

$(VENV)/.ready-lint: $(VENV)/.ready-venv $(PINS)
	@echo "installing servotwin and the development tools ..."
	@$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/.ready-core

# Programs of Debian's that tests use. Where one cannot be installed, the tests that need it are skipped; OCTAVE=no, TSHARK=no and
# CHROMIUM=no leave the system as it is. Only what waits for a network has an end; nothing interrupts dpkg.
APT := apt-get -qq -o Acquire::Retries=0 -o Acquire::http::Timeout=10 -o Acquire::https::Timeout=10
# $(call debian,what it is called,command that shows that it is there,yes or no,packages)
define debian
	@if $(2) >/dev/null; then :; \
	elif [ "$(3)" != no ] && command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		echo "installing $(1) ..."; export DEBIAN_FRONTEND=noninteractive; \
		{ timeout 60 $(APT) update && timeout 600 $(APT) --download-only install --yes --no-install-recommends $(4) \
			&& $(APT) --no-download install --yes --no-install-recommends $(4); } >/dev/null 2>&1 \
		|| echo "$(1) cannot be installed here: tests that need it are skipped"; \
	else \
		echo "no $(1) here: tests that need it are skipped"; \
	fi
	@touch $@
endef

# GNU Octave runs the files that are written for MATLAB (17 s, 260 MB).
$(VENV)/.ready-octave: $(VENV)/.ready-venv
	$(call debian,GNU Octave,command -v octave-cli,$(OCTAVE),octave)

# tshark dissects recordings of the fieldbus, as Wireshark does.
$(VENV)/.ready-tshark: $(VENV)/.ready-venv
	$(call debian,tshark,{ command -v tshark && PATH="$$PATH:/usr/sbin:/sbin" command -v ip; },$(TSHARK),tshark iproute2)

# chromium does on the pages of pendant and viewer what an operator does.
$(VENV)/.ready-chromium: $(VENV)/.ready-venv
	$(call debian,chromium,command -v chromium,$(CHROMIUM),chromium fonts-dejavu-core)

$(VENV)/.ready-test: $(VENV)/.ready-venv $(PINS)
	@echo "installing servotwin, the development tools, Pinocchio, MuJoCo and two masters ..."
	@$(PIP) --editable '.[dev,verify]'
	@touch $@ $(VENV)/.ready-core $(VENV)/.ready-lint

# What CI tests: every file that is installed has a hash that requirements-ci.txt knows.
hashed: $(VENV)/.ready-venv
	@echo "installing servotwin and all that its tests need, by hash ..."
	@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --require-hashes -r requirements-ci.txt
	@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m pip check --disable-pip-version-check
	@touch $(VENV)/.ready-core $(VENV)/.ready-lint $(VENV)/.ready-test

$(VENV)/.ready-release: $(VENV)/.ready-venv $(PINS)
	@echo "installing uv and pip-audit ..."
	@$(PYTHON) -m venv $(RELEASE)
	@$(RELEASE)/bin/python -m pip install --quiet --quiet --disable-pip-version-check --constraint constraints.txt uv pip-audit
	@touch $@

$(VENV)/.ready-bench: $(VENV)/.ready-venv $(PINS)
	@echo "installing servotwin and the peers of the benchmark ..."
	@$(PIP) --editable '.[bench]'
	@touch $@ $(VENV)/.ready-core

# Debian and Ubuntu ship `venv` apart from Python; it is fetched if it is missing and we may do so.
$(VENV)/.ready-venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "ServoTwin needs Python 3.11 or later; '$(PYTHON)' is $$($(PYTHON) --version 2>&1)." >&2; \
	  echo "Name another one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "installing python3-venv ..."; apt-get install -y -qq python3-venv >/dev/null; \
	  else echo "Python's venv module is missing; install the package python3-venv." >&2; exit 1; fi; }
	@echo "creating $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@touch $@
