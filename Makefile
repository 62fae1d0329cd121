# Each target does everything it needs on a fresh machine: `make demo` and `make test` create .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: setup demo test fuzz lint bench docs mutants clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	@touch $(STAMP)

demo: setup
	@$(BIN)/weft demo

lint: setup
	$(BIN)/ruff format --check src tests benchmarks recipes scripts
	$(BIN)/ruff check src tests benchmarks recipes scripts
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/deptry src

test: lint
	$(BIN)/python -m pytest -n 2 --dist loadfile
	scripts/smoke-wheel.sh $(VENV)

# Property tests on examples of chance, which `make test` never draws; a failure prints how to repeat it.
ROUNDS ?= 3
fuzz: setup
	for round in $$(seq $(ROUNDS)); do $(BIN)/python -m pytest -n 2 --hypothesis-profile=fuzz -m hypothesis || exit 1; done

bench: setup
	$(BIN)/weft bench all

mutants: setup
	$(BIN)/python scripts/mutants.py --markdown

docs: setup
	$(BIN)/python scripts/check_docs.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

clean:
	rm -rf $(VENV) .venv-wheel dist build
