/** Downloads of weights from a scripted hub on loopback. No real hub can be reached by the tests. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	symlinkSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { HubSource } from "../../../scripts/local-engine/hub.ts";
import { HubConnection } from "../../../scripts/local-engine/hub-connection.ts";
import { holdFile, isHeld } from "../../../scripts/local-engine/lock.ts";
import {
	type Progress,
	ProgressBar,
	ProgressMeter,
	progressText,
} from "../../../scripts/local-engine/progress.ts";
import { pullWeights } from "../../../scripts/local-engine/pull.ts";
import { checkDisk, checkMemory, memoryForModels, modelsAtOnce } from "../../../scripts/local-engine/room.ts";
import { sourceOf } from "../../../scripts/local-engine/sources.ts";
import {
	presentWeights,
	pruneStore,
	readManifest,
	removeWeights,
	sizeOf,
} from "../../../scripts/local-engine/store.ts";
import { findWeights, type Weights } from "../../../scripts/local-engine/table.ts";
import { CLI, ganglion } from "../cli/run.ts";
import { sharedProcess } from "../cli/shared-process.ts";
import { runScript, stopScripts } from "../script.ts";
import { type Hub, REVISION, startHub } from "./hub.ts";

const NOW = Date.parse("2026-11-27T00:00:00Z");
const weightsOf = (name: string): Weights => {
	const found = findWeights(name, NOW);
	if (!found) throw new Error(`no weights: ${name}`);
	return found;
};
const BGE = weightsOf("@cf/baai/bge-small-en-v1.5");
const BGE_PATH = "CompendiumLabs/bge-small-en-v1.5-gguf/bge-small-en-v1.5-q8_0.gguf";
const LLAMA = weightsOf("@cf/meta/llama-3.2-1b-instruct");
const LLAMA_PATH = "hugging-quants/Llama-3.2-1B-Instruct-Q4_K_M-GGUF/llama-3.2-1b-instruct-q4_k_m.gguf";

const CONTENT = Buffer.from(Array.from({ length: 20_000 }, (_, at) => (at * 31) % 251));

const SHA256 = "f1c842ca26530cc417caa00ab0d07caf604664268315a56bbbcd08252b5b5913";

let folder: string;
let hub: Hub;
beforeEach(async () => {
	folder = mkdtempSync(join(tmpdir(), "ganglion-weights-"));
	hub = await startHub();
	hub.files.set(BGE_PATH, CONTENT);
	hub.files.set(LLAMA_PATH, Buffer.from("GGUF llama"));
});
afterEach(() => {
	stopScripts();
	hub.close();
	rmSync(folder, { recursive: true, force: true });
});

const FILE = (): string =>
	join(folder, `CompendiumLabs/bge-small-en-v1.5-gguf/${REVISION}/bge-small-en-v1.5-q8_0.gguf`);

interface PullOverrides {
	weights?: Weights;
	folder?: string;
	source?: string;
	accepts?: boolean;
	checkHashes?: boolean;
	silentMs?: number;
	signal?: AbortSignal;
	report?(progress: Progress): void;
}

const pull = ({
	weights = BGE,
	source,
	accepts = false,
	report,
	silentMs = 5_000,
	...options
}: PullOverrides = {}) =>
	pullWeights(weights, {
		...{ folder, signal: new AbortController().signal, report: report ?? (() => {}), accept: () => accepts },
		source: sourceOf({ GANGLION_HUB: source ?? hub.url }, { silentMs }),
		...options,
	});

describe("a download", () => {
	it("has the revision, the size and the hash that the hub states, and its name only when it is complete", async () => {
		const reports: Progress[] = [];
		const present = await pull({ report: (progress) => reports.push(progress) });
		expect(present.manifest).toEqual({
			repository: "CompendiumLabs/bge-small-en-v1.5-gguf",
			revision: REVISION,
			files: [
				{
					name: "bge-small-en-v1.5-q8_0.gguf",
					size: 20_000,
					sha256: SHA256,
				},
			],
		});
		expect(readFileSync(FILE())).toEqual(CONTENT);
		expect(existsSync(`${FILE()}.part`)).toBe(false);
		expect(reports.at(0)).toMatchObject({ done: 0, total: 20_000 });
		expect(reports.at(-1)).toMatchObject({ done: 20_000, total: 20_000 });
		// The second time nothing is requested.
		const before = hub.requests.length;
		await pull();
		expect(hub.requests).toHaveLength(before);
	});

	it("continues after each of 20 cuts, without a byte twice", async () => {
		hub.fault = "cut";
		await pull();
		expect(readFileSync(FILE())).toEqual(CONTENT);
		const ranges = hub.requests.filter((path) => path.startsWith("/storage"));
		expect(ranges).toHaveLength(20);
		expect(ranges.at(-1)).toMatch(/bytes=19000-$/);
	});

	it("continues what an interrupted process left", async () => {
		hub.fault = "silent amid";
		const interrupt = new AbortController();
		const stopped = pull({
			signal: interrupt.signal,
			report: ({ done }) => done >= 1_000 && interrupt.abort(),
		});
		await expect(stopped).rejects.toThrow();
		expect(readFileSync(`${FILE()}.part`)).toEqual(CONTENT.subarray(0, 1_000));
		hub.fault = undefined;
		await pull();
		expect(hub.requests.at(-1)).toMatch(/bytes=1000-$/);
		expect(readFileSync(FILE())).toEqual(CONTENT);
	});

	it("continues after each of 20 interruptions beside the lock of a killed process, without a byte twice", async () => {
		const killed = spawn(process.execPath, ["-e", ""]);
		await once(killed, "exit");
		hub.fault = "silent amid";
		for (let count = 1; count <= 20; count++) {
			const interrupt = new AbortController();
			const stopped = pull({
				signal: interrupt.signal,
				report: ({ done }) => done >= count * 950 && interrupt.abort(),
			});
			hub.cutAfter = 950;
			await expect(stopped).rejects.toThrow();
			expect(sizeOf(`${FILE()}.part`)).toBe(count * 950);
			// A process that ends by itself removes it.
			writeFileSync(`${FILE()}.lock`, `${killed.pid} token`);
		}
		hub.fault = undefined;
		await pull();
		expect(readFileSync(FILE())).toEqual(CONTENT);
		const ranges = hub.requests.filter((path) => path.startsWith("/storage"));
		expect(ranges.map((path) => Number(/bytes=(\d+)-$/.exec(path)?.[1] ?? 0))).toEqual(
			Array.from({ length: 21 }, (_, count) => count * 950),
		);
		expect(existsSync(`${FILE()}.lock`)).toBe(false);
	});

	it("continues after a silence amid the file", async () => {
		hub.fault = "silent amid";
		hub.cutAfter = 10_000;
		await pull({ silentMs: 2_000 });
		expect(readFileSync(FILE())).toEqual(CONTENT);
	});

	it("begins again at a host without ranges, and if the part was of another file", async () => {
		await pull();
		rmSync(FILE());
		writeFileSync(`${FILE()}.part`, CONTENT.subarray(0, 500));
		hub.fault = "no ranges";
		await pull();
		expect(readFileSync(FILE())).toEqual(CONTENT);
		rmSync(FILE());
		hub.fault = undefined;
		writeFileSync(`${FILE()}.part`, Buffer.alloc(500, 7));
		await pull();
		expect(readFileSync(FILE())).toEqual(CONTENT);
	});

	it("begins again if the file of the host changed amid the download", async () => {
		const [{ name } = { name: "" }] = BGE.files;
		hub.listing = { siblings: [{ rfilename: name, lfs: { sha256: SHA256, size: 20_000 } }] };
		hub.files.set(BGE_PATH, Buffer.alloc(20_000, 7));
		hub.fault = "cut";
		hub.afterCut = () => {
			hub.files.set(BGE_PATH, CONTENT);
			hub.fault = undefined;
		};
		await pull();
		expect(readFileSync(FILE())).toEqual(CONTENT);
	});

	it("keeps the revision of the first one after the files are removed", async () => {
		await pull();
		expect(removeWeights(folder, BGE)).toBe(20_000);
		expect(presentWeights(folder, BGE)).toBeUndefined();
		expect(readManifest(folder, BGE)?.revision).toBe(REVISION);
		hub.requests.length = 0;
		await pull();
		expect(hub.requests.some((path) => path.startsWith("/api"))).toBe(false);
	});

	it("finds a truncated and an altered file, and downloads it again", async () => {
		await pull();
		truncateSync(FILE(), 100);
		expect(presentWeights(folder, BGE)).toBeUndefined();
		await pull();
		expect(readFileSync(FILE())).toEqual(CONTENT);
		writeFileSync(FILE(), Buffer.alloc(20_000, 1));
		expect(presentWeights(folder, BGE)).toBeDefined();
		await pull({ checkHashes: true });
		expect(readFileSync(FILE())).toEqual(CONTENT);
	});

	it("has files in a folder, and small ones with the hash of Git", async () => {
		const resnet = weightsOf("@cf/microsoft/resnet-50");
		for (const { name } of resnet.files)
			hub.files.set(`Xenova/resnet-50/${name}`, Buffer.from(`{"of":"${name}"}`));
		const { path } = await pull({ weights: resnet });
		expect(readFileSync(path("onnx/model_quantized.onnx"), "utf8")).toBe(
			'{"of":"onnx/model_quantized.onnx"}',
		);
		expect(readFileSync(path("config.json"), "utf8")).toBe('{"of":"config.json"}');
		// `printf '{"of":"config.json"}' | git hash-object --stdin`
		expect(readManifest(folder, resnet)?.files[0]).toEqual({
			...{ name: "config.json", size: 20, blob: "154ac643e54ee5117ddaa3882a05b5560cafbcd6" },
		});
		writeFileSync(path("config.json"), '{"OF":"config.json"}');
		await pull({ weights: resnet, checkHashes: true });
		expect(readFileSync(path("config.json"), "utf8")).toBe('{"of":"config.json"}');
		expect(pruneStore(folder, () => false)).toEqual([]);
	});

	it("is written by one process at a time", async () => {
		hub.fault = "cut";
		await Promise.all([pull(), pull(), pull()]);
		expect(readFileSync(FILE())).toEqual(CONTENT);
		expect(hub.requests.filter((path) => path.startsWith("/storage"))).toHaveLength(20);
	});

	it("is continued by a second process that waits, when the first one is killed", async () => {
		hub.fault = "silent amid";
		hub.cutAfter = 7_000;
		const run = () =>
			runScript(CLI, ["models", "pull", BGE.name], {
				env: { GANGLION_MODELS: folder, GANGLION_HUB: hub.url },
			});
		const first = run();
		await expect.poll(() => sizeOf(`${FILE()}.part`), { timeout: 20_000 }).toBe(7_000);
		const second = run();
		// The first one has the file.
		const ended = await Promise.race([
			second.exit,
			new Promise((resolve) => setTimeout(resolve, 2_000, "waits")),
		]);
		expect(ended).toBe("waits");
		hub.fault = undefined;
		first.kill("SIGKILL");
		expect(await second.exit).toBe(0);
		expect(readFileSync(FILE())).toEqual(CONTENT);
		expect(hub.requests.at(-1)).toMatch(/bytes=7000-$/);
		expect(existsSync(`${FILE()}.lock`)).toBe(false);
	}, 60_000);

	it("takes the lock of a killed process over", async () => {
		const file = join(folder, "weights.gguf");
		const killed = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
		writeFileSync(`${file}.lock`, `${killed.pid} token`);
		expect(isHeld(file)).toBe(true);
		const ended = new Promise((resolve) => killed.once("exit", resolve));
		killed.kill("SIGKILL");
		await ended;
		expect(isHeld(file)).toBe(false);
		const release = await holdFile(file, { signal: new AbortController().signal });
		expect(isHeld(file)).toBe(true);
		release();
		expect(existsSync(`${file}.lock`)).toBe(false);
	});
});

const shared = sharedProcess();

describe("a sentence names the cure", () => {
	it.each([
		[
			"altered",
			/bge-small-en-v1\.5-q8_0\.gguf of 127\.0\.0\.1:\d+ is not the file that was expected \(its SHA-256 differs\).*GANGLION_HUB/,
		],
		["longer", /sent more than the 20\.0 kB of bge-small-en-v1\.5-q8_0\.gguf.*GANGLION_HUB/],
		["gated", /only to accounts that may read it \(HTTP 401\): set HF_TOKEN/],
		[
			"busy",
			/refused bge-small-en-v1\.5-q8_0\.gguf of CompendiumLabs\/bge-small-en-v1\.5-gguf with HTTP 429\. Try again in 7 s\./,
		],
		[
			"plain redirect",
			/redirects bge-small-en-v1\.5-q8_0\.gguf of CompendiumLabs\/bge-small-en-v1\.5-gguf to files\.test, which is not encrypted/,
		],
		[
			"redirect circle",
			/redirects bge-small-en-v1\.5-q8_0\.gguf of CompendiumLabs\/bge-small-en-v1\.5-gguf too often/,
		],
		[
			"redirect to a file",
			/redirects bge-small-en-v1\.5-q8_0\.gguf of \S+ to an address of "file:"\. GANGLION_HUB/,
		],
		["redirect to nothing", /redirects bge-small-en-v1\.5-q8_0\.gguf of \S+ to no address\. GANGLION_HUB/],
		[
			"redirect with a user name",
			/redirects bge-small-en-v1\.5-q8_0\.gguf of \S+ to files\.test with a user name\. GANGLION_HUB/,
		],
		["endless", /sent more than the 20\.0 kB of bge-small-en-v1\.5-q8_0\.gguf.*GANGLION_HUB/],
		[
			"endless list",
			/^The hub \S+ has no usable list of the files of CompendiumLabs\/bge-small-en-v1\.5-gguf \(GANGLION_HUB\)$/,
		],
	] as const)("of a hub that is %s", async (fault, sentence) => {
		hub.fault = fault;
		await expect(pull()).rejects.toThrow(sentence);
		expect(existsSync(FILE())).toBe(false);
	});

	it("of a hub that is silent", async () => {
		hub.fault = "silent";
		await expect(pull({ silentMs: 50 })).rejects.toThrow(
			/127\.0\.0\.1:\d+ was silent for 0\.05 s, so bge-small-en-v1\.5-q8_0\.gguf of CompendiumLabs\/bge-small-en-v1\.5-gguf is missing\. GANGLION_HUB names a mirror, or a folder with the files\./,
		);
	});

	it("of a hub whose list never ends, when it is interrupted, and after a minute", async () => {
		vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
		onTestFinished(() => void vi.useRealTimers());
		const listing = (): Response =>
			new Response(
				new ReadableStream({
					async pull(controller) {
						await new Promise((resolve) => setTimeout(resolve, 1_000));
						controller.enqueue(Buffer.from(" "));
					},
				}),
			);
		const fetch = async (_: unknown, { signal }: RequestInit = {}): Promise<Response> => {
			const answer = listing();
			const { readable, writable } = new TransformStream();
			answer.body?.pipeTo(writable, signal ? { signal } : {}).catch(() => {});
			return new Response(readable);
		};
		const source = new HubSource(new HubConnection(new URL("https://hub.test"), {}, { fetch }));
		const interrupt = new AbortController();
		const interrupted = source.manifestOf(BGE, interrupt.signal);
		const refused = expect(interrupted).rejects.toThrow("interrupted");
		await vi.advanceTimersByTimeAsync(20_000);
		interrupt.abort(new Error("interrupted"));
		await refused;
		const late = source.manifestOf(BGE, new AbortController().signal);
		const isLate = expect(late).rejects.toThrow(/no usable list .+ after 60 s \(GANGLION_HUB\)/);
		await vi.advanceTimersByTimeAsync(61_000);
		await isLate;
	});

	it("of a hub that is absent", async () => {
		await expect(pull({ source: "http://127.0.0.1:9" })).rejects.toThrow(
			/127\.0\.0\.1:9 cannot be reached \(.+\), so bge-small-en-v1\.5-q8_0\.gguf of CompendiumLabs\/bge-small-en-v1\.5-gguf is missing\. GANGLION_HUB/,
		);
		await expect(pull({ source: "https://hub.invalid" })).rejects.toThrow(
			/hub\.invalid cannot be reached \(.+\)/,
		);
	});

	it("of a hub without the repository or the file", async () => {
		hub.files.delete(BGE_PATH);
		await expect(pull()).rejects.toThrow(
			/refused bge-small-en-v1\.5-q8_0\.gguf of CompendiumLabs\/bge-small-en-v1\.5-gguf with HTTP 404/,
		);
		hub.files.set("CompendiumLabs/bge-small-en-v1.5-gguf/other.gguf", CONTENT);
		await expect(pull()).rejects.toThrow(
			/has no file bge-small-en-v1\.5-q8_0\.gguf in CompendiumLabs\/bge-small-en-v1\.5-gguf; it has other\.gguf/,
		);
	});

	it("of a hub whose names would write on the terminal", async () => {
		const siblings = ["\u001b[2Jclear.gguf", "a\nb.gguf", "../up.gguf", "good.gguf"].map((rfilename) => ({
			rfilename,
		}));
		hub.listing = { siblings };
		await expect(pull()).rejects.toThrow(
			/has no file bge-small-en-v1\.5-q8_0\.gguf in CompendiumLabs\/bge-small-en-v1\.5-gguf; it has \.\.\/up\.gguf, good\.gguf$/,
		);
		expect(readdirSync(folder)).toEqual([]);
	});

	it("of a hub whose list states another size than the file has", async () => {
		for (const [size, sentence] of [
			[100, /sent more than the 100 B of bge-small-en-v1\.5-q8_0\.gguf.*GANGLION_HUB/],
			[30_000, /has fewer bytes of bge-small-en-v1\.5-q8_0\.gguf of \S+ than its list states.*GANGLION_HUB/],
			[9e15, /^@cf\/baai\/bge-small-en-v1\.5 needs about .+ of memory, and this machine has .+ for models/],
		] as const) {
			rmSync(join(folder, "CompendiumLabs"), { recursive: true, force: true });
			hub.listing = { siblings: [{ rfilename: BGE.files[0]?.name, lfs: { sha256: SHA256, size } }] };
			await expect(pull()).rejects.toThrow(sentence);
			expect(existsSync(FILE())).toBe(false);
		}
	});

	it.skipIf(!existsSync("/dev/full"))("of a full disk, and the others are served", async () => {
		mkdirSync(dirname(FILE()), { recursive: true });
		// Each write to it fails as on a full disk.
		symlinkSync("/dev/full", `${FILE()}.part`);
		await expect(pull()).rejects.toThrow(
			/^The disk of .+ is full, so bge-small-en-v1\.5-q8_0\.gguf \(20\.0 kB\) is not complete: make space and try again, the part is kept$/,
		);
		expect(existsSync(FILE())).toBe(false);
		rmSync(`${FILE()}.part`);
		await pull();
		expect(readFileSync(FILE())).toEqual(CONTENT);
	});

	it.each([
		["weights", BGE],
		["weights whose licence is accepted", LLAMA],
	])("of a folder for %s that cannot be written", async (_, weights) => {
		// Also a user who may write everywhere can create no folder in a file.
		const file = join(folder, "file");
		writeFileSync(file, "");
		await expect(pull({ weights, accepts: true, folder: join(file, "models") })).rejects.toThrow(
			/^\S+\/file\/models\S* cannot be written: [a-z ,]+ \((?:EEXIST|ENOTDIR)\): move the file away, or set GANGLION_MODELS to another folder$/,
		);
	});

	it("of weights that are larger than the disk, before anything is written", async () => {
		await expect(checkDisk("gpt-oss-20b", 1e18, folder)).rejects.toThrow(
			/^gpt-oss-20b needs .+ in .+, and .+ are free for it: make space \(npx ganglion models rm\), or set GANGLION_MODELS to a folder on another disk$/,
		);
	});

	it.each([
		["a revision with a path", { sha: "../../../escape" }],
		["no hash", { siblings: [{ rfilename: "bge-small-en-v1.5-q8_0.gguf", size: 20_000 }] }],
		[
			"a hash that is none",
			{ siblings: [{ rfilename: "bge-small-en-v1.5-q8_0.gguf", lfs: { sha256: "../x", size: 1 } }] },
		],
		["a negative size", { siblings: [{ rfilename: "bge-small-en-v1.5-q8_0.gguf", size: -1 }] }],
		["another form", ["a"]],
	])("of a hub that states %s", async (_, listing) => {
		hub.listing = listing;
		await expect(pull()).rejects.toThrow(
			/hub 127\.0\.0\.1:\d+ (?:has no usable list of the files|states no hash)/,
		);
		expect(readdirSync(folder)).toEqual([]);
	});

	it("does not read a manifest with a path in a name", async () => {
		await pull();
		const file = join(folder, "CompendiumLabs/bge-small-en-v1.5-gguf/manifest.json");
		const manifest = readFileSync(file, "utf8");
		for (const [from, to] of [
			[REVISION, "../../../.."],
			['"bge-small-en-v1.5-q8_0.gguf"', '"../../../../etc/passwd"'],
			["CompendiumLabs/", "../"],
		] as const) {
			expect(manifest).toContain(from);
			writeFileSync(file, manifest.replaceAll(from, to));
			expect(readManifest(folder, BGE)).toBeUndefined();
		}
	});

	it.each([
		["llama-3.2-1b", '; did you mean "@cf/meta/llama-3.2-1b-instruct"?'],
		["llama3.2:3b", '; did you mean "@cf/meta/llama-3.2-3b-instruct"?'],
		[
			"@cf/meta/lama-3.2-1b-instruct",
			'; did you mean "@cf/meta/llama-3.2-1b-instruct" or "@cf/meta/llama-3.2-3b-instruct"?',
		],
		[
			"llama-3.2-1b-instrukt",
			'; did you mean "@cf/meta/llama-3.2-1b-instruct" or "@cf/meta/llama-3.2-3b-instruct"?',
		],
		["bge-smal-en-v1.5", '; did you mean "@cf/baai/bge-small-en-v1.5"?'],
		["smollm2", '; did you mean "SmolLM2-360M-Instruct"?'],
		["mistral-nemo", "."],
	])("of an unknown name: %s", async (name, guess) => {
		expect(await shared(["models", "rm", name], { env: { GANGLION_MODELS: folder } })).toEqual({
			code: 1,
			stdout: "",
			stderr: `error: no weights are known for ${name}${guess} All names: npx ganglion models list\n`,
		});
	});

	it.skipIf(process.platform !== "linux")("of a folder where none can be created", async () => {
		const env = { GANGLION_MODELS: "/proc/none/models", GANGLION_HUB: hub.url };
		expect(await ganglion(["models", "pull", BGE.name], { env })).toMatchObject({
			code: 1,
			stderr: expect.stringContaining(
				"error: /proc/none cannot be written: nothing can be created there (ENOENT): set GANGLION_MODELS to another folder\n",
			),
		});
	});

	it("of a licence, which is accepted once", async () => {
		await expect(pull({ weights: LLAMA })).rejects.toThrow(
			expect.objectContaining({
				code: "licence_not_accepted",
				message: expect.stringContaining(
					"npx ganglion models pull @cf/meta/llama-3.2-1b-instruct --accept-licence",
				),
			}),
		);
		expect(hub.requests).toEqual([]);
		await pull({ weights: LLAMA, accepts: true });
		removeWeights(folder, LLAMA);
		await pull({ weights: LLAMA });
		expect(presentWeights(folder, LLAMA)).toBeDefined();
	});

	it("of a setting that is no hub", () => {
		expect(() => sourceOf({ GANGLION_HUB: "ftp://hub" })).toThrow(/GANGLION_HUB: expected an address/);
	});

	it("of too little memory, before anything is requested", async () => {
		expect(() => checkMemory("gpt-oss-20b", 11_600_000_000, 8_000_000_000)).toThrow(
			"gpt-oss-20b needs about 13.5 GB of memory, and this machine has 8.0 GB for models: use a smaller model, or set GANGLION_MODELS_MEMORY_GB",
		);
	});
});

describe("the memory for models", () => {
	afterEach(() => vi.unstubAllEnvs());

	it("is that of the setting, in gigabytes", () => {
		vi.stubEnv("GANGLION_MODELS_MEMORY_GB", "2.5");
		expect(memoryForModels()).toBe(2_500_000_000);
		vi.stubEnv("GANGLION_MODELS_MEMORY_GB", "2 GB");
		expect(memoryForModels).toThrow("GANGLION_MODELS_MEMORY_GB: expected gigabytes, a number above 0");
	});
});

describe("the number of models at once", () => {
	it.each([
		[[1e9, 1e9, 1e9], 4.1e9, 3],
		[[1e9, 1e9, 1e9], 3e9, 2],
		[[9e9], 1e9, 1],
		[[], 1e9, 1],
	])("of sizes %j in %d bytes", (sizes, memory, expected) => {
		expect(modelsAtOnce(sizes, memory)).toBe(expected);
	});
});

describe("a token of the hub", () => {
	it("is sent to the hub, and not to the host of its files", async () => {
		const sent: [string, string | null][] = [];
		const bytes = Buffer.from("GGUF");
		const sha256 = "c2bd31f0af0ffbd8b3f2b4f0a8f5b7a1a0d1b5a3ad6d1b3a7b0a4f7b6e5d4c3b";
		const fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
			const url = new URL(String(input));
			sent.push([url.host, new Headers(init?.headers).get("authorization")]);
			if (url.pathname.startsWith("/api/"))
				return Response.json({
					sha: REVISION,
					siblings: [{ rfilename: "bge-small-en-v1.5-q8_0.gguf", size: 4, lfs: { sha256, size: 4 } }],
				});
			return url.host === "hub.test"
				? new Response(null, { status: 302, headers: { location: "https://files.test/one" } })
				: new Response(bytes);
		};
		const source = sourceOf({ GANGLION_HUB: "https://hub.test", HF_TOKEN: "hf_secret" }, { fetch });
		const wrong = pullWeights(BGE, {
			...{ folder, source, accept: () => false, report: () => {}, signal: new AbortController().signal },
		});
		await expect(wrong).rejects.toThrow(/SHA-256 differs/);
		expect(sent).toEqual([
			["hub.test", "Bearer hf_secret"],
			["hub.test", "Bearer hf_secret"],
			["files.test", null],
		]);
	});
});

describe("a folder instead of a hub", () => {
	it("has files by repository, or is the cache of the hub's own tools", async () => {
		const source = join(folder, "plain");
		mkdirSync(join(source, "CompendiumLabs/bge-small-en-v1.5-gguf"), { recursive: true });
		writeFileSync(join(source, BGE_PATH), CONTENT);
		expect((await pull({ source })).manifest.revision).toBe("folder");
		removeWeights(folder, BGE);
		const cache = join(folder, "cache");
		const snapshot = join(cache, "models--CompendiumLabs--bge-small-en-v1.5-gguf/snapshots", REVISION);
		mkdirSync(snapshot, { recursive: true });
		writeFileSync(join(snapshot, "bge-small-en-v1.5-q8_0.gguf"), CONTENT);
		expect((await pull({ source: cache })).manifest.revision).toBe(REVISION);
		await expect(pull({ source: cache, weights: LLAMA, accepts: true })).rejects.toThrow(
			/The folder .*cache has no .*llama-3\.2-1b-instruct-q4_k_m\.gguf \(GANGLION_HUB\)/,
		);
	});
});

describe("prune", () => {
	it("deletes parts and older revisions, and nothing else", async () => {
		await pull();
		const older = join(folder, "CompendiumLabs/bge-small-en-v1.5-gguf/aaaa");
		mkdirSync(older);
		writeFileSync(join(older, "old.gguf"), "old");
		writeFileSync(`${FILE()}.part`, "part");
		const foreign = join(folder, "my/own/files");
		mkdirSync(foreign, { recursive: true });
		writeFileSync(join(foreign, "notes.txt"), "notes");
		const removed = pruneStore(folder, isHeld);
		expect(removed.map(({ path, bytes }) => [path, bytes]).sort()).toEqual([
			[`${FILE()}.part`, 4],
			[join(older, "old.gguf"), 3],
		]);
		expect(existsSync(older)).toBe(false);
		expect(readFileSync(join(foreign, "notes.txt"), "utf8")).toBe("notes");
		expect(presentWeights(folder, BGE)).toBeDefined();
	});

	it("says that there was nothing to remove", async () => {
		const { stdout } = await shared(["models", "prune"], { env: { GANGLION_MODELS: folder } });
		expect(stdout).toContain("nothing to remove");
	});
});

describe("the progress", () => {
	it("has the speed of the last seconds and the time left", () => {
		let now = 0;
		const meter = new ProgressMeter(808_000_000, 8_000_000, () => now);
		expect(progressText(meter.read())).toBe("0 %  8.0 MB of 808 MB");
		for (let second = 1; second <= 10; second++) {
			now = second * 1_000;
			meter.report(8_000_000 + second * 20_000_000);
		}
		expect(progressText(meter.read())).toBe("25 %  208 MB of 808 MB  20.0 MB/s  30 s left");
	});

	it("is a bar on a terminal, and a line for each ten percent elsewhere", () => {
		const drawn: string[] = [];
		const bar = new ProgressBar("bge", { isTTY: true, columns: 60, write: (text) => drawn.push(text) });
		bar.draw({ done: 50, total: 100, perSecond: 10, secondsLeft: 75 }, 1_000);
		expect(drawn).toEqual(["\r\u001b[2Kbge  ████████████░░░░░░░░░░░░  50 %  50 B of 100 B  10 B/s "]);
		const lines: string[] = [];
		const plain = new ProgressBar("bge", { write: (text) => lines.push(text) });
		for (let done = 0; done <= 100; done += 5) plain.draw({ done, total: 100, perSecond: 0 });
		expect(lines).toHaveLength(11);
		expect(lines[1]).toBe("bge  10 %  10 B of 100 B\n");
	});
});
