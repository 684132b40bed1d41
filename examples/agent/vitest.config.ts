import { cloudflareTest } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";

export default defineConfig({
	plugins: [cloudflareTest({ wrangler: { configPath: "./wrangler.jsonc" } })],
	test: {
		// The AI SDK is a thousand modules, most of them for other providers.
		deps: {
			optimizer: {
				ssr: {
					enabled: true,
					include: ["ai", "workers-ai-provider"],
					rolldownOptions: { external: [/^node:/] },
				},
			},
		},
	},
});
