# `make` shows the targets and the variables.
PYTHON ?= python3
SCALE ?= 1
WORKERS ?= 2
EXAMPLES ?= 1000
KILLS ?= 1000
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.setup-done
BENCH_STAMP := $(VENV)/.bench-done
SERVERS_STAMP := $(VENV)/.servers-done
DIST_STAMP := $(VENV)/.dist-done

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-spark test-crash test-conformance test-tpcds test-random test-matrix test-servers test-cluster test-s3 shop check format clean docs pictures report-picture docs-site \
	bench bench-many bench-upkeep dist

help: ## Show the targets
	@awk -F ':.*## ' '/^# == / {printf "\n%s\n", substr($$0, 6)} \
		/^[a-z-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@printf '\nVariables, as in: make test ARGS="-k join"\n'
	@printf '  %-18s %s\n' \
		ARGS 'what the target passes on: to pytest, the benchmarks, mkdocs' \
		PYTHON 'the interpreter that setup takes ($(PYTHON))' \
		WORKERS 'processes of test, each with a Spark of its own ($(WORKERS))' \
		SCALE 'scale factor of the demo ($(SCALE))' \
		EXAMPLES 'models that test-random tries ($(EXAMPLES))' \
		KILLS 'runs that test-crash kills ($(KILLS))'

# == Begin

setup: $(STAMP) ## Create .venv with everything installed in the locked versions

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: setup ## See TPC-H views being maintained (SCALE=0.1 for little data)
	$(BIN)/python -m demo.run --scale $(SCALE) $(ARGS)

# == While you work

test: setup ## Run the default test suite (ARGS='-k name' to choose)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS)

check: setup ## Lint, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: setup ## Format the code and fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## Remove what tools and Spark leave behind (not .venv)
	rm -rf .nox build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf target logs .sparkivm spark-warehouse metastore_db derby.log demo/data
	rm -rf $(addprefix integration_tests/,target logs .sparkivm .user.yml shop/.sparkivm)
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

# == Longer tests

test-spark: setup ## Run all of the tests on Spark, of which `make test` takes some
	$(BIN)/python -m pytest tests/spark tests/integration --ivm-all-on-spark --ivm-kill --ivm-spark-examples 10 $(ARGS)

test-crash: setup ## Kill KILLS=1000 runs at any statement, and processes; fill disks, and fail tasks
	$(BIN)/python -m pytest tests/spark/crash tests/spark/test_killed.py --ivm-all-on-spark --ivm-kills $(KILLS) --ivm-kill $(ARGS)

test-conformance: setup ## Run dbt's own tests of adapters (ARGS='-k python' to choose)
	$(BIN)/python -m pytest tests/conformance --ivm-conformance $(ARGS)

test-tpcds: setup ## Maintain the 99 queries of TPC-DS on DuckDB and Spark (ARGS='-k q14' to choose)
	$(BIN)/python -m pytest tests/tpcds --ivm-tpcds $(ARGS)

test-random: setup ## Maintain EXAMPLES=1000 new random models on DuckDB, and each operator's queries longer
	$(BIN)/python -m pytest tests/planner/test_property.py tests/planner/test_operators.py \
	  tests/planner/optimize/test_passes.py tests/planner/loops \
	  tests/planner/refresh/delays/test_random.py --ivm-examples $(EXAMPLES) $(ARGS)

test-matrix: setup ## Run one suite on each Spark (ARGS="-s 'matrix(3.5)' -- --quick" for a part; docs/versions.md)
	$(BIN)/nox $(ARGS)

test-servers: setup ## Run the tests on Thrift, HTTP and TLS, and with a metastore in PostgreSQL
	$(BIN)/python -m pytest tests/adapter/test_thrift.py tests/adapter/test_tls.py tests/adapter/test_postgres.py \
	  --ivm-all-on-spark $(ARGS)

test-cluster: setup ## Run TPC-H on a standalone cluster on loopback, whose workers and memory fail
	$(BIN)/python -m pytest tests/cluster --ivm-cluster $(ARGS)

shop: setup ## Let 30 days go by in a shop, and compare all models each day (ARGS='--days 5 --orders 2000')
	$(BIN)/python -m integration_tests.shop.run $(ARGS)

test-s3: $(SERVERS_STAMP) ## Run the tests on an S3 endpoint on loopback, and count its requests (docs/s3.md)
	$(BIN)/python -m pytest tests/s3 --ivm-s3 $(ARGS)

$(SERVERS_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[servers]'
	touch $@

bench: $(BENCH_STAMP) ## Measure refreshes (ARGS='queries dag cold ratios tpcds --scales 1 10', see docs/benchmarks)
	$(BIN)/python -m benchmarks $(ARGS)

bench-many: setup ## Measure runs and looks at 500 models of which nothing changed (ARGS='--models 100')
	$(BIN)/python -m benchmarks.many $(ARGS)

bench-upkeep: setup ## Measure refreshes of a state that is maintained, and of one that is not (ARGS='--refreshes 1000')
	$(BIN)/python -m benchmarks.upkeep $(ARGS)

$(BENCH_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[bench]'
	touch $@

# == Pages and packages

docs: setup ## Write what docs/ shows of code and tests anew: SQL examples, support matrix, conformance, folders
	$(BIN)/python -m scripts.docs.write_examples
	$(BIN)/python -m scripts.docs.write_architecture_page
	$(BIN)/python -m scripts.docs.write_support_page
	$(BIN)/python -m scripts.docs.write_conformance_page
	$(BIN)/python -m scripts.docs.write_versions_page
	$(BIN)/python -m scripts.docs.write_s3_page
	$(BIN)/python -m scripts.docs.write_shop_page

pictures: $(BENCH_STAMP) ## Draw the pictures of docs/pictures anew, from the measured figures and the planner
	$(BIN)/python -m scripts.pictures
	$(BIN)/python -m scripts.delta_pictures

report-picture: setup ## Photograph the page of `dbt-sparkivm report` over the demo's project (after make demo)
	$(BIN)/python -m scripts.report_picture

docs-site: setup ## Build the documentation's site into site/, and fail on a dead link (ARGS=serve to look at it)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs $(or $(ARGS),build --strict)

dist: $(DIST_STAMP) ## Build wheel and sdist, check them, and run the quick start with each (ARGS=--no-run to build)
	$(BIN)/python -m scripts.check_dist $(ARGS)

$(DIST_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dist]'
	touch $@
