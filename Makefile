# What a developer and CI call. Tools are built from tools.mod, so that they never reach the product's go.mod.
TOOL := go tool -modfile=tools.mod
PYTHON ?= python3
WAF := examples/waf/checker examples/waf/rules-4.22.0 examples/waf/rules-4.25.0
CEDAR := examples/cedar/checker examples/cedar/cedar-1.2.1 examples/cedar/cedar-1.9.2
POD_SECURITY := examples/pod-security/checker examples/pod-security/library-0.27.0 examples/pod-security/library-0.37.2
PYTHON_EXAMPLES := examples/packaging/*.py examples/model-endpoint/*.py examples/model-endpoint/python/*.py

BASE ?= main
GOTEST ?= go test

.PHONY: build test test-waf test-examples test-typescript test-python test-java test-rust campaign fuzz lint generate generate-typescript generated generated-typescript generate-python generated-python generate-rust generated-rust breaking tidy bench check image

build: ## the one binary
	CGO_ENABLED=0 go build -trimpath -o bin/retrial .

test: ## the whole suite, with the race detector
	$(GOTEST) -race -gcflags=go.etcd.io/bbolt/...=-d=checkptr=0 ./... # over damaged pages the checks of pointers end the process

test-waf: ## the WAF example's modules, over all 4,535 cases
	for m in $(WAF); do go test -C $$m ./... || exit 1; done

test-examples: test-waf ## the examples of other modules and languages, each as its README says; needs Node and Python
	for m in $(CEDAR) $(POD_SECURITY); do go test -C $$m ./... || exit 1; done
	go test -C examples/trials -count=1 ./... # what it runs is outside its module, and so no part of the key of a cached result

test-typescript: ## the TypeScript SDK, against the Go binary; needs Node
	cd clients/typescript && npm ci && npm run lint && npm run lint-example && npm test

campaign: ## the fault campaigns in their full length, a quarter of an hour
	RETRIAL_CAMPAIGN=full go test -count=1 -p 1 -timeout 45m -run TestCampaign -v ./fixturestore ./server/checkerhost ./server ./clients/cli

test-python: clients/python/.venv/installed ## ruff, mypy and pytest of the Python SDK, in an environment that is made once
	cd clients/python && .venv/bin/ruff check -q . && .venv/bin/ruff format -q --check . && .venv/bin/mypy && .venv/bin/pytest
	cd clients/python && .venv/bin/ruff check -q --config pyproject.toml $(PYTHON_EXAMPLES:%=../../%) \
		&& .venv/bin/ruff format -q --check --config pyproject.toml $(PYTHON_EXAMPLES:%=../../%)
	cd examples/packaging && ../../clients/python/.venv/bin/mypy --strict --cache-dir ../../clients/python/.mypy_cache *.py
	cd examples/model-endpoint && ../../clients/python/.venv/bin/mypy --strict --cache-dir ../../clients/python/.mypy_cache generate.py

clients/python/.venv/installed: clients/python/requirements.lock clients/python/pyproject.toml
	$(PYTHON) -m venv --clear clients/python/.venv
	clients/python/.venv/bin/pip install -q --require-hashes -r clients/python/requirements.lock
	clients/python/.venv/bin/pip install -q --no-deps --no-build-isolation -e clients/python
	touch $@

test-java: ## the Java SDK, against the Go binary; needs a JDK of 17 or later, and Maven
	go build -o clients/java/target/retrial .
	cd clients/java && mvn -q -B verify
	cat clients/java/*/target/surefire-reports/*.txt | grep '^Tests run:'
	clients/java/target/retrial conformance 'java -jar clients/java/promotion/target/promotion.jar' --set examples/promotion

test-rust: ## the Rust SDK, against the Go binary; needs Cargo 1.88 or later, and openssl
	go build -o clients/rust/target/bin/retrial .
	cd clients/rust && cargo fmt --check && cargo clippy -q --locked --all-targets -- -D warnings && cargo test -q --locked
	clients/rust/target/bin/retrial conformance clients/rust/target/debug/promotion --set examples/promotion

fuzz: ## 20 seconds for each function that parses
	go test -run '^$$' -fuzz FuzzCanonicalize -fuzztime 20s ./replayer/fixture
	go test -run '^$$' -fuzz FuzzDecode -fuzztime 20s ./replayer/fixture
	go test -run '^$$' -fuzz FuzzReadLaid -fuzztime 20s ./replayer/fixture
	go test -run '^$$' -fuzz FuzzReadRequest -fuzztime 20s ./stub
	go test -run '^$$' -fuzz FuzzWalk -fuzztime 20s ./server/wire
	go test -run '^$$' -fuzz Fuzz -fuzztime 20s ./server/checkerhost
	go test -run '^$$' -fuzz FuzzRecording -fuzztime 20s ./stub
	go test -run '^$$' -fuzz FuzzManifest -fuzztime 20s ./clients/cli/setdir
	go test -run '^$$' -fuzz FuzzCassette -fuzztime 20s ./clients/adopt
	go test -run '^$$' -fuzz FuzzResults -fuzztime 20s ./clients/adopt
	go test -run '^$$' -fuzz FuzzVerify -fuzztime 20s ./server/attest
	go test -run '^$$' -fuzz FuzzStatement -fuzztime 20s ./server/attest

lint: ## vet, here and for the platforms that nobody tests, golangci-lint, buf lint and format
	go vet ./...
	for os in darwin windows; do GOOS=$$os go vet ./... || exit 1; done
	$(TOOL) golangci-lint run
	$(TOOL) buf lint
	$(TOOL) buf format --diff --exit-code

generate: ## gen/ from proto/
	$(TOOL) buf generate

generated: generate ## fails if what is committed is not what is generated
	git diff --exit-code -- gen
	test -z "$$(git status --porcelain -- gen)"

generate-typescript: ## clients/typescript/src/gen from proto/; needs Node, and `npm ci` in clients/typescript
	$(TOOL) buf generate --template buf.gen.typescript.yaml

generated-typescript: generate-typescript ## fails if what is committed is not what is generated
	git diff --exit-code -- clients/typescript/src/gen
	test -z "$$(git status --porcelain -- clients/typescript/src/gen)"

generate-python: clients/python/.venv-generate/installed ## clients/python/src/retrial/gen/ from proto/
	PATH="$(CURDIR)/clients/python/.venv-generate/bin:$$PATH" $(TOOL) buf generate --template buf.gen.python.yaml

generated-python: generate-python ## as `generated`
	git diff --exit-code -- clients/python/src/retrial/gen
	test -z "$$(git status --porcelain -- clients/python/src/retrial/gen)"

clients/python/.venv-generate/installed: clients/python/generate/requirements.lock
	$(PYTHON) -m venv --clear clients/python/.venv-generate
	clients/python/.venv-generate/bin/pip install -q --require-hashes -r clients/python/generate/requirements.lock
	touch $@

generate-rust: clients/rust/.tools/installed ## clients/rust/sdk/src/gen from proto/; needs Cargo
	$(TOOL) buf generate --template buf.gen.rust.yaml

generated-rust: generate-rust ## as `generated`
	git diff --exit-code -- clients/rust/sdk/src/gen
	test -z "$$(git status --porcelain -- clients/rust/sdk/src/gen)"

clients/rust/.tools/installed: buf.gen.rust.yaml
	cargo install -q --locked --root clients/rust/.tools protoc-gen-prost@0.5.0 protoc-gen-tonic@0.5.0
	touch $@

breaking: ## fails if the contract breaks what BASE promised
	$(TOOL) buf breaking --against ".git#ref=$(BASE)"

tidy: ## fails if a go.mod is not tidy
	go mod tidy -diff
	for m in $(WAF) $(CEDAR) $(POD_SECURITY) examples/trials; do (cd $$m && go mod tidy -diff) || exit 1; done

bench: ## the ratios of ARCHITECTURE.md, side by side in one run
	go run ./clients/bench

check: lint generated tidy test ## what CI runs

image: ## a container image of the service
	docker build -t retrial .
