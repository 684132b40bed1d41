/**
 * The managed llama-server: a scripted one, which obeys the same options and routes, and a real one if LLAMA_SERVER names it, or PATH has it.
 * The answers of the real one are those of random numbers, and are judged by their shape.
 */
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { isRunning } from "../../../scripts/child.ts";
import { freePort } from "../../../scripts/free-port.ts";
import { findLlamaServer, installLine } from "../../../scripts/local-engine/binary.ts";
import { examineLocalModels } from "../../../scripts/local-engine/doctor.ts";
import { LocalEngine } from "../../../scripts/local-engine/index.ts";
import { localSettings } from "../../../scripts/local-engine/settings.ts";
import { presentWeights, writeManifest } from "../../../scripts/local-engine/store.ts";
import { findWeights, servedModels } from "../../../scripts/local-engine/table.ts";
import { CLI, ganglion } from "../cli/run.ts";
import { runScript, stopScripts } from "../script.ts";
import { type Hub, startHub } from "./hub.ts";
import { redImage, silence } from "./media.ts";
import { packages, program, writeFiles } from "./onnx-engine.ts";
import { speechModel, translationModel } from "./tiny-generators.ts";
import { tinyChat } from "./tiny-gguf.ts";
import {
	DETECTED_SCORE,
	detectionModel,
	type Files,
	imageLabelsOf,
	imageModel,
	labelScoresOf,
	sentimentModel,
} from "./tiny-models.ts";
import { voiceModel } from "./tiny-voice.ts";

const SCRIPTED = resolve("test/node/local-engine/llama-server.mjs");
const NOW = Date.parse("2026-11-27T00:00:00Z");
const BGE = "@cf/baai/bge-small-en-v1.5";
const LLAMA = "@cf/meta/llama-3.2-1b-instruct";
const GRANITE = "@cf/ibm-granite/granite-4.0-h-micro";

