/** The Worker in its modules, under plain workerd: what a chat needs of them, and the first use of the others. */
import { execFileSync } from "node:child_process";
import {
	cpSync,
	existsSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { completeModulesIn, modulesIn } from "../../miniflare/modules.ts";
import { type DocumentConverter, startConverter } from "../../scripts/documents/converter.ts";
import { freePort } from "../../scripts/free-port.ts";
import { ROOT } from "../../scripts/root.ts";
import { runtimeSettings } from "../../scripts/settings.ts";
import { bundleWorker, PART_NAMES } from "../../scripts/worker.ts";
import { type Served, serve, type WorkerSpec } from "../../scripts/workerd.ts";
import { DOCUMENTS_BINDING } from "../../src/config/worker-bindings.ts";
import { isRetrieval, shareOf } from "../../tools/bench/module-share.ts";
import { loadedAtStart } from "../../tools/bench/modules.ts";
import { placesIn } from "../../tools/bench/places.ts";

const BUILT = "dist/worker";
const ENGINE_CHAT = "modules/chat";
const SIMULATED_CHAT = "@cf/meta/llama-3.1-8b-instruct-fast";
const SIMULATED_SPEECH = "@cf/myshell-ai/melotts";
const HTML = "<h1>Heading</h1><p>Some <b>words</b>.";

const completion = {
	choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
	usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};
const engine = createServer((request, response) => {
	request.resume();
	response.setHeader("content-type", "application/json").end(JSON.stringify(completion));
});

const folder = mkdtempSync(join(tmpdir(), "ganglion-modules-"));
let documents: DocumentConverter | undefined;
let served: Served | undefined;
let output = "";
beforeAll(() => new Promise<void>((done) => engine.listen(0, "127.0.0.1", done)));
beforeAll(async () => {
	documents = await startConverter(async () => modulesIn("dist/documents"));
});
afterAll(() => documents?.stop());
afterEach(async () => {
	await served?.stop();
	served = undefined;
});
afterAll(() => {
	engine.closeAllConnections();
	engine.close();
	rmSync(folder, { recursive: true, force: true });
});

async function start(
	modules: WorkerSpec["modules"],
	defaultBackend = "simulator",
	kind = "openai",
	vars: WorkerSpec["vars"] = {},
): Promise<string> {
	const url = `http://127.0.0.1:${(engine.address() as AddressInfo).port}`;
	const spec: WorkerSpec = {
		name: "ganglion",
		modules,
		vars: {
			ALLOW_ANONYMOUS: "true",
			DEFAULT_BACKEND: defaultBackend,
			BACKENDS: { engine: { kind, url } },
			ROUTES: { [ENGINE_CHAT]: [{ backend: "engine" }] },
			...(documents && { [DOCUMENTS_BINDING]: documents.address }),
			...vars,
		},
		...runtimeSettings(),
		onOutput(...streams) {
			for (const stream of streams) stream.on("data", (bytes) => (output += bytes));
		},
	};
	output = "";
	served = await serve(spec, await freePort(), mkdtempSync(join(folder, "run-")));
	return `${served.url}/client/v4/accounts/local/ai`;
}

/** One gateway for the tests of a group, which change nothing for each other. */
function shared(modules: () => WorkerSpec["modules"], defaultBackend?: string): () => string {
	let ai = "";
	let own: Served | undefined;
	beforeAll(async () => {
		ai = await start(modules(), defaultBackend);
		own = served;
		served = undefined;
	});
	afterAll(() => own?.stop());
	return () => ai;
}

const post = (url: string, body: object, signal?: AbortSignal): Promise<Response> =>
	fetch(url, {
		method: "POST",
		headers: { "content-type": "application/json" },
		body: JSON.stringify(body),
		...(signal && { signal }),
	});

const messages = [{ role: "user", content: "Reply with exactly: Your name is Alice." }];

async function speak(ai: string, signal?: AbortSignal): Promise<string> {
	const response = await post(`${ai}/run/${SIMULATED_SPEECH}`, { prompt: "Hello." }, signal);
	const { result } = (await response.json()) as { result?: { audio?: string } };
	return Buffer.from(result?.audio ?? "", "base64")
		.subarray(0, 3)
		.toString("latin1");
}

async function convert(ai: string): Promise<string | undefined> {
	const form = new FormData();
	form.append("files", new Blob([HTML], { type: "text/html" }), "a.html");
	const response = await fetch(`${ai}/tomarkdown`, { method: "POST", body: form });
	const { result } = (await response.json()) as { result?: { data?: string }[] };
	return result?.[0]?.data;
}

/** A build that is not minified, and whose address answers how many schemas its start has made. */
const readable = join("dist", `.test-${process.pid}-readable`);
let bundled: string[] = [];
beforeAll(async () => {
	const made = join(folder, "made.js");
	const entry = join(folder, "counting.ts");
	writeFileSync(
		made,
		"globalThis.made = 0;\nglobalThis.__zod_globalConfig = { postProcessor: () => globalThis.made++ };\n",
	);
	writeFileSync(
		entry,
		`import "./made.js";
import "${join(ROOT, "src/index.ts")}";
export * from "${join(ROOT, "src/index.ts")}";
export default { fetch: () => new Response(String(globalThis.made)) };
`,
	);
	bundled = await bundleWorker(readable, { entry, minify: false });
});
afterAll(() => rmSync(readable, { recursive: true, force: true }));

describe("a start", () => {
	it("makes only the schemas of the configuration and of chats: zod takes about 13 us for each", async () => {
		const countWith = async (backends: WorkerSpec["vars"]) => {
			const ai = await start(modulesIn(readable), "simulator", "openai", backends);
			const count = Number(await (await fetch(ai)).text());
			await served?.stop();
			served = undefined;
			return count;
		};
		const count = await countWith({});
		expect(count).toBeGreaterThan(100);
		// All schemas of the Worker are 4,000.
		expect(count).toBeLessThan(750);
		const engine = { kind: "openai", url: "http://127.0.0.1:9/v1" };
		const engines = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`engine-${i}`, engine]));
		expect((await countWith({ BACKENDS: { engine, ...engines } })) - count).toBeLessThan(100);
	});
});

