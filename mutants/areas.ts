/** The parts of the sources where a bug costs most: paths below the project, which may be patterns. */
export const AREAS: Readonly<Record<string, readonly string[]>> = {
	accounts: ["src/objects/**/*.ts"],
	dispatch: ["src/pipeline/dispatch.ts", "src/pipeline/dispatch/**/*.ts"],
	backends: ["src/backends/**/*.ts"],
	streams: [
		"src/sse.ts",
		"src/media/pulled-stream.ts",
		"src/backends/*stream*.ts",
		"src/backends/*/*stream*.ts",
		"src/pipeline/meter.ts",
		"src/pipeline/usage-frames.ts",
	],
	authentication: [
		"src/surfaces/authenticate.ts",
		"src/surfaces/permissions.ts",
		"src/surfaces/verified-tokens.ts",
		"src/objects/tokens.ts",
		"src/objects/token-*.ts",
		"src/objects/bearer.ts",
	],
};

/** What the simulator generates is not specified. */
export const EXCLUDED = ["src/backends/simulator/**"];