let folder: string;
let env: Record<string, string>;
const engines: LocalEngine[] = [];
beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "ganglion-engine-"));
	env = { ...(process.env as Record<string, string>), GANGLION_MODELS: folder, LLAMA_SERVER: SCRIPTED };
});
afterEach(async () => {
	vi.unstubAllEnvs();
	stopScripts();
	await Promise.all(engines.splice(0).map((engine) => engine.stop()));
	// A gateway may still write.
	rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** Puts a file where a download would. */
function place(name: string, content: string | { file: string }): void {
	const weights = findWeights(name, NOW);
	if (!weights) throw new Error(`no weights: ${name}`);
	const size = typeof content === "string" ? content.length : statSync(content.file).size;
	writeManifest(folder, {
		repository: weights.repository,
		revision: "abc123",
		files: weights.files.map((file) => ({ name: file.name, size, sha256: "0".repeat(64) })),
	});
	for (const { name: file } of weights.files) {
		const path = join(folder, weights.repository, "abc123", file);
		mkdirSync(dirname(path), { recursive: true });
		if (typeof content === "string") writeFileSync(path, content);
		else copyFileSync(content.file, path);
	}
}

const lines: string[] = [];
async function start({ pulls = false } = {}): Promise<LocalEngine> {
	lines.length = 0;
	const engine = await LocalEngine.start({ env, pulls, log: (line) => lines.push(line) });
	engines.push(engine);
	return engine;
}

async function post(engine: LocalEngine, model: string, path: string, body: object) {
	const response = await fetch(`${engine.url}/model:${encodeURIComponent(model)}${path}`, {
		method: "POST",
		headers: { authorization: `Bearer ${engine.key}`, "content-type": "application/json" },
		body: JSON.stringify({ model, ...body }),
	});
	return { status: response.status, headers: response.headers, json: await response.json() };
}

const saying = (content: string) => ({ messages: [{ role: "user", content }] });
const HI = saying("hi");
const chat = (engine: LocalEngine, model = LLAMA, body: object = HI) =>
	post(engine, model, "/v1/chat/completions", body);
/** Who has answered: llama-server, or the model's own process. */
const answererOf = async (engine: LocalEngine, body: object = HI): Promise<unknown> =>
	((await chat(engine, LLAMA, body)).json as { system_fingerprint?: string }).system_fingerprint;

const command = (engine: LocalEngine, name: string, body: object) =>
	fetch(`${engine.url}/${name}`, {
		method: "POST",
		headers: { authorization: `Bearer ${engine.key}` },
		body: JSON.stringify(body),
	});

interface StatusRow {
	name: string;
	state: string;
	failed?: boolean;
	revision?: string;
}
async function stateOf(engine: LocalEngine, model: string): Promise<StatusRow | undefined> {
	const response = await fetch(`${engine.url}/status`, {
		headers: { authorization: `Bearer ${engine.key}` },
	});
	const { models } = (await response.json()) as { models: StatusRow[] };
	return models.find(({ name }) => name === model);
}

interface Chat {
	choices?: { message: { content: string } }[];
}

const fileOf = (name: string): string => findWeights(name, NOW)?.files[0]?.name ?? "";

describe("the local engine", () => {
	it("answers for files on the disk, by the ids of the catalogue, with a key", async () => {
		place(LLAMA, "GGUF llama");
		place(BGE, "GGUF bge");
		const engine = await start();
		expect(await chat(engine)).toMatchObject({
			status: 200,
			json: {
				model: LLAMA,
				choices: [{ message: { content: expect.stringMatching(/^llama-3\.2-1b-instruct-q4_k_m\.gguf/) } }],
			},
		});
		const pooled = async (section: string) =>
			(await post(engine, section, "/v1/embeddings", { input: ["a b c"] })).json;
		expect(await pooled(BGE)).toMatchObject({ data: [{ embedding: [0, 3] }] });
		expect(await pooled(`${BGE}/cls`)).toMatchObject({ data: [{ embedding: [1, 3] }] });
		await expect.poll(async () => (await stateOf(engine, LLAMA))?.state).toBe("loaded");
		expect(await stateOf(engine, LLAMA)).toMatchObject({ revision: "abc123" });
		expect((await command(engine, "unload", { model: LLAMA })).status).toBe(200);
		await expect.poll(async () => (await stateOf(engine, LLAMA))?.state).toBe("unloaded");
		const refused = await fetch(`${engine.url}/status`, { headers: { authorization: "Bearer wrong" } });
		expect(refused.status).toBe(401);
	});

	it("loses no call, although llama-server closes connections that it calls kept", async () => {
		place(LLAMA, "GGUF llama");
		const engine = await start();
		const statuses: number[] = [];
		for (let count = 0; count < 20; count++) statuses.push((await chat(engine)).status);
		const together = await Promise.all(Array.from({ length: 20 }, () => chat(engine)));
		statuses.push(...together.map(({ status }) => status));
		expect(statuses).toEqual(Array.from({ length: 40 }, () => 200));
	});

	it("calls the own process of a loaded model, and llama-server if that has ended", async () => {
		place(LLAMA, "GGUF llama");
		const engine = await start();
		expect(await answererOf(engine)).toBe("router");
		await expect.poll(() => answererOf(engine)).toBe("own");
		// It ends amid the answer. llama-server starts another one.
		expect(await answererOf(engine, saying("crash"))).toBe("router");
		await expect.poll(() => answererOf(engine)).toBe("own");
		expect((await command(engine, "unload", { model: LLAMA })).status).toBe(200);
		await expect.poll(async () => (await stateOf(engine, LLAMA))?.state).toBe("unloaded");
		expect(await answererOf(engine)).toBe("router");
	});

	it("calls llama-server if the memory has no room for all models, because it counts the uses", async () => {
		vi.stubEnv("GANGLION_MODELS_MEMORY_GB", "0.3");
		place(LLAMA, "GGUF llama");
		place(GRANITE, "GGUF granite");
		const engine = await start();
		await chat(engine);
		await expect.poll(async () => (await stateOf(engine, LLAMA))?.state).toBe("loaded");
		for (let count = 0; count < 5; count++) expect(await answererOf(engine)).toBe("router");
	});

	it.each([
		["lets them sleep soon", {}, "10000 default"],
		["keeps what the user has set: turns", { GOMP_SPINCOUNT: "7" }, "7 default"],
		["keeps what the user has set: a policy", { OMP_WAIT_POLICY: "active" }, "default active"],
	])("has threads that wait for each other, and %s", async (_, set, expected) => {
		for (const name of ["GOMP_SPINCOUNT", "OMP_WAIT_POLICY"]) vi.stubEnv(name, undefined);
		for (const [name, value] of Object.entries(set)) vi.stubEnv(name, value);
		const [wrapper, told] = [join(folder, "wrapper"), join(folder, "told")];
		const line = `echo "\${GOMP_SPINCOUNT-default} \${OMP_WAIT_POLICY-default}" > '${told}'`;
		writeFileSync(wrapper, `#!/bin/sh\n${line}\nexec '${SCRIPTED}' "$@"\n`, { mode: 0o755 });
		env.LLAMA_SERVER = wrapper;
		await (await start()).ready();
		expect(readFileSync(told, "utf8").trim()).toBe(expected);
	});

	it("is started again after a crash, at the same address, and leaves no process", async () => {
		place(LLAMA, "GGUF llama");
		const engine = await start();
		await engine.ready();
		const pids: number[] = [];
		for (let count = 0; count < 3; count++) {
			const pid = engine.pid ?? 0;
			pids.push(pid);
			process.kill(pid, "SIGKILL");
			// The requests come before its end is noticed.
			const answers = await Promise.all(Array.from({ length: 20 }, () => chat(engine)));
			expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
			expect(engine.pid).not.toBe(pid);
		}
		expect(lines.filter((line) => line.startsWith("llama-server has ended (exit SIGKILL)"))).toHaveLength(3);
		const last = engine.pid ?? 0;
		await engine.stop();
		expect([...pids, last].filter(isRunning)).toEqual([]);
	});

	it("answers 1,000 requests for twice as many models as the memory has room for, each by its model", async () => {
		vi.stubEnv("GANGLION_MODELS_MEMORY_GB", "0.45");
		const models = [LLAMA, "@cf/meta/llama-3.2-3b-instruct", GRANITE, "@cf/openai/gpt-oss-20b"];
		for (const model of models) place(model, "GGUF chat");
		const engine = await start();
		const wrong: unknown[] = [];
		let next = 0;
		const caller = async (offset: number): Promise<void> => {
			while (next < 1_000) {
				const model = models[(Math.floor(next++ / 8) + offset) % models.length] ?? LLAMA;
				const { status, json } = await chat(engine, model);
				const { content } = (json as Chat).choices?.[0]?.message ?? {};
				if (status !== 200 || !content?.startsWith(fileOf(model))) wrong.push([model, status, json]);
			}
		};
		await Promise.all([0, 0, 1, 1].map(caller));
		expect(wrong).toEqual([]);
		expect(lines.filter((line) => line.endsWith(" is unloaded")).length).toBeGreaterThan(100);
	});

	it("names the command for weights that are missing, and the licence", async () => {
		const engine = await start();
		expect(await chat(engine)).toMatchObject({
			status: 404,
			json: {
				error: {
					code: "weights_missing",
					message: `The weights of ${LLAMA} are not on this machine: run \`npx ganglion models pull ${LLAMA}\` (about 808 MB), or start with --pull (plugin: "pull": true) to download weights at their first use`,
				},
			},
		});
		expect(await post(engine, "gpt-5.6-sol", "/v1/chat/completions", HI)).toMatchObject({
			status: 404,
			json: { error: { message: "No model 'gpt-5.6-sol' is known to the local engine" } },
		});
	});

	it("takes files that another process downloads, without a restart", async () => {
		const engine = await start();
		await engine.ready();
		const { pid } = engine;
		place(LLAMA, "GGUF llama");
		expect((await chat(engine)).status).toBe(200);
		expect(engine.pid).toBe(pid);
	});

	it("names a file that llama-server cannot load, and serves the others", async () => {
		place(LLAMA, "this is no model");
		place(BGE, "GGUF bge");
		const engine = await start();
		expect(await chat(engine)).toMatchObject({
			status: 500,
			json: {
				error: {
					code: "weights_unreadable",
					message: `llama-server cannot load ${LLAMA}: check its files with \`npx ganglion models pull ${LLAMA}\`, or update llama.cpp`,
				},
			},
		});
		expect((await post(engine, BGE, "/v1/embeddings", { input: "a" })).status).toBe(200);
	});

	it("refuses a model that needs more memory than models have, and serves the others", async () => {
		vi.stubEnv("GANGLION_MODELS_MEMORY_GB", "0.3");
		place(LLAMA, "GGUF llama");
		place(BGE, `GGUF ${"b".repeat(100_000_000)}`);
		const engine = await start();
		expect(await post(engine, BGE, "/v1/embeddings", { input: "a" })).toMatchObject({
			status: 507,
			json: {
				error: {
					code: "no_room",
					message: `${BGE} needs about 315 MB of memory, and this machine has 300 MB for models: use a smaller model, or set GANGLION_MODELS_MEMORY_GB`,
				},
			},
		});
		expect((await chat(engine)).status).toBe(200);
	});

	describe("with a hub", () => {
		let hub: Hub;
		beforeEach(async () => {
			hub = await startHub();
			env.GANGLION_HUB = hub.url;
			hub.files.set(
				"CompendiumLabs/bge-small-en-v1.5-gguf/bge-small-en-v1.5-q8_0.gguf",
				Buffer.from(`GGUF ${"bge".repeat(1_000)}`),
			);
		});
		afterEach(() => hub.close());

		it("downloads at the first use, and answers that request", async () => {
			const engine = await start({ pulls: true });
			const answers = await Promise.all(
				[1, 2, 3].map(() => post(engine, BGE, "/v1/embeddings", { input: "a b" })),
			);
			expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
			expect(hub.requests.filter((path) => path.startsWith("/storage"))).toHaveLength(1);
			expect(lines).toContain(`${BGE} is complete (3.0 kB)`);
		});

		it("says why a download failed, and serves on", async () => {
			place(LLAMA, "GGUF llama");
			hub.fault = "altered";
			const engine = await start({ pulls: true });
			expect(await post(engine, BGE, "/v1/embeddings", { input: "a" })).toMatchObject({
				status: 502,
				json: { error: { code: "weights_unavailable", message: expect.stringContaining("SHA-256 differs") } },
			});
			expect((await chat(engine)).status).toBe(200);
			hub.fault = undefined;
			expect((await post(engine, BGE, "/v1/embeddings", { input: "a" })).status).toBe(200);
		});

		it("refuses a command for weights that no table has", async () => {
			const refused = await command(await start(), "pull", { model: "nope" });
			expect([refused.status, await refused.json()]).toEqual([
				404,
				{
					error: {
						code: "weights_missing",
						type: "local_engine",
						message: "model: expected a name of the list (GET /client/v4/local-models)",
					},
				},
			]);
		});

		it("downloads, reports and removes by command", async () => {
			const engine = await start();
			hub.fault = "silent amid";
			expect((await command(engine, "pull", { model: BGE })).status).toBe(200);
			expect(await stateOf(engine, BGE)).toMatchObject({
				state: "downloading",
				progress: { done: 1_000, total: 3_005 },
			});
			await command(engine, "cancel", { model: BGE });
			await expect.poll(async () => (await stateOf(engine, BGE))?.state).toBe("missing");
			hub.fault = undefined;
			await command(engine, "pull", { model: BGE });
			await expect.poll(async () => (await stateOf(engine, BGE))?.state).toBe("unloaded");
			await command(engine, "remove", { model: BGE });
			expect((await stateOf(engine, BGE))?.state).toBe("missing");
			expect((await command(engine, "pull", { model: "gpt-6-astra" })).status).toBe(404);
		});
	});
});

describe("the settings", () => {
	const engine = (...names: string[]) => {
		for (const name of names) place(name, "GGUF");
		const present = names.flatMap((name) => {
			const weights = findWeights(name, NOW);
			return (weights && presentWeights(folder, weights)) ?? [];
		});
		return { url: "http://127.0.0.1:1", key: "k", library: { present } } as never;
	};
	const README_MODEL = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";

	it("lead to the engine, with the weights behind each model", () => {
		const { BACKENDS, ROUTES } = localSettings(engine(LLAMA, "SmolLM2-360M-Instruct"), {}, NOW);
		expect(BACKENDS.local).toMatchObject({
			kind: "local",
			url: "http://127.0.0.1:1",
			key: "LOCAL_ENGINE_KEY",
		});
		expect(ROUTES[LLAMA]).toEqual([
			{ backend: "local", weights: "hugging-quants/Llama-3.2-1B-Instruct-Q4_K_M-GGUF@abc123; quantised" },
		]);
		expect(ROUTES[BGE]).toEqual([
			{
				backend: "local",
				weights: "CompendiumLabs/bge-small-en-v1.5-gguf; quantised",
				weights_absent: true,
			},
		]);
		expect(ROUTES[README_MODEL]).toEqual([
			{
				backend: "local",
				model: "SmolLM2-360M-Instruct",
				weights: "HuggingFaceTB/SmolLM2-360M-Instruct-GGUF@abc123; sibling",
			},
		]);
		// Without open weights.
		expect(ROUTES["@cf/deepgram/aura-1"]).toBeUndefined();
		// Ended.
		expect(ROUTES["@cf/meta/llama-2-7b-chat-int8"]).toBeUndefined();
	});

	it("take the smallest chat model that is here, as long as the usual sibling is not", () => {
		const { ROUTES } = localSettings(engine(LLAMA), {}, NOW);
		expect(ROUTES[README_MODEL]).toEqual([
			{
				backend: "local",
				model: LLAMA,
				weights: "hugging-quants/Llama-3.2-1B-Instruct-Q4_K_M-GGUF@abc123; sibling",
			},
		]);
	});

	it("leave routes of the configuration alone", () => {
		const own = {
			BACKENDS: '{"vllm":{"kind":"openai","url":"http://vllm:8000/v1"}}',
			ROUTES: { "@cf/meta/*": [{ backend: "vllm" }] },
		};
		const { BACKENDS, ROUTES } = localSettings(engine(LLAMA), own, NOW);
		expect(Object.keys(BACKENDS)).toEqual(["vllm", "local"]);
		expect(ROUTES[LLAMA]).toBeUndefined();
		expect(ROUTES["@cf/meta/*"]).toEqual([{ backend: "vllm" }]);
		expect(() => localSettings(engine(), { BACKENDS: { local: {} } }, NOW)).toThrow(
			"BACKENDS.local: expected another name, because --engine local has this one",
		);
	});

	it("cover models of the catalogue only", () => {
		const ids = [...servedModels(NOW).keys()];
		expect(ids.length).toBeGreaterThan(30);
		expect(ids.filter((id) => !id.startsWith("@cf/"))).toEqual([]);
	});
});

describe("llama-server", () => {
	it("is refused if it is no router, with the line that installs one", async () => {
		const old = join(folder, "llama-server");
		writeFileSync(old, "#!/bin/sh\necho usage\n", { mode: 0o755 });
		await expect(findLlamaServer({ LLAMA_SERVER: old })).rejects.toThrow(
			/LLAMA_SERVER: .*llama-server is no llama-server with --models-preset, or an older one\. Install llama\.cpp: /,
		);
		await expect(findLlamaServer({ LLAMA_SERVER: join(folder, "none") })).rejects.toThrow(
			/none does not exist/,
		);
		await expect(findLlamaServer({ PATH: "/nonexistent" })).rejects.toThrow(
			/^No llama-server was found on PATH\. Install llama\.cpp: .+, or set LLAMA_SERVER to its path$/,
		);
	});

	it.each([
		[
			"LD: error while loading shared libraries: libggml.so.0: cannot open shared object file: No such file or directory",
			0o755,
			/: .*llama-server cannot start \(LD: error while loading shared libraries: libggml\.so\.0: cannot open shared object file: No such file or directory\)\. Install llama\.cpp: /,
		],
		["not executable", 0o644, /: .*llama-server cannot start \(EACCES\)\. Install llama\.cpp: /],
	])("that exists but cannot start is no absent one: %s", async (line, mode, sentence) => {
		const bin = mkdtempSync(join(folder, "bin-"));
		const broken = join(bin, "llama-server");
		writeFileSync(broken, `#!/bin/sh\necho '${line}' >&2\nexit 127\n`, { mode });
		await expect(findLlamaServer({ LLAMA_SERVER: broken })).rejects.toThrow(sentence);
		await expect(findLlamaServer({ PATH: bin })).rejects.toThrow(`${broken} cannot start (`);
	});

	it("is found on PATH, also as a command of llama", async () => {
		const bin = join(folder, "bin");
		mkdirSync(bin);
		writeFileSync(join(bin, "llama"), '#!/bin/sh\n[ "$1" = serve ] && echo --models-preset\n', {
			mode: 0o755,
		});
		expect(await findLlamaServer({ PATH: bin })).toEqual({ command: join(bin, "llama"), args: ["serve"] });
		writeFileSync(join(bin, "llama-server"), "#!/bin/sh\necho --models-preset\n", { mode: 0o755 });
		expect(await findLlamaServer({ PATH: bin })).toEqual({ command: join(bin, "llama-server"), args: [] });
	});

	it.each([
		["darwin", "", "brew install llama.cpp"],
		["win32", "", "winget install llama.cpp"],
		["linux", 'ID=debian\nPRETTY_NAME="Debian GNU/Linux forky/sid"\n', "apt install llama.cpp-tools"],
		["linux", 'ID=ubuntu\nPRETTY_NAME="Ubuntu 26.04"\n', "brew install llama.cpp"],
		["linux", "ID=nixos\n", "nix-env -iA nixos.llama-cpp"],
	] as const)("is installed on %s by one line", (platform, release, line) => {
		expect(installLine(platform, release)).toBe(line);
	});
});

describe("ganglion doctor --engine local", () => {
	it("says whether there is a llama-server, and which weights are here", async () => {
		place(LLAMA, "GGUF llama");
		const examined = await examineLocalModels(env);
		expect(examined.map(({ backend, check, result, detail }) => [backend, check, result, detail])).toEqual([
			["local", "llama-server", "ok", `${SCRIPTED} serves several models`],
			[
				...["local", "weights", "ok"],
				`${LLAMA} is here (10 B, hugging-quants/Llama-3.2-1B-Instruct-Q4_K_M-GGUF@abc123)`,
			],
		]);
		const running = [
			{ name: LLAMA, state: "loading", load_progress: 0.4 },
			{ name: BGE, state: "downloading", progress: { done: 30, total: 40 } },
			{ name: "SmolLM2-360M-Instruct", state: "missing", problem: "The disk is full" },
		];
		expect((await examineLocalModels(env, running)).slice(1).map(({ detail }) => detail)).toEqual([
			expect.stringMatching(/^@cf\/meta\/llama-3\.2-1b-instruct is here \(.+\), loading 40 %$/),
			`${BGE} is not complete, downloading 75 %`,
			"The disk is full",
		]);
		const other = await examineLocalModels({ GANGLION_MODELS: join(folder, "empty"), PATH: "" });
		expect(other.map(({ check, result }) => [check, result])).toEqual([
			["llama-server", "failed"],
			["weights", "warning"],
		]);
	});

	it("examines this machine also if another program has the port of a gateway", async () => {
		place(LLAMA, "GGUF llama");
		const page = createServer((_, response) => response.end("<html>")).listen(0, "127.0.0.1");
		await once(page, "listening");
		const { port } = page.address() as AddressInfo;
		const { stdout } = await ganglion(["doctor", "--engine", "local", "--url", `http://127.0.0.1:${port}`], {
			env: { ...env, HOME: folder },
		});
		page.close();
		expect(stdout).toMatch(/✓ local {2}weights: @cf\/meta\/llama-3\.2-1b-instruct is here \([^)]+\)\n/);
		expect(stdout).not.toContain("No engine is configured");
		expect(stdout).toContain(`http://127.0.0.1:${port} is not a gateway, or has another version`);
	});
});

describe("ganglion --engine local", () => {
	it.each(["dev", "serve"])(
		"%s answers, and its llama-server ends with it, also by SIGKILL",
		async (name) => {
			place(LLAMA, "GGUF llama");
			const port = await freePort();
			const run = runScript(
				CLI,
				[name, "--engine", "local", "--port", String(port), "--state", join(folder, "state")],
				{ env: { ...env, ADMIN_TOKEN: "an-admin-token-of-a-test-with-32-characters", HOME: folder } },
			);
			const output = await run.until(/Ctrl-C|Open files|rror/);
			expect(output).toContain("is ready on");
			expect(output).toContain(`on the disk: ${LLAMA} (10 B)`);
			expect(output).toMatch(/bge-small-en-v1\.5 .*quantised; not on the disk\]/);
			expect(output).toContain("npx ganglion models pull NAME downloads one");
			const response = await fetch(
				`http://127.0.0.1:${port}/client/v4/accounts/local/ai/run/@cf/meta/llama-3.3-70b-instruct-fp8-fast`,
				{
					method: "POST",
					headers: { authorization: "Bearer an-admin-token-of-a-test-with-32-characters" },
					body: JSON.stringify(HI),
				},
			);
			const { result } = (await response.json()) as { result: { response: string } };
			expect(
				Object.fromEntries([...response.headers].filter(([key]) => key.startsWith("x-ganglion"))),
			).toEqual({
				"x-ganglion-attempts": "1",
				"x-ganglion-backend": "local",
				"x-ganglion-model": LLAMA,
				"x-ganglion-weights": "hugging-quants/Llama-3.2-1B-Instruct-Q4_K_M-GGUF@abc123; sibling",
			});
			const listed = async (): Promise<string | undefined> => {
				const reply = await fetch(`http://127.0.0.1:${port}/client/v4/local-models`, {
					headers: { authorization: "Bearer an-admin-token-of-a-test-with-32-characters" },
				});
				const { result: status } = (await reply.json()) as { result: { models: StatusRow[] } };
				return status.models.find((row) => row.name === LLAMA)?.state;
			};
			// The event may come after the answer.
			await expect.poll(listed).toBe("loaded");
			const doctor = await ganglion(["doctor", "--engine", "local", "--url", `http://127.0.0.1:${port}`], {
				env: { ...env, HOME: folder, GANGLION_TOKEN: "an-admin-token-of-a-test-with-32-characters" },
			});
			expect(doctor.stdout).toMatch(
				/✓ local {2}weights: @cf\/meta\/llama-3\.2-1b-instruct is here \(.+\), loaded\n/,
			);
			const pid = Number(/of process (\d+)/.exec(result.response)?.[1]);
			expect(isRunning(pid)).toBe(true);
			place("Qwen3-0.6B", "GGUF qwen");
			const weightsOfQwen = async (): Promise<string | null> => {
				const reply = await fetch(
					`http://127.0.0.1:${port}/client/v4/accounts/local/ai/run/@cf/qwen/qwen3-30b-a3b-fp8`,
					{
						method: "POST",
						headers: { authorization: "Bearer an-admin-token-of-a-test-with-32-characters" },
						body: JSON.stringify(HI),
					},
				);
				return reply.headers.get("x-ganglion-weights");
			};
			await expect.poll(weightsOfQwen, { timeout: 10_000 }).toBe("Qwen/Qwen3-0.6B-GGUF@abc123; sibling");
			// The settings were loaded again, and the table of routes was not printed again.
			expect((await run.until(/ready/)).match(/What serves the models/g)).toHaveLength(1);
			run.kill(name === "dev" ? "SIGKILL" : "SIGTERM");
			await run.exit;
			await expect.poll(() => isRunning(pid)).toBe(false);
		},
	);
});

