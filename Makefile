# All set-up happens by itself: .venv is made from pyproject.toml and constraints.txt,
# and brought up to date when one of the two changes. What only tests need comes with them.

PYTHON ?= $(shell command -v python3.11 || echo python3)
BIN := .venv/bin
INSTALLED := .venv/installed
READY := .venv/ready

.DEFAULT_GOAL := help
.PHONY: help demo test snapshots test-slow test-lowest lowest test-pythons mutants check bench bench-store bench-sweep bench-peers growth figures bars real-programs real-model validate simulations calibration clean docs picture bench-goals profile recorded results site

help: ## say what there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

demo: $(INSTALLED) ## replay the built-in scenario under every built-in strategy, into compactlab-out/
	$(BIN)/compactlab run

# Whatever the environment says, bytecode is kept: to rewrite the asserts of four hundred files takes
# longer than to collect them, and some tests start Python.
test test-slow: export PYTHONDONTWRITEBYTECODE :=

# A file's tests stay together: what they share is made once.
test: $(READY) ## run the fast tests, on two cores
	$(BIN)/pytest -m "not slow" -n 2 --dist loadfile

test-slow: $(READY) ## run the tests that take their time, and all examples of the property tests
	COMPACTLAB_EXAMPLES=all $(BIN)/pytest -m "slow or hypothesis" -n 2

TESTS ?= tests
snapshots: $(READY) ## write what TESTS, a folder or a file, print anew into their snapshots, and show the difference
	COMPACTLAB_UPDATE_GOLDEN=1 $(BIN)/pytest -m "not slow" --inline-snapshot=create,fix -q $(TESTS) || true
	$(BIN)/ruff format --quiet tests
	git diff --stat -- tests && git diff -- tests

# The lowest versions that pyproject.toml allows; what they need in turn is as new as can be.
LOWEST := .lowest/venv/bin
.lowest/constraints.txt: pyproject.toml
	@mkdir -p .lowest
	sed -n '/^dependencies/,/^]/ s/^ *"\(.*\)[>=]=\(.*\)",/\1==\2/p' pyproject.toml >$@

.lowest/ready: .lowest/constraints.txt
	@echo "Installing the lowest versions of all dependencies into .lowest ..."
	$(PYTHON) -m venv --clear .lowest/venv
	$(LOWEST)/python -m pip install --quiet -c .lowest/constraints.txt -e . hypothesis pytest
	touch $@

lowest: .lowest/ready ## run the demo and a test a dependency with the lowest versions of all
	$(LOWEST)/compactlab run --out .lowest/out
	$(LOWEST)/python -m pytest -o addopts="--import-mode=importlib -p pytester" tests/test_dependencies.py

test-lowest: .lowest/ready ## run the fast tests with the lowest versions of all dependencies
	$(LOWEST)/python -m pip install --quiet -c .lowest/constraints.txt -e '.[dev]'
	$(LOWEST)/pytest -m "not slow" -n 2 --dist loadfile

PYTHONS ?= python3.12 python3.13
test-pythons: $(READY) ## run the fast tests under PYTHONS, python3.12 and 3.13, and compare what their demos write
	@rm -rf .pythons && mkdir .pythons
	$(BIN)/compactlab run --out .pythons/ours >.pythons/ours.txt
	@failed=; for python in $(PYTHONS); do \
		place=.pythons/$$(basename $$python); echo "== $$python"; \
		$$python -m venv $$place && \
		$$place/bin/python -m pip install --quiet -c constraints.txt -e '.[dev]' && \
		$$place/bin/compactlab run --out $$place/out >/dev/null && \
		diff -r .pythons/ours $$place/out && \
		$$place/bin/pytest -m "not slow" -n 2 --dist loadfile -p no:cacheprovider || \
		failed="$$failed $$python"; \
	done; test -z "$$failed" || { echo "Failed, or not there:$$failed"; exit 1; }

SAMPLE ?= 80
SEED ?= 1
mutants: $(READY) ## change the core in SAMPLE places, one at a time, and count what its tests notice
	$(BIN)/python tests/mutation/mutate.py --sample $(SAMPLE) --seed $(SEED) --page docs/dev/mutation.md

check: $(READY) ## lint, formatting and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# The benchmarks are skipped by pyproject.toml's addopts, which cannot be taken back, only replaced.
BENCH := $(BIN)/pytest tests/benchmarks -o addopts=--import-mode=importlib --benchmark-only \
	--benchmark-timer=tests.benchmarks.cpu.seconds --benchmark-json=.benchmarks/run.json
bench: $(READY) ## measure speed, and hold it against tests/benchmarks/stored.json
	@mkdir -p .benchmarks
	$(BENCH)
	$(BIN)/python examples/bench_gate.py hold .benchmarks/run.json
	$(BIN)/python -m tests.benchmarks.goals

bench-goals: $(READY) ## measure what people wait for beside the commits COMMITS, and of recordings in SESSIONS
	$(BIN)/python -m tests.benchmarks.goals $(COMMITS) $(if $(SESSIONS),--recorded $(SESSIONS))

