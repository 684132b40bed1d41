/** Commands and the plugin read the configuration under the Node of their user, which has fewer functions than the runtime of the Worker. */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, it } from "vitest";
import { AS_NODE_20 } from "./as-node-20.ts";

/** At least one of each setting that has fields of its own. */
const SETTINGS = {
	BACKENDS: {
		own: { kind: "openai", url: "http://127.0.0.1:8000/v1", key: "OWN_KEY", headers: { "x-team": "a" } },
		pool: { kind: "openai", urls: ["http://127.0.0.1:8001/v1", "http://127.0.0.1:8002/v1"] },
		cloudflare: {
			kind: "workers-ai",
			url: "https://api.cloudflare.com/client/v4/accounts/a/ai",
			key: "OWN_KEY",
		},
	},
	PROVIDER_KEYS: { openai: "OWN_KEY", anthropic: "OWN_KEY" },
	ROUTES: {
		"@cf/meta/*": [
			{ backend: "own", weight: 2 },
			{ backend: "pool", weight: 1 },
		],
		"acme-*": { targets: [{ backend: "own", model: "acme" }], timeouts: { header_ms: 1_000 } },
	},
	MODELS: { "acme-embed": { task: "Text Embeddings", dimensions: 4 } },
	ALIASES: { chat: "@cf/meta/llama-3.3-70b-instruct-fp8-fast", accounts: { a: { mine: "acme-embed" } } },
	LIMITS: { requests_per_minute: "product" },
	AI_GATEWAY: { allow_private_addresses: true },
	DEFAULT_BACKEND: "simulator",
	OWN_KEY: "sk-own",
};

const MISTAKES = {
	BACKENDS: { own: { kind: "opnai" } },
	ROUTES: { "@cf/*": [{ backend: "owm" }] },
	MODELS: "{",
};

let folder = "";
beforeAll(async () => {
	folder = mkdtempSync(join(tmpdir(), "ganglion-config-"));
	await build({
		entryPoints: [resolve("src/config/index.ts")],
		outfile: join(folder, "config.mjs"),
		...{ bundle: true, format: "esm", platform: "node", target: "node20", logLevel: "silent" },
	});
	const script = `
${AS_NODE_20}
const { configure } = await import("./config.mjs");
const { routing, catalog, backends } = configure(${JSON.stringify(SETTINGS)});
let problems = [];
try {
	configure(${JSON.stringify(MISTAKES)});
} catch (error) {
	({ problems } = error);
}
console.log(JSON.stringify({ routed: routing.find("acme-1").named, task: catalog.find("acme-embed").task, problems }));
`;
	writeFileSync(join(folder, "read.mjs"), script);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("is read with the functions of the oldest Node that package.json allows", async () => {
	// The list above is that of Node 20.
	expect(JSON.parse(readFileSync("package.json", "utf8")).engines.node).toBe(">=20");
	const { stdout } = await promisify(execFile)(process.execPath, [join(folder, "read.mjs")]);
	const read = JSON.parse(stdout);
	expect(read).toMatchObject({ routed: true, task: "Text Embeddings" });
	expect(read.problems.join("\n")).toContain('did you mean "openai"?');
});