describe.skipIf(!program)("ganglion dev --engine local with ONNX models", () => {
	const SST = "@cf/huggingface/distilbert-sst-2-int8";
	const WHISPER = "@cf/openai/whisper";
	const MELO = "@cf/myshell-ai/melotts";
	/** Puts files where a download would. */
	function placeFiles(name: string, files: Files): void {
		const weights = findWeights(name, NOW);
		if (!weights) throw new Error(`no weights: ${name}`);
		const revision = "abc123";
		writeFiles(join(folder, weights.repository, revision), files);
		writeManifest(folder, {
			...{ repository: weights.repository, revision },
			files: Object.entries(files).map(([file, content]) => ({
				...{ name: file, size: Buffer.from(content).length, sha256: "0".repeat(64) },
			})),
		});
	}

	it("answers every task by its route, with the weights in the headers", async () => {
		placeFiles(SST, sentimentModel("onnx/model_quantized.onnx"));
		placeFiles("@cf/microsoft/resnet-50", imageModel("onnx/model_quantized.onnx"));
		placeFiles("@cf/facebook/detr-resnet-50", detectionModel("onnx/model_quantized.onnx"));
		placeFiles("@cf/meta/m2m100-1.2b", translationModel("_quantized"));
		placeFiles(WHISPER, speechModel("_quantized"));
		placeFiles(MELO, voiceModel());
		const port = await freePort();
		const args = ["dev", "--engine", "local", "--port", String(port), "--state", join(folder, "state")];
		const session = runScript(CLI, args, {
			env: { ...env, HOME: folder, GANGLION_ENGINE_PACKAGES: packages },
		});
		await session.until(/is ready on|rror/);
		const run = async (model: string, body: object | Uint8Array<ArrayBuffer>) => {
			const response = await fetch(`http://127.0.0.1:${port}/client/v4/accounts/local/ai/run/${model}`, {
				method: "POST",
				body: body instanceof Uint8Array ? body : JSON.stringify(body),
			});
			const { result, errors } = (await response.json()) as { result: unknown; errors: unknown };
			return { status: response.status, headers: response.headers, result, errors };
		};
		const sentiment = await run(SST, { text: "good cat" });
		const [negative = 0, positive = 0] = labelScoresOf("good cat");
		expect([sentiment.status, sentiment.result]).toEqual([
			200,
			expect.arrayContaining([
				{ label: "POSITIVE", score: expect.closeTo(positive, 5) },
				{ label: "NEGATIVE", score: expect.closeTo(negative, 5) },
			]),
		]);
		expect(sentiment.headers.get("x-ganglion-backend")).toBe("local");
		expect(sentiment.headers.get("x-ganglion-weights")).toBe(
			"Xenova/distilbert-base-uncased-finetuned-sst-2-english@abc123; same",
		);
		expect(await session.until(new RegExp(`${SST} is loaded`))).toContain(`${SST} is loading`);
		const image = redImage();
		const labels = await run("@cf/microsoft/resnet-50", image);
		expect(labels.result).toEqual(
			imageLabelsOf([255, 0, 0]).map(([label, score]) => ({ label, score: expect.closeTo(score, 5) })),
		);
		expect((await run("@cf/facebook/detr-resnet-50", image)).result).toEqual([
			expect.objectContaining({ label: "cat", score: expect.closeTo(DETECTED_SCORE, 5) }),
		]);
		const translated = await run("@cf/meta/m2m100-1.2b", {
			text: "good cat",
			source_lang: "english",
			target_lang: "french",
		});
		expect(translated.result).toMatchObject({ translated_text: "bon chat" });
		expect(translated.headers.get("x-ganglion-weights")).toBe("Xenova/m2m100_418M@abc123; sibling");
		expect(translated.headers.get("x-ganglion-model")).toBe("m2m100_418M");
		const spoken = await run(WHISPER, silence(1));
		expect(spoken.result).toMatchObject({ text: "hello quiet" });
		const speech = await run(MELO, { prompt: "a b" });
		const { audio } = speech.result as { audio: string };
		// An MP3 file.
		expect(Buffer.from(audio, "base64").readUInt16BE(0) & 0xfffe).toBe(0xfff2);
		expect(speech.headers.get("x-ganglion-weights")).toBe("Xenova/mms-tts-eng@abc123; sibling");
		const french = await run(MELO, { prompt: "a b", lang: "fr" });
		expect([french.status, JSON.stringify(french.errors)]).toEqual([
			400,
			expect.stringContaining("language: the model speaks 'en', not 'fr'"),
		]);
		const noImage = await run("@cf/microsoft/resnet-50", new Uint8Array([1, 2, 3]));
		expect(noImage.status).toBe(400);
		session.kill("SIGKILL");
		await session.exit;
	}, 120_000);
});

