import { resolve } from "node:path";
import { cloudflareTest } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";
import { CLIENT_ROUTES } from "./test/clients/routes.ts";

/** What `binding` loads; their modules would be a thousand, most of them for other providers. */
const CLIENTS = [
	"@cloudflare/ai-utils",
	"@cloudflare/tanstack-ai",
	"@langchain/cloudflare",
	"@tanstack/ai",
	"ai",
	"openai",
	"workers-ai-provider",
];

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
				// The project's own scripts and packages, on Node.
				test: {
					name: "node",
					include: ["test/node/**/*.test.ts"],
					testTimeout: 30_000,
				},
			},
			{
				// Published clients on Node, against a started gateway.
				test: {
					name: "clients",
					include: ["test/clients/*.test.ts"],
					globalSetup: "test/clients/setup.ts",
					testTimeout: 30_000,
				},
			},
			{
				// Published clients in a Worker that has `env.AI`, as the built package gives it.
				logLevel: "error",
				plugins: [
					cloudflareTest({
						miniflare: {
							compatibilityDate: "2026-10-01",
							compatibilityFlags: ["nodejs_compat"],
							unsafeBindings: [
								{
									name: "AI",
									type: "ai",
									plugin: {
										package: resolve("dist/miniflare/index.js"),
										name: "ganglion",
									},
									options: { ROUTES: CLIENT_ROUTES },
								},
							],
						},
					}),
				],
				test: {
					name: "binding",
					isolate: false,
					include: ["test/clients/binding/*.test.ts"],
					globalSetup: "test/clients/binding/build.ts",
					// After the tests of the package itself, which build it again.
					sequence: { groupOrder: 1 },
					deps: {
						optimizer: {
							ssr: {
								enabled: true,
								include: CLIENTS,
								rolldownOptions: { external: [/^node:/] },
							},
						},
					},
				},
			},
		],
	},
});