describe("an OpenAI-compatible chat", () => {
	it("needs nothing but what is loaded at the start", async () => {
		const ai = await start(loadedAtStart(BUILT));
		const response = await post(`${ai}/v1/chat/completions`, { model: ENGINE_CHAT, messages });
		expect(response.status).toBe(200);
		expect(await response.json()).toMatchObject({ choices: completion.choices });
		expect(loadedAtStart(BUILT).length).toBeLessThan(modulesIn(BUILT).length);
	});
});

describe("a search of vectors", () => {
	it("runs its WebAssembly", async () => {
		const indexes = (await start(modulesIn(BUILT))).replace(/ai$/, "vectorize/v2/indexes");
		await post(indexes, { name: "docs", config: { dimensions: 3, metric: "cosine" } });
		const lines = ["a", "b"].map((id, at) => JSON.stringify({ id, values: [1, at, 0] })).join("\n");
		await fetch(`${indexes}/docs/insert`, {
			method: "POST",
			headers: { "content-type": "application/x-ndjson" },
			body: lines,
		});
		const found = await post(`${indexes}/docs/query`, { vector: [1, 0.9, 0] });
		expect(await found.json()).toMatchObject({ result: { matches: [{ id: "b" }, { id: "a" }] } });
		expect(modulesIn(BUILT).filter(({ name }) => name.endsWith(".wasm"))).toHaveLength(1);
	});
});

describe("the OpenAPI document", () => {
	it("is a static file, and not made by the Worker", async () => {
		const gateway = new URL(await start(modulesIn(BUILT))).origin;
		const document = await (await fetch(`${gateway}/openapi.json`)).json();
		expect(document).toMatchObject({ openapi: "3.1.0", servers: [{ url: gateway }] });
		expect(await (await fetch(`${gateway}/docs`)).text()).toContain(`export GATEWAY=${gateway}`);
		const making = modulesIn(BUILT).filter(({ file }) =>
			readFileSync(file, "utf8").includes("securitySchemes"),
		);
		expect(making).toEqual([]);
	});
});

describe("what is loaded with its first use", () => {
	it("serves concurrent first requests", async () => {
		const ai = await start(modulesIn(BUILT));
		const asked = Array.from({ length: 8 }, async () => {
			const [chat, speech, page] = await Promise.all([
				post(`${ai}/v1/chat/completions`, { model: SIMULATED_CHAT, messages }).then(({ status }) => status),
				speak(ai),
				convert(ai),
			]);
			return { chat, speech, page };
		});
		const answer = { chat: 200, speech: "ID3", page: "# Heading\n\nSome **words**.\n" };
		expect(await Promise.all(asked)).toEqual(asked.map(() => answer));
	});

	it("is loaded also if the first caller disconnects", async () => {
		const ai = await start(modulesIn(BUILT));
		await fetch(ai);
		for (const afterMs of [0, 5, 20, 60])
			await speak(ai, AbortSignal.timeout(afterMs)).catch((error: Error) => error.name);
		expect(await speak(ai)).toBe("ID3");
	});
});

