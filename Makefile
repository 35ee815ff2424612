# Each target sets up .venv by itself: the newest fitting python3 (PYTHON=... for another one),
# the versions of constraints.txt. ARGS=... is handed on, as in  make test ARGS="-k buffer".

BIN := .venv/bin
JOBS ?= 2
ARGS ?=

.PHONY: help demo test check format bench clean

help:
	@echo "make demo    screen the two sample towns and say where the report is"
	@echo "make test    all tests            (JOBS=$(JOBS) processes)"
	@echo "make check   lint, format, types"
	@echo "make format  mend what the linter and the formatter can mend"
	@echo "make bench   the benchmarks' table (slow)"

demo: .venv/.dev
	@$(BIN)/wetgis demo $(ARGS)

test: .venv/.dev
	@$(BIN)/python -m pytest -n $(JOBS) $(ARGS)

check: .venv/.dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: .venv/.dev
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: .venv/.bench
	@$(BIN)/python -m benchmarks $(ARGS)

clean:
	rm -rf out build dist .mypy_cache .ruff_cache .hypothesis

# The stamps say that the environment was complete after the last change of these files.
.venv/.dev: pyproject.toml constraints.txt
	@sh .ci/venv dev
	@touch $@

.venv/.bench: pyproject.toml constraints.txt
	@sh .ci/venv dev,bench
	@touch $@
