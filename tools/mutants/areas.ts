/** Parts of the sources in which bugs are most expensive. */
export interface Area {
	/** Paths in the project, or patterns. */
	sources: readonly string[];
	/** Tests that run if the mirrored tests of a source find no bug. */
	tests: readonly string[];
}

/**
 * Tests through the whole gateway, which use all areas. They take minutes, so they run only for a mutant that the tests of its area
 * do not find; one row after the other, because few files in one Worker disturb each other less.
 */
export const WIDE_TESTS: readonly (readonly string[])[] = [
	["test/pipeline/**/*.test.ts"],
	[
		"test/accounts/client/*.test.ts",
		"test/backends/!(simulator)/*.test.ts",
		"test/websearch/hosted/*.test.ts",
	],
	// The walk through the OpenAPI document depends on what other tests leave in the Worker.
	["test/surfaces/!(hostile*).test.ts", "test/surfaces/!(gateway)/!(openapi-walk).test.ts"],
	["test/gateways/run/*.test.ts", "test/surfaces/gateway/*.test.ts"],
];

/** A file belongs to the first area that names it. */
export const AREAS: Readonly<Record<string, Area>> = {
	streams: {
		sources: [
			"src/streams/*.ts",
			"src/backends/**/stream.ts",
			"src/backends/**/*-stream.ts",
			"src/pipeline/meter.ts",
			"src/pipeline/usage-frames.ts",
			"src/core/lazy-timer.ts",
			"src/schemas/short-read.ts",
		],
		tests: ["test/streams/*.test.ts", "test/backends/transport/*.test.ts", "test/pipeline/run.test.ts"],
	},
	authentication: {
		sources: [
			"src/http/authenticate.ts",
			"src/http/credentials.ts",
			"src/http/mount-routes.ts",
			"src/http/verified-tokens.ts",
			"src/accounts/token-*.ts",
			"src/accounts/durable/token-table.ts",
			"src/accounts/durable/tokens.ts",
		],
		tests: [
			"test/http/*.test.ts",
			"test/accounts/durable/*.test.ts",
			"test/surfaces/accounts/*.test.ts",
			"test/surfaces/routes.test.ts",
		],
	},
	dispatch: {
		sources: ["src/pipeline/dispatch.ts", "src/pipeline/dispatch/**/*.ts"],
		tests: ["test/pipeline/**/*.test.ts", "test/pools/prefill-decode/*.test.ts"],
	},
	accounts: {
		sources: ["src/accounts/**/*.ts", "src/fleet/*.ts"],
		tests: ["test/accounts/**/*.test.ts", "test/fleet/*.test.ts", "test/surfaces/accounts/*.test.ts"],
	},
	pools: {
		sources: ["src/pools/**/*.ts"],
		tests: ["test/pools/**/*.test.ts", "test/pipeline/dispatch/*.test.ts", "test/pipeline/preload.test.ts"],
	},
	backends: {
		sources: ["src/backends/**/*.ts", "src/outbound/*.ts"],
		tests: ["test/backends/*.test.ts", "test/backends/transport/*.test.ts"],
	},
};

/** The output of the simulator is not specified. */
export const EXCLUDED = ["src/backends/simulator/**"];