describe("a build", () => {
	it("fails if a package of an import is missing", async () => {
		const entry = join(folder, "entry.ts");
		writeFileSync(entry, 'import { a } from "no-such-package";\nexport default a;\n');
		const built = bundleWorker(join(folder, "missing"), { entry });
		await expect(built).rejects.toThrow("no-such-package");
	});

	it("of these sources is copied for a command that runs them, and not made again", () => {
		const copy = join(folder, "copy");
		execFileSync(process.execPath, ["scripts/bundle.ts", "worker", copy], { stdio: "pipe" });
		expect(readdirSync(copy).sort()).toEqual(
			readdirSync(BUILT)
				.filter((name) => /\.(?:js|wasm)$/.test(name))
				.sort(),
		);
		for (const name of readdirSync(copy))
			expect(readFileSync(join(copy, name)).equals(readFileSync(join(BUILT, name))), name).toBe(true);
	});

	it("names the files that it contains, and its sources if it is readable", () => {
		expect(bundled.filter((file) => !existsSync(file))).toEqual([]);
		// Its functions are in the bundle.
		expect(bundled).toContain("node_modules/rolldown/package.json");
		// The runtime has its function.
		expect(bundled.filter((file) => file.includes("structured-clone"))).toEqual([
			"src/retrieval/documents/structured-clone.ts",
		]);
		const placeOf = placesIn(readable);
		// A class may be in the first module or in one that it shares.
		const modules = readdirSync(readable, { recursive: true, encoding: "utf8" })
			.filter((name) => name.endsWith(".js"))
			.map((name) => ({ name, lines: readFileSync(join(readable, name), "utf8").split("\n") }));
		const placeWith = (text: string) => {
			for (const { name, lines } of modules) {
				const lineNumber = lines.findIndex((line) => line.includes(text));
				if (lineNumber >= 0) return placeOf({ url: `file:///bundle/${name}`, lineNumber });
			}
			return `no module has ${text}`;
		};
		expect(placeWith("var Outbox = class")).toBe("src/accounts/client/outbox.ts");
		expect(placeWith("var HonoRequest = class")).toBe("hono/dist/request.js");
		expect(placeOf({ url: "node:internal", lineNumber: 1 })).toBe("");
	});
});

