/** The tests of sources that have no test file of their own name. Without a row, a source is tested with its whole folder. */
export const TESTS_OF: Readonly<Record<string, readonly string[]>> = {
	"src/objects/alias-table.ts": ["test/surfaces/aliases.test.ts"],
	"src/objects/bearer.ts": ["test/objects/ledger.test.ts", "test/objects/account.test.ts"],
	"src/objects/daily.ts": ["test/objects/ledger.test.ts", "test/objects/refusals.test.ts"],
	"src/objects/request-rows.ts": ["test/objects/ledger.test.ts", "test/surfaces/usage.test.ts"],
	"src/objects/requests.ts": ["test/objects/ledger.test.ts", "test/surfaces/usage.test.ts"],
	"src/objects/settlements.ts": ["test/objects/ledger.test.ts"],
	"src/objects/token-command.ts": ["test/objects/tokens.test.ts", "test/surfaces/tokens.test.ts"],
	"src/objects/token-policy.ts": ["test/objects/tokens.test.ts", "test/surfaces/tokens.test.ts"],
	"src/objects/token-table.ts": ["test/objects/tokens.test.ts", "test/surfaces/tokens.test.ts"],
	"src/objects/token-text.ts": ["test/objects/tokens.test.ts"],
	"src/objects/usage.ts": ["test/objects/ledger.test.ts", "test/surfaces/usage.test.ts"],
	"src/pipeline/aliases.ts": ["test/surfaces/aliases.test.ts"],
	"src/pipeline/draw.ts": ["test/pipeline/route.test.ts"],
	"src/pipeline/parse.ts": ["test/surfaces/rest.test.ts"],
};
