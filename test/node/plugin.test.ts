/** The plugin in every tool that runs Workers on a developer's machine, installed from the packed package. */
import { execFileSync } from "node:child_process";
import {
	copyFileSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	renameSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { isRunning } from "../../scripts/child.ts";
import { freePort } from "../../scripts/free-port.ts";
import { ganglion } from "./cli/run.ts";
import { start, stopHosts } from "./plugin/host.ts";
import { exampleBeside, installExample, type Project } from "./plugin/installed.ts";
import { INDEX_PROBED, PROBED, SEARCH_PROBED } from "./plugin/probe.ts";
import { describeSessions } from "./plugin/sessions.ts";

const WRANGLER = "node_modules/wrangler/bin/wrangler.js";

/** The example's own Worker, and beside it a path that probes the binding, and one that asks a model of this machine. */
const PROBING_WORKER = `
import example from "./example.ts";
import { probe, probeIndex, probeSearch } from "./probe.ts";

export default {
	async fetch(request: Request, env: Env): Promise<Response> {
		const { pathname } = new URL(request.url);
		const { AI, DOCS, LOCAL, TEAM, VECTORIZE } = env as any;
		if (pathname === "/local") return Response.json(await LOCAL.run("@cf/meta/llama-3.2-1b-instruct", { prompt: "hi" }));
		if (pathname !== "/probe") return example.fetch(request as never, env);
		const index = await probeIndex(VECTORIZE);
		const search = await probeSearch(DOCS, TEAM);
		return Response.json({ class: AI.constructor.name, ...(await probe(AI)), index, search });
	},
};
`;

/** One file, because each starts a runtime. */
const PROBING_TEST = `
import { env } from "cloudflare:test";
import { beforeAll, expect, it } from "vitest";
import { INDEX_PROBED, PROBED, SEARCH_PROBED, probe, probeIndex, probeSearch } from "../src/probe.ts";

it("is what every host has", async () => {
	expect(await probe(env.AI)).toEqual(PROBED);
	expect(await probeIndex(env.VECTORIZE)).toEqual(INDEX_PROBED);
	expect(await probeSearch(env.DOCS, env.TEAM)).toEqual(SEARCH_PROBED);
});

it("answers with weights", async () => {
	const { response } = await env.LOCAL.run("@cf/meta/llama-3.2-1b-instruct", { prompt: "hi" });
	console.log(response);
	expect(response).toContain("llama-3.2-1b-instruct-q4_k_m.gguf");
});

beforeAll(() => env.RECORDED.run("@cf/meta/llama-3.2-1b-instruct", { prompt: "Reply with exactly: Before." }));

it("records", async () => {
	const { response } = await env.RECORDED.run("@cf/meta/llama-3.2-1b-instruct", { prompt: "Reply with exactly: Recorded." });
	expect(response).toBe("Recorded.");
});
`;

const PROBING_SCRIPT = `
import { getPlatformProxy } from "wrangler";
import { probe, probeIndex, probeSearch } from "../src/probe.ts";

const { env, dispose } = await getPlatformProxy();
const { response } = await env.LOCAL.run("@cf/meta/llama-3.2-1b-instruct", { prompt: "hi" });
console.log(response);
const index = await probeIndex(env.VECTORIZE);
const search = await probeSearch(env.DOCS, env.TEAM);
console.log("PROBED " + JSON.stringify({ class: env.AI.constructor.name, ...(await probe(env.AI)), index, search }));
await dispose();
`;

const plugin = { package: "ganglion", name: "ganglion" };

/** Beside the example's own binding. */
const BINDINGS = [
	{
		...{ name: "VECTORIZE", type: "vectorize", index_name: "docs" },
		dev: { plugin, options: { dimensions: 2, metadata_indexes: { page: "number" } } },
	},
	{ name: "DOCS", type: "ai_search", instance_name: "docs", dev: { plugin } },
	{ name: "TEAM", type: "ai_search_namespace", namespace: "team-a", dev: { plugin } },
	{ name: "LOCAL", type: "ai", dev: { plugin, options: { engine: "local" } } },
	{ name: "RECORDED", type: "ai", dev: { plugin, options: { recordings: "answers" } } },
]
	.map((binding) => `${JSON.stringify(binding)},`)
	.join("");
const ALL_PROBED = { class: "Ai", ...PROBED, index: INDEX_PROBED, search: SEARCH_PROBED };

const models = mkdtempSync(join(tmpdir(), "ganglion-plugin-local-"));
afterAll(() => rmSync(models, { recursive: true, force: true }));

/** A model whose weights are there, and a scripted llama-server that answers with its process id. */
function localModel(): Record<string, string> {
	const repository = "hugging-quants/Llama-3.2-1B-Instruct-Q4_K_M-GGUF";
	const file = { name: "llama-3.2-1b-instruct-q4_k_m.gguf", size: 4, sha256: "0".repeat(64) };
	mkdirSync(join(models, repository, "abc123"), { recursive: true });
	writeFileSync(join(models, repository, "abc123", file.name), "GGUF");
	writeFileSync(
		join(models, repository, "manifest.json"),
		JSON.stringify({ repository, revision: "abc123", files: [file] }),
	);
	return { GANGLION_MODELS: models, LLAMA_SERVER: resolve("test/node/local-engine/llama-server.mjs") };
}

const pidIn = (text: string): number => Number(/of process (\d+)/.exec(text)?.[1]);

let project: Project;
beforeAll(() => {
	const installed = installExample();
	project = { ...installed, env: { ...installed.env, ...localModel() } };
	const src = join(project.folder, "src");
	renameSync(join(src, "index.ts"), join(src, "example.ts"));
	copyFileSync(resolve("test/node/plugin/probe.ts"), join(src, "probe.ts"));
	writeFileSync(join(src, "index.ts"), PROBING_WORKER);
	const config = join(project.folder, "wrangler.jsonc");
	writeFileSync(config, readFileSync(config, "utf8").replace('"bindings": [', `"bindings": [${BINDINGS}`));
	writeFileSync(join(project.folder, "test/probe.test.ts"), PROBING_TEST);
	const tests = join(project.folder, "vitest.config.ts");
	const setup = 'defineConfig({ test: { setupFiles: ["ganglion/vitest"] },';
	writeFileSync(tests, readFileSync(tests, "utf8").replace("defineConfig({", setup));
	writeFileSync(join(project.folder, "scripts/probe.ts"), PROBING_SCRIPT);
});
afterEach(stopHosts);
afterAll(() => project?.remove());

/** wrangler's own choice of a port for its inspector is that of another wrangler that starts at the same time. */
const wranglerDev = async (
	at: Pick<Project, "env" | "folder">,
	script: string,
	port: number,
	...args: string[]
) => start(at, script, "dev", "--port", String(port), "--inspector-port", String(await freePort()), ...args);

const ask = async (port: number, path: string): Promise<Response> => fetch(`http://127.0.0.1:${port}${path}`);

describe("the package", () => {
	it("brings only the runtime along", () => {
		const { dependencies, peerDependenciesMeta } = JSON.parse(
			readFileSync(join(project.folder, "node_modules/ganglion/package.json"), "utf8"),
		);
		expect(Object.keys(dependencies)).toEqual(["workerd"]);
		expect(peerDependenciesMeta).toEqual({ miniflare: { optional: true } });
	});
});

describeSessions(() => project.folder);

describe("the example, with the plugin", () => {
	it("in wrangler dev, also with weights of this machine, and leaves no process", async () => {
		const port = await freePort();
		const host = await wranglerDev(project, WRANGLER, port);
		const output = await host.said(/Ready on/);
		expect(output).toMatch(/env\.AI \(ai\)\s+ganglion\s+local/);
		expect(await (await ask(port, "/probe")).json()).toEqual(ALL_PROBED);
		expect(await (await ask(port, "/ask?text=Reply+with+exactly%3A+Your+name+is+Alice.")).text()).toBe(
			PROBED.events,
		);
		expect(output).toContain("on the disk: @cf/meta/llama-3.2-1b-instruct (4 B)");
		const { response } = (await (await ask(port, "/local")).json()) as { response: string };
		expect(response).toMatch(/^llama-3\.2-1b-instruct-q4_k_m\.gguf of process \d+$/);
		expect(isRunning(pidIn(response))).toBe(true);
		stopHosts();
		await host.ended;
		await expect.poll(() => isRunning(pidIn(response))).toBe(false);
	});

	it("stops wrangler dev at the start on a mistake, and names all of them", async () => {
		const config = join(project.folder, "mistaken.jsonc");
		const options = {
			acount: "a",
			BACKENDS: { ollama: { kind: "openai", url: "localhost:11434" } },
			ROUTES: { "@cf/meta/*": [{ backend: "olama" }] },
		};
		const text = readFileSync(join(project.folder, "wrangler.jsonc"), "utf8");
		writeFileSync(config, text.replace(/"name": "ganglion" }/, `$&, "options": ${JSON.stringify(options)}`));
		const host = await wranglerDev(project, WRANGLER, await freePort(), "--config", config);
		const { code, output } = await host.ended;
		expect(code).toBe(1);
		expect(output).toContain("The binding AI of the Worker voice-notes has 3 mistakes (plugin ganglion):");
		expect(output).toContain('dev.options.acount: expected no such field; did you mean "account"?');
		expect(output).toContain("dev.options.BACKENDS.ollama.url: expected the http or https address");
		expect(output).toContain('dev.options.ROUTES["@cf/meta/*"][0].backend: expected "ollama" or "simulator"');
		expect(output).not.toContain("    at ");
	});

	// One run, because each loads Vite and wrangler anew.
	it("in vitest, whose run has a project with weights of this machine and the other examples, and leaves no process", async () => {
		const others = ["rag", "agent"].map((name) => exampleBeside(project, name));
		onTestFinished(() => {
			for (const example of others) example.remove();
		});
		const projects = [project, ...others].map(({ folder }) => join(folder, "vitest.config.ts"));
		const config = join(project.folder, "all.config.ts");
		writeFileSync(config, `export default { test: { projects: ${JSON.stringify(projects)} } };`);
		const recorded = join(project.folder, "answers/RECORDED/test");
		mkdirSync(recorded, { recursive: true });
		const answer = { status: 200, headers: { "content-type": "application/json" }, json: 1 };
		const gone = { test: "gone", call: "run", model: "@cf/a/b", input: "x", answers: [answer] };
		for (const name of ["probe", "old"])
			writeFileSync(
				join(recorded, `${name}.test.ts.json`),
				JSON.stringify({ version: 1, recordings: [gone] }),
			);
		const faster = `--import=${pathToFileURL(resolve("test/faster-pool.ts"))}`;
		const env = { ...project.env, NODE_OPTIONS: faster };
		const host = start({ ...project, env }, "node_modules/vitest/vitest.mjs", "run", "--config", config);
		const { code, output } = await host.ended;
		expect(code, output).toBe(0);
		// Of the example 4, of this file 3, of rag 5 and of agent 6.
		expect(output).toMatch(/Tests\s+18 passed/);
		const file = readFileSync(join(project.folder, "answers/RECORDED/test/probe.test.ts.json"), "utf8");
		const { recordings } = JSON.parse(file);
		expect(recordings).toMatchObject([
			{ answers: [{ json: { response: "Before." } }] },
			{ test: "gone", answers: [{ json: 1 }] },
			{ test: "records", answers: [{ json: { response: "Recorded." } }] },
		]);
		expect(output).toContain(
			'answers/RECORDED/test/probe.test.ts.json has 1 unused recording: run("@cf/a/b") of the test "gone". Run GANGLION_RECORDINGS=prune on your machine, and commit the file',
		);
		expect(output).toContain(
			"test/old.test.ts.json belongs to a file of tests that no longer exists: delete it",
		);
		// The runtime warns of `text()` on bytes of its disk service.
		expect(output).not.toContain("does not appear to be text");
		expect(recordings[0]).not.toHaveProperty("test");
		expect(output).toMatch(/of process \d+/);
		await expect.poll(() => isRunning(pidIn(output))).toBe(false);
	});

	it("in Vite", async () => {
		const port = await freePort();
		await start(
			project,
			"node_modules/vite/bin/vite.js",
			"dev",
			"--host",
			"127.0.0.1",
			"--port",
			String(port),
		).said(/Local:/);
		expect(await (await ask(port, "/probe")).json()).toEqual(ALL_PROBED);
	});

	it("in Node, by getPlatformProxy(), also with weights of this machine, and the script ends", async () => {
		const { code, output } = await start(project, "scripts/probe.ts").ended;
		expect(code, output).toBe(0);
		const [, probed = "nothing"] = /PROBED (.*)/.exec(output) ?? [];
		expect(JSON.parse(probed)).toEqual(ALL_PROBED);
		expect(pidIn(output)).toBeGreaterThan(0);
		await expect.poll(() => isRunning(pidIn(output))).toBe(false);
	});

	it("deploys as the hosted binding", async () => {
		const host = start(project, WRANGLER, "deploy", "--dry-run", "--outfile", "upload.txt");
		expect((await host.ended).code).toBe(0);
		const upload = readFileSync(join(project.folder, "upload.txt"), "utf8");
		const [, metadata = ""] = /name="metadata"\s+(\{.*\})/.exec(upload) ?? [];
		expect(JSON.parse(metadata).bindings).toMatchObject([
			{ name: "VECTORIZE", type: "vectorize", index_name: "docs" },
			{ name: "DOCS", type: "ai_search", instance_name: "docs" },
			{ name: "TEAM", type: "ai_search_namespace", namespace: "team-a" },
			{ name: "LOCAL", type: "ai" },
			{ name: "RECORDED", type: "ai" },
			{ name: "AI", type: "ai" },
		]);
		expect(upload).not.toContain("x-ganglion-backend");
	});
});

