/** `npm run dev` as a stranger runs it: what it says, what it answers, and what it says of a mistake. */
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { readDevArguments } from "../../scripts/dev-arguments.ts";
import { freePort } from "../../scripts/free-port.ts";
import { BUCKET, PAGE, PAGE_TEXT, writeBucketState } from "../bucket-state.ts";
import { ollama, stopFakes } from "./engines/fake.ts";
import { runScript, stopScripts } from "./script.ts";

const folders: string[] = [];
afterEach(() => {
	stopScripts();
	stopFakes();
	for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

const dev = (args: string[]) => runScript("scripts/dev.ts", args);

/** wrangler's own choice of a port for its inspector is that of another wrangler that starts at the same time. */
const ownPorts = async (): Promise<string[]> => [
	...["--port", String(await freePort())],
	...["--inspector-port", String(await freePort())],
];

const OBJECTS = {
	durable_objects: {
		bindings: [
			{ name: "ACCOUNT", class_name: "Account" },
			{ name: "DIRECTORY", class_name: "Directory" },
			{ name: "GATEWAYS", class_name: "GatewayRegistry" },
			{ name: "GATEWAY", class_name: "Gateway" },
			{ name: "RESPONSE_CACHE", class_name: "ResponseCache" },
			{ name: "RESPONSE_STORE", class_name: "ResponseStore" },
			{ name: "JOB_STORE", class_name: "JobStore" },
			{ name: "STREAM_RUN", class_name: "StreamRun" },
			{ name: "BLOBS", class_name: "BlobStore" },
			{ name: "WORK_QUEUE", class_name: "WorkQueue" },
			{ name: "VECTOR_REGISTRY", class_name: "VectorRegistry" },
			{ name: "VECTOR_INDEX", class_name: "VectorIndex" },
			{ name: "SEARCH_REGISTRY", class_name: "SearchRegistry" },
			{ name: "SEARCH_INSTANCE", class_name: "SearchInstance" },
		],
	},
	migrations: [
		{
			tag: "v1",
			new_sqlite_classes: [
				"Account",
				"Directory",
				"GatewayRegistry",
				"Gateway",
				"ResponseCache",
				"ResponseStore",
				"JobStore",
				"StreamRun",
				"BlobStore",
				"WorkQueue",
				"VectorRegistry",
				"VectorIndex",
				"SearchRegistry",
				"SearchInstance",
			],
		},
	],
};

function configWith(vars: object, bindings: object = {}): string {
	const folder = mkdtempSync(join(tmpdir(), "ganglion-"));
	folders.push(folder);
	const path = join(folder, "wrangler.json");
	writeFileSync(
		path,
		JSON.stringify({
			name: "ganglion",
			// As built: wrangler does not bundle it again.
			main: resolve("dist/worker/index.js"),
			no_bundle: true,
			find_additional_modules: true,
			rules: [{ type: "ESModule", globs: ["*.part.js"] }],
			compatibility_date: "2026-11-01",
			compatibility_flags: ["nodejs_compat"],
			vars,
			...bindings,
			...OBJECTS,
		}),
	);
	return path;
}

const LOKAL = '--engine: expected local, found lokal; did you mean "local"?';

describe("the arguments of npm run dev", () => {
	it.each([
		[["--engine", "lokal"], LOKAL],
		[["--engine"], "--engine: expected local, found nothing"],
		[
			["--engine-ports", "ollama"],
			"--engine-ports: expected numbers with commas between them, such as 11434,8080, found ollama",
		],
		[["--port", "70000"], "--port: expected a number up to 65535, found 70000"],
		[
			["--engine-ports"],
			"--engine-ports: expected numbers with commas between them, such as 11434,8080, found nothing",
		],
		[["--port="], "--port: expected a number up to 65535, found nothing"],
		[["--port"], "--port: expected a number up to 65535, found nothing"],
		[["--no-port"], "--port: expected a number up to 65535, found nothing"],
		[["--state"], "--state: expected a folder, found nothing"],
		[["--state="], "--state: expected a folder, found nothing"],
		[["--config="], "--config: expected a file, found nothing"],
		[["--env", ""], "--env: expected a name, found nothing"],
		[["--state", "--port", "9000"], "--state: expected a folder, found nothing"],
		[["--local-engines=none"], "--local-engines: expected true or false, found none"],
		[["--pull"], "--pull: expected --engine local beside it"],
		[["--var", ":x"], "--var: expected NAME:VALUE, found no name"],
		[["--prot", "9000"], '--prot: no option has this name; did you mean "--port"?'],
		[["--no-local-engine"], '--no-local-engine: no option has this name; did you mean "--local-engines"?'],
		[["--var", "ROUTES"], "--var: expected NAME:VALUE, found ROUTES"],
		[
			["--var", 'BACKENDS:{"a":{"kind":"openai"}}'],
			"The configuration has a mistake:\n  BACKENDS.a: expected either url or urls, found neither",
		],
	])("%j are refused", (args, message) => {
		expect(() => readDevArguments(args)).toThrow(expect.objectContaining({ message }));
	});

	it("are passed to wrangler, without those that only the script reads", () => {
		const own = ["--state", "folder", "--engine-ports=11434", "--no-local-engines"];
		const others = ["--port", "9000", "--var", "A:1", "B:2:3", "--ip", "127.0.0.1"];
		expect(readDevArguments([...own, ...others])).toMatchObject({
			wranglerArguments: others,
			...{ state: "folder", enginePorts: [11434], port: "9000", address: ["127.0.0.1", 9000] },
			cliVars: { A: "1", B: "2:3" },
		});
	});

	it.each([
		["--local-engines", true],
		["--local-engines=true", true],
		["--local-engines=false", false],
		["--no-local-engines", false],
	])("%s is %s", (argument, enginePorts) => {
		expect(readDevArguments([argument])).toMatchObject({ enginePorts });
	});

	it("may have options of wrangler that are similar", () => {
		expect(readDevArguments(["--tsconfig", "a.json"])).toMatchObject({
			wranglerArguments: ["--tsconfig", "a.json"],
		});
	});

	it("are those of a model on this machine with --engine local", () => {
		expect(readDevArguments(["--engine", "local", "--pull=true"])).toMatchObject({
			runsModels: true,
			pulls: true,
		});
		expect(readDevArguments(["--help=false", "--pull=false"])).toMatchObject({ help: false, pulls: false });
	});
});

describe("npm run dev", () => {
	it("prints once what serves the models, its curl streams an answer, and --state has the accounts and logs", async () => {
		const state = mkdtempSync(join(tmpdir(), "ganglion-state-"));
		folders.push(state);
		const output = await dev([...(await ownPorts()), "--no-local-engines", "--state", state]).until(/Ctrl-C/);
		expect(output).toMatch(/^\nGanglion is ready on http:\/\/localhost:\d+\n/);
		const [, page = ""] = /Console: (\S+)/.exec(output) ?? [];
		expect((await fetch(page)).headers.get("content-type")).toContain("text/html");
		expect(output).toContain("every model  ->  simulator");
		expect(output).not.toMatch(/wrangler|warn|error|env\./i);

		const [, url = ""] = /curl -N (\S+)/.exec(output) ?? [];
		const [, body = ""] = /-d '(.*)'/.exec(output) ?? [];
		const answer = await (await fetch(url, { method: "POST", body })).text();
		expect(answer).toMatch(/^data: \{"response":/);
		expect(answer).toContain('"Simulat"');
		expect(answer).toMatch(/data: \[DONE\]\n\n$/);
		await expect
			.poll(() => readdirSync(state, { recursive: true }).some((file) => /\.sqlite$/.test(String(file))))
			.toBe(true);
	});

	it("routes similar models to an engine of this machine, and prints it; warns about a variable that no setting reads", async () => {
		const engine = await ollama({ name: "llama3.2:3b", size: "3.2B" });
		// Without a build of its own, which the test before shows.
		const output = await dev([
			...[...(await ownPorts()), "--config", configWith({}), "--engine-ports", String(engine.port)],
			...["--var", "ROUTE:{}"],
		]).until(/Ctrl-C/);
		expect(output).toMatch(
			new RegExp(`more  ->  ollama \\(http://127\\.0\\.0\\.1:${engine.port}\\) llama3\\.2:3b\n`),
		);
		expect(output).toContain("everything else  ->  simulator");
		expect(output).toContain("--no-local-engines");
		expect(output).toContain('ROUTE: no setting has this name, so it has no effect; did you mean "ROUTES"?');

		const [, url = ""] = /curl -N (\S+)/.exec(output) ?? [];
		// It lists its models and has no chat: who is asked is all that is to be seen.
		const answer = await fetch(url, { method: "POST", body: '{"prompt":"hi"}' });
		expect(answer.ok).toBe(false);
		expect(engine.asked.at(-1)).toBe("/api/chat");
		const other = url.replace(/run\/.*/, "run/@cf/baai/bge-m3");
		const simulated = await fetch(other, { method: "POST", body: '{"text":"hi"}' });
		expect(simulated.headers.get("x-ganglion-backend")).toBe("simulator");
	});

	it("stops before it starts on a mistake, and names all of them", async () => {
		const config = configWith({
			BACKENDS: { ollama: { kind: "openai", url: "localhost:11434" } },
			ROUTES: { "@cf/meta/*": [{ backend: "olama" }] },
		});
		const child = dev(["--config", config]);
		expect(await child.exit).toBe(1);
		const output = await child.until(/$/);
		expect(output).toContain("BACKENDS.ollama.url");
		expect(output).toContain('ROUTES["@cf/meta/*"][0].backend');
		expect(output).not.toContain("    at ");
	});

	it("shows what the configuration and the command line say, searches for no engines, and indexes the objects of an R2 bucket that AI_SEARCH.buckets names", async () => {
		const engine = await ollama({ name: "llama3.2:3b", size: "3.2B" });
		const ollamaBackend = { kind: "openai", url: "http://localhost:11434/v1" };
		const config = configWith(
			{
				BACKENDS: { ollama: ollamaBackend },
				ROUTES: {
					"@cf/meta/*": [{ backend: "ollama", model: "llama3.2" }],
					"@cf/qwen/*": [{ backend: "simulator" }],
				},
				AI_SEARCH: { buckets: { [BUCKET]: { binding: "MANUALS" } } },
			},
			{ r2_buckets: [{ binding: "MANUALS", bucket_name: BUCKET }] },
		);
		const state = join(dirname(config), "state");
		await writeBucketState(state);

		const BACKENDS = { ollama: ollamaBackend, mine: { kind: "openai", url: "http://127.0.0.1:9/v1" } };
		const output = await dev([
			...[...(await ownPorts()), "--config", config, "--state", state, "--engine-ports", String(engine.port)],
			...["--var", "DEFAULT_BACKEND:mine", `BACKENDS:${JSON.stringify(BACKENDS)}`],
		]).until(/Ctrl-C|expected/);
		expect(output).toContain("@cf/meta/*       ->  ollama (http://localhost:11434/v1) llama3.2");
		expect(output).toContain("everything else  ->  mine (http://127.0.0.1:9/v1)");
		expect(engine.asked).toEqual([]);

		const [, url = ""] = /is ready on (http:\S+)/.exec(output) ?? [];
		const call = async (path: string, body?: object) => {
			const response = await fetch(`${url}/client/v4/accounts/local/ai-search/instances${path}`, {
				...(body && {
					method: "POST",
					headers: { "content-type": "application/json" },
					body: JSON.stringify(body),
				}),
			});
			return ((await response.json()) as { result: unknown }).result;
		};
		await call("", { id: "docs", type: "r2", source: BUCKET });
		await expect
			.poll(() => call("/docs/items"))
			.toMatchObject([{ key: PAGE, status: "completed", source_id: `r2:${BUCKET}` }]);
		expect(await call("/docs/search", { query: "reset password" })).toMatchObject({
			chunks: [{ text: PAGE_TEXT }],
		});
	});

	it("shows its own options", async () => {
		const help = await dev(["--help"]).until(/npx wrangler dev --help/);
		expect(help).toMatch(/^npm run dev -- \[options\]\n/);
		// Those of Ollama, llama.cpp, vLLM, LM Studio and Docker Model Runner.
		expect(help).toContain("ports to search (11434,8080,8000,1234,12434)");
	});

	it("refuses a mistake with one line, before it looks for a port", async () => {
		const server = createServer().listen(0, "127.0.0.1");
		await once(server, "listening");
		const { port } = server.address() as AddressInfo;
		const child = dev(["--port", String(port), "--engine", "lokal"]);
		expect(await child.exit).toBe(1);
		expect(await child.until(/$/)).toBe(`${LOKAL}\n`);
		server.close();
	});

	it("prints one line if its port is in use", async () => {
		const server = createServer().listen(0, "127.0.0.1");
		await once(server, "listening");
		const { port } = server.address() as AddressInfo;
		try {
			const child = dev(["--port", String(port)]);
			expect(await child.exit).toBe(1);
			expect(await child.until(/$/)).toBe(`port ${port} of 127.0.0.1 is in use: give another --port\n`);
		} finally {
			server.close();
		}
	});
});
