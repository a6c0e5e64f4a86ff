# One word for everything that one does here. The environment (.venv) is made when a target first needs it.
.DEFAULT_GOAL := help
.PHONY: help demo serve check test soak bench format clean
export PYTHON

BIN := .venv/bin
RESULTS := .test-results
PYTEST := $(BIN)/python -m pytest
# Two processes, each with databases of its own; a free one takes over what waits at the other.
TWICE := -n 2 --dist worksteal
ONCE ?=

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## see agents hand work to each other (ONCE=1: end by itself)
	@tools/bootstrap run
	@ONCE=$(ONCE) $(BIN)/python -m tools.demo

serve: ## run ForkFlux on http://127.0.0.1:8000 with a SQLite database in .forkflux/
	@tools/bootstrap run
	@$(BIN)/forkflux serve

check: ## lint, format, types, import rules, migrations, quick tests (under a minute)
	@tools/bootstrap dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --cache-dir .import_linter_cache
	$(BIN)/mypy
	DATABASE_URL=sqlite://:memory: $(BIN)/python -W error manage.py makemigrations --check --dry-run
	$(PYTEST) -q $(TWICE) --db sqlite -m "not slow and not both_databases"

test: ## all tests, on SQLite and on a real PostgreSQL
	@tools/bootstrap dev
	@mkdir -p $(RESULTS)
	@rm -f $(RESULTS)/sqlite.xml $(RESULTS)/postgresql.xml
	@failed=0; \
	echo "== on SQLite"; \
	$(PYTEST) -q $(TWICE) --db sqlite --junit-xml $(RESULTS)/sqlite.xml || failed=1; \
	echo "== on PostgreSQL"; \
	$(PYTEST) -q $(TWICE) --db postgresql --junit-xml $(RESULTS)/postgresql.xml || failed=1; \
	exit $$failed

soak: ## the same tests with the full number of rounds (long)
	@tools/bootstrap dev
	@failed=0; export FORKFLUX_SOAK=1; \
	$(PYTEST) -v --timeout 3600 --db sqlite || failed=1; \
	$(PYTEST) -v --timeout 3600 --db postgresql || failed=1; \
	exit $$failed

bench: ## measure claims, publishes and lists on both databases
	@tools/bootstrap dev
	@$(BIN)/python -m bench

format: ## put the code in shape
	@tools/bootstrap dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove the environment and what the tools made; databases in .forkflux/ stay
	rm -rf .venv build dist *.egg-info $(RESULTS) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .staticfiles
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