describe("examples/service-binding", () => {
	it("calls the gateway by RPC", async () => {
		const port = await freePort();
		const example = { ...project, folder: resolve("examples/service-binding") };
		const configs = ["-c", "wrangler.jsonc", "-c", "gateway.jsonc"];
		const script = "../../node_modules/wrangler/bin/wrangler.js";
		await (await wranglerDev(example, script, port, ...configs)).said(/Ready on/);
		const answer = await ask(port, "/?text=Reply+with+exactly%3A+Your+name+is+Alice.");
		expect(await answer.text()).toBe(PROBED.events);
		expect(await (await ask(port, "/")).json()).toHaveLength(5);
	});
});

describe("ganglion create", () => {
	const folder = mkdtempSync(join(tmpdir(), "ganglion-create-"));
	afterAll(() => rmSync(folder, { recursive: true, force: true }));

	it("creates a Worker that compiles and streams an answer of the local gateway", async () => {
		const cli = join(project.folder, "node_modules/ganglion/dist/cli/index.js");
		const created = await ganglion(["create", "My Shop"], { cwd: folder, cli });
		expect(created).toMatchObject({ code: 0, stderr: "" });
		const shop = { ...project, folder: join(folder, "My Shop") };
		const { name, devDependencies } = JSON.parse(readFileSync(join(shop.folder, "package.json"), "utf8"));
		const { version } = JSON.parse(readFileSync("package.json", "utf8"));
		// The package is not from a registry.
		const tarball = relative(shop.folder, join(project.folder, `ganglion-${version}.tgz`));
		expect([name, devDependencies.ganglion]).toEqual(["my-shop", `file:${tarball}`]);
		const again = await ganglion(["create", "My Shop"], { cwd: folder, cli });
		expect([again.code, again.stderr]).toEqual([
			1,
			`error: ${shop.folder} is not empty: name a new folder\n`,
		]);

		symlinkSync(join(project.folder, "node_modules"), join(shop.folder, "node_modules"), "dir");
		execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "--noEmit"], { cwd: shop.folder });
		const port = await freePort();
		await (await wranglerDev(shop, WRANGLER, port)).said(/Ready on/);
		const answer = await ask(port, "/?prompt=Reply+with+exactly%3A+hi");
		expect(await answer.text()).toMatch(/^data: \{"response":"hi"/);
	});
});