const real = await findLlamaServer(process.env).catch(() => undefined);
afterAll(() => {
	if (!real)
		console.warn("The tests with a real llama-server were skipped: set LLAMA_SERVER (or PATH) to run them.");
});

describe.skipIf(!real)("a real llama-server", () => {
	const placeReal = (): void => {
		const file = join(folder, "tiny.gguf");
		writeFileSync(file, tinyChat());
		for (const name of [LLAMA, BGE, "@cf/baai/bge-reranker-base"]) place(name, { file });
		env.LLAMA_SERVER = real?.command ?? "";
	};

	it("chats, embeds with both poolings, ranks, and is started again", async () => {
		placeReal();
		const engine = await start();
		const first = await post(engine, LLAMA, "/v1/chat/completions", { ...HI, max_tokens: 5 });
		expect(first).toMatchObject({ status: 200, json: { model: LLAMA, usage: { completion_tokens: 5 } } });
		const embed = async (section: string) => {
			const { json, status } = await post(engine, section, "/v1/embeddings", { input: ["a b", "c"] });
			expect([status, json]).toEqual([200, expect.anything()]);
			return (json as { data: { embedding: number[] }[] }).data.map(({ embedding }) => embedding);
		};
		const [mean, cls] = [await embed(BGE), await embed(`${BGE}/cls`)];
		expect([mean.length, cls.length]).toEqual([2, 2]);
		expect(mean[0]).not.toEqual(cls[0]);
		// One token: both kinds of pooling give the same vector.
		expect(mean[1]?.[0]).toBeCloseTo(cls[1]?.[0] ?? 2, 3);
		const ranked = await post(engine, "@cf/baai/bge-reranker-base", "/v1/rerank", {
			query: "a",
			documents: ["a", "b"],
		});
		expect(ranked.json).toMatchObject({ results: [{ index: expect.any(Number) }, {}] });
		await expect.poll(async () => (await stateOf(engine, LLAMA))?.state).toMatch(/loaded/);
		expect(lines).toContain(`${LLAMA} is loaded`);
		const pid = engine.pid ?? 0;
		process.kill(pid, "SIGKILL");
		await expect.poll(() => engine.pid).not.toBe(pid);
		expect((await post(engine, LLAMA, "/v1/chat/completions", { ...HI, max_tokens: 2 })).status).toBe(200);
	});

	// Its tokens are bytes, so it can write any text that a grammar demands.
	it("obeys a JSON schema", async () => {
		placeReal();
		const engine = await start();
		const schema = {
			type: "object",
			properties: { sky: { enum: ["blue"] } },
			required: ["sky"],
			additionalProperties: false,
		};
		const { status, json } = await post(engine, LLAMA, "/v1/chat/completions", {
			...{ ...HI, max_tokens: 100 },
			response_format: { type: "json_schema", json_schema: { name: "answer", schema } },
		});
		expect([status, json]).toEqual([200, expect.anything()]);
		const [choice] = (json as { choices: { message: { content: string } }[] }).choices;
		expect(JSON.parse(choice?.message.content ?? "")).toEqual({ sky: "blue" });
	});

	it.each([
		["of another architecture", (file: Buffer) => replaced(file, "llama", "lamma")],
		["that ends early", (file: Buffer) => file.subarray(0, file.length / 2)],
		[
			"with an impossible length in its head",
			(file: Buffer) => Buffer.concat([file.subarray(0, 8), Buffer.alloc(16, 0xff)]),
		],
	])("names the cure for a file %s, and serves the others", async (_, broken) => {
		placeReal();
		const file = join(folder, "broken.gguf");
		writeFileSync(file, broken(tinyChat()));
		place(LLAMA, { file });
		const engine = await start();
		const answer = await post(engine, LLAMA, "/v1/chat/completions", HI);
		expect(answer).toMatchObject({
			status: 500,
			json: {
				error: { code: "weights_unreadable", message: expect.stringContaining("npx ganglion models pull") },
			},
		});
		expect((await post(engine, BGE, "/v1/embeddings", { input: ["a"] })).status).toBe(200);
	});
});

/** Every text of this length becomes the other one. */
const replaced = (file: Buffer, from: string, to: string): Buffer =>
	Buffer.from(file.toString("latin1").replaceAll(from, to), "latin1");