profile: $(READY) ## say where the time of the built-in run goes, under all strategies
	$(BIN)/python -m tests.benchmarks.profiled

bench-store: $(READY) ## measure speed, and store it as what make bench holds runs against
	@mkdir -p .benchmarks
	$(BENCH)
	$(BIN)/python examples/bench_gate.py store .benchmarks/run.json

bench-sweep: $(READY) ## measure a sweep of 1,000 conversations, 2 million calls
	COMPACTLAB_CONVERSATIONS=1000 $(BIN)/pytest tests/benchmarks/test_sweep_speed.py -o addopts=--import-mode=importlib --benchmark-only -s

bench-peers: $(READY) ## measure replays and audits beside other tools, installed into .peers
	$(BIN)/python examples/bench_peers.py
	$(BIN)/python examples/bench_audits.py

growth: $(READY) ## measure how the cost of a run grows, into docs/dev/growth.json and docs/dev/growth.svg
	$(BIN)/python examples/growth.py

RECORDED ?= ../shared/recorded
figures: $(READY) ## compare every value of 1,080 runs with those of a commit, BASE=the last one before your change
	@test -n "$(BASE)" || { echo "make figures BASE=COMMIT: name the last commit before your change" >&2; exit 2; }
	$(BIN)/python -m tests.figures.equal $(BASE) --recorded $(RECORDED) $(PART)

real-programs: $(READY) ## run real frameworks beside our built-ins, over RECORDED=their folders; installs them into .real-programs
	$(BIN)/python examples/real_programs.py $(RECORDED)/entireio-cli $(RECORDED)/agentv $(wildcard $(RECORDED)-more/cipher-box)

real-model: $(READY) ## have a small model, installed into .real-model, summarise, answer and act; replay all of it
	$(BIN)/python examples/real_model.py

bars: $(READY) ## cross-validate the bill over recorded sessions, RECORDED=their folders
	$(BIN)/python examples/bars.py $(RECORDED) $(wildcard $(addsuffix -more,$(RECORDED)))

validate: $(READY) ## hold what is replayed against published figures, RECORDED=the recordings' folder
	@failed=0; for script in examples/validate_*.py; do \
		echo "== $$script"; $(BIN)/python $$script $(RECORDED) || failed=1; \
	done; exit $$failed

simulations: $(READY) ## how often intervals hold the truth and advice is wrong: tables of docs/statistics.md
	$(BIN)/python examples/simulate_intervals.py
	$(BIN)/python examples/simulate_advice.py

calibration: $(READY) ## fit the summariser `calibrated` anew, RECORDED=the recordings' folder
	$(BIN)/python examples/calibrate.py $(RECORDED) $(RECORDED)-more --date $$(date +%F) --out compactlab/strategies/summarizers/calibrated.toml

# Runs are kept in .readme, and made again only where the engine has changed.
picture: $(READY) ## draw the pictures of the README anew, and measure its figures, by a real run
	$(BIN)/python examples/readme_figures.py built-in .readme

README_RECORDED ?= entireio-cli pi-mono
recorded: $(READY) ## measure the figures of the README over recordings, RECORDED=their folder
	$(BIN)/python examples/readme_figures.py recorded .readme $(addprefix $(RECORDED)/,$(README_RECORDED))
	$(BIN)/python examples/readme_figures.py asked .readme $(RECORDED)/entireio-cli $(RECORDED)-more/entireio-cli

results: $(READY) ## run the experiments of docs/results.md, as far as .results lacks them, and write the page
	$(BIN)/python examples/results_run.py .results $(wildcard $(RECORDED) $(RECORDED)-more)
	$(BIN)/python examples/results_page.py

site: .venv/site ## build the site into build/site
	rm -rf build/site .cache
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

.venv/site: $(INSTALLED)
	@echo "Adding to .venv what the site needs, some 200 MB."
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[site]'
	@touch $@


docs: $(READY) ## write anew what README and pages have from the code and from docs/results
	$(BIN)/python examples/metrics_page.py
	$(BIN)/python examples/experiments_page.py
	$(BIN)/python examples/formats_page.py
	$(BIN)/python examples/scenarios_page.py
	$(BIN)/python examples/store_page.py
	$(BIN)/python examples/strategies_page.py
	$(BIN)/python examples/summarizers_page.py
	$(BIN)/compactlab schema protocol -o docs/protocol.schema.json
	$(BIN)/python examples/readme_figures.py pages
	$(BIN)/python examples/results_page.py

clean: ## remove whatever was made here, .venv included
	rm -rf .venv .real-model .peers .figures .lowest .pythons .readme .results .cache compactlab-out build dist
	rm -rf .benchmarks .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): pyproject.toml constraints.txt
	@echo "Setting up .venv: compactlab and the libraries that it runs on, some 400 MB."
	@echo "It takes a minute or less; later runs go without it."
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -c constraints.txt -e .
	@touch $@

$(READY): $(INSTALLED)
	@echo "Adding to .venv what tests, lint and types need, some 600 MB more."
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	@touch $@
