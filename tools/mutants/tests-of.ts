/** The tests of sources that have no test file with their name. Without a row, all tests of the folder run. */
export const TESTS_OF: Readonly<Record<string, readonly string[]>> = {
	"src/accounts/admission.ts": ["test/accounts/client/accounts.test.ts"],
	"src/accounts/lease.ts": ["test/accounts/durable/leased-requests.test.ts"],
	"src/accounts/durable/leases.ts": ["test/accounts/durable/leased-requests.test.ts"],
	"src/accounts/durable/alias-table.ts": ["test/surfaces/accounts/aliases.test.ts"],
	"src/accounts/durable/decision.ts": [
		"test/accounts/durable/ledger.test.ts",
		"test/accounts/durable/account.test.ts",
		"test/accounts/client/accounts.test.ts",
		"test/accounts/durable/refusals.test.ts",
	],
	"src/accounts/durable/requests.ts": [
		"test/accounts/durable/ledger.test.ts",
		"test/surfaces/accounts/usage.test.ts",
	],
	"src/accounts/durable/request-rows.ts": [
		"test/accounts/durable/request-rows.test.ts",
		"test/accounts/durable/ledger.test.ts",
	],
	"src/accounts/token-command.ts": [
		"test/accounts/durable/tokens.test.ts",
		"test/surfaces/accounts/tokens.test.ts",
	],
	"src/accounts/token-policy.ts": [
		"test/accounts/durable/tokens.test.ts",
		"test/surfaces/accounts/tokens.test.ts",
	],
	"src/accounts/durable/token-table.ts": [
		"test/accounts/durable/tokens.test.ts",
		"test/surfaces/accounts/tokens.test.ts",
	],
	"src/accounts/token-text.ts": ["test/accounts/durable/tokens.test.ts"],
	"src/accounts/durable/usage.ts": [
		"test/accounts/durable/ledger.test.ts",
		"test/surfaces/accounts/usage.test.ts",
	],
	"src/backends/transport/pass-through.ts": [
		"test/backends/transport/pass-through.test.ts",
		"test/surfaces/pass-through.test.ts",
	],
	"src/pipeline/weighted-choice.ts": ["test/pipeline/route.test.ts"],
	"src/pools/prefill-decode/settings.ts": ["test/pools/prefill-decode/legs.test.ts"],
	"src/pools/replica.ts": ["test/pools/replica.test.ts", "test/pools/pool.test.ts"],
	"src/pools/choice.ts": ["test/pools/choice.test.ts", "test/pools/pool.test.ts"],
};