describe("a build without the parts that can be left out", () => {
	const built = join("dist", `.test-${process.pid}`);
	beforeAll(() => {
		const env = { ...process.env, WRANGLER_COMMAND: "deploy" };
		const parts = PART_NAMES.join(",");
		execFileSync(process.execPath, ["scripts/worker.ts", "--without", parts], { env, stdio: "pipe" });
		cpSync("dist/deploy", built, { recursive: true });
	});
	afterAll(() => rmSync(built, { recursive: true, force: true }));
	const gateway = shared(() => modulesIn(built), "engine");

	it("is smaller, and answers chats from engines", async () => {
		const response = await post(`${gateway()}/v1/chat/completions`, { model: ENGINE_CHAT, messages });
		expect(await response.json()).toMatchObject({ choices: completion.choices });
		expect(sizeOf(built)).toBeLessThan(0.85 * sizeOf(BUILT));
	});

	it("is refused by the command and the plugin, which name its missing parts and the cure", () => {
		expect(() => completeModulesIn(built)).toThrow(
			/without these parts: simulator, pdf, images, html, xml, spreadsheets, docx, odt, csv, anthropic, cog, gemini, local, ollama, tei, workers-ai, mcp, pgvector, qdrant, vectorize, search, vectors\. Build it again with "npm run build"/,
		);
		expect(completeModulesIn(BUILT)).toEqual(modulesIn(BUILT));
	});

	it("is not written over the complete build by a deployment", () => {
		expect(readFileSync(join(BUILT, "index.js"), "utf8")).not.toMatch(/^\/\/ Ganglion without/);
	});

	it("grows by at most 5 KB with gzip for documents, vectors and AI Search", () => {
		const share = shareOf(modulesIn(built), isRetrieval);
		expect(share).toBeLessThanOrEqual(5 * 1024);
		// The same count finds the rooms where they are.
		expect(shareOf(modulesIn(BUILT), isRetrieval)).toBeGreaterThan(40 * 1024);
	});

	it("refuses the routes of Vectorize and AI Search with their name, and other paths as ever", async () => {
		const account = gateway().replace(/\/ai$/, "");
		const refusal = async (path: string) => {
			const response = await fetch(`${account}${path}`);
			const { errors } = (await response.json()) as { errors: [{ code: number; message: string }] };
			return { status: response.status, ...errors[0] };
		};
		const without = (room: string, part: string) => ({
			status: 400,
			code: 7000,
			message: `No route for that URI: this deployment has no ${room}, because its build leaves "${part}" out`,
		});
		expect(await refusal("/vectorize/v2/indexes/docs/info")).toEqual(without("Vectorize", "vectors"));
		expect(await refusal("/ai/usage/vectors")).toEqual(without("Vectorize", "vectors"));
		expect(await refusal("/ai-search/instances")).toEqual(without("AI Search", "search"));
		expect(await refusal("/autorag/rags/docs/search")).toEqual(without("AI Search", "search"));
		const { origin } = new URL(account);
		const stranger = await fetch(`${origin}/search/local/an-id/search`, { method: "POST" });
		expect(await stranger.text()).toContain("this deployment has no AI Search");
		expect((await refusal("/vectorise")).message).not.toContain("leaves");
		expect((await fetch(`${origin}/metrics?account=local`)).status).toBe(200);
	});

	it.each([
		["VECTORS", "Vectorize", "vectors", { max_indexes: 3 }],
		["AI_SEARCH", "AI Search", "search", { allow_network: true }],
	])("does not start with the setting %s", async (name, room, part, setting) => {
		await start(modulesIn(built), "engine", "openai", { [name]: setting });
		await expect
			.poll(() => output)
			.toContain(`${name}: this build has no ${room}: remove "${part}" from --without in "build.command"`);
	});

	it("supports no file format, and reports it for each file", async () => {
		const ai = gateway();
		const supported = await fetch(`${ai}/tomarkdown/supported`);
		expect(await supported.json()).toMatchObject({ result: [] });
		const form = new FormData();
		form.append("files", new Blob([HTML], { type: "text/html" }), "a.html");
		const response = await fetch(`${ai}/tomarkdown`, { method: "POST", body: form });
		expect(await response.json()).toMatchObject({
			result: [{ format: "error", error: "Unsupported file format: .html (text/html)" }],
		});
	});

	it("does not start with a key of a provider whose kind it leaves out, and names the key", async () => {
		const vars = { PROVIDER_KEYS: { anthropic: "ANTHROPIC_KEY" }, ANTHROPIC_KEY: "sk-ant" };
		await start(modulesIn(built), "engine", "openai", vars);
		const problem =
			'PROVIDER_KEYS.anthropic: this build has no backends of kind "anthropic": remove the kind from --without in "build.command", or, if it has "unused", put the backend into the configuration file; then deploy again (docs/configuration.md)';
		await expect.poll(() => output).toContain(problem);
	});

	it("refuses a model that only a key of the account could serve", async () => {
		const ai = gateway();
		const manage = ai.replace(/ai$/, "ai-gateway/gateways");
		await post(manage, { id: "mine" });
		const secret = "sk-ant-stored-by-the-account";
		const stored = await post(`${manage}/mine/provider_configs`, { provider_slug: "anthropic", secret });
		expect(stored.status).toBe(200);
		const chat = `${new URL(ai).origin}/v1/local/mine/compat/chat/completions`;
		const response = await post(chat, { model: "anthropic/claude-opus-5", messages });
		expect(response.status).toBe(400);
		expect(await response.text()).toContain('This deployment has no backends of kind \\"anthropic\\"');
	});

	it.each([
		["simulator", "openai", 'DEFAULT_BACKEND: this build has no backends of kind "simulator"'],
		["engine", "anthropic", `ROUTES["${ENGINE_CHAT}"]: this build has no backends of kind "anthropic"`],
	])("does not start with the default backend %s of the kind %s", async (defaultBackend, kind, problem) => {
		await start(modulesIn(built), defaultBackend, kind);
		await expect.poll(() => output).toContain(problem);
	});
});

const sizeOf = (built: string): number =>
	modulesIn(built).reduce((sum, { file }) => sum + statSync(file).size, 0);
