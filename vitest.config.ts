import { cloudflareTest } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";

export default defineConfig({
	test: {
		projects: [
			{
				// Everything that runs in a Worker is tested in one.
				plugins: [
					cloudflareTest({
						wrangler: { configPath: "./wrangler.jsonc" },
						miniflare: {
							// Lets a caller hand an `AbortSignal` over RPC; experimental, so deployments do without.
							compatibilityFlags: ["enable_abortsignal_rpc", "enable_request_signal"],
							bindings: { ALLOW_ANONYMOUS: "true", DEFAULT_BACKEND: "simulator" },
						},
					}),
				],
				test: {
					name: "worker",
					// One Worker for all files: the code keeps no state between requests, and neither may its tests.
					isolate: false,
					include: ["test/**/*.test.ts"],
					exclude: ["test/clients/**", "test/node/**"],
				},
			},
			{
				// Real clients and the project's own scripts, on Node, against a started gateway.
				test: {
					name: "node",
					include: ["test/clients/**/*.test.ts", "test/node/**/*.test.ts"],
					testTimeout: 30_000,
				},
			},
		],
	},
});
