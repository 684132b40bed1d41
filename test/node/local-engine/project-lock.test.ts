/** The lock of a project: another machine gets the same files, or a sentence that says why not. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LocalEngine } from "../../../scripts/local-engine/index.ts";
import { Library } from "../../../scripts/local-engine/library.ts";
import { PROJECT_LOCK, readProjectLock } from "../../../scripts/local-engine/project-lock.ts";
import { sourceOf } from "../../../scripts/local-engine/sources.ts";
import { findWeights } from "../../../scripts/local-engine/table.ts";
import type { Result } from "../cli/run.ts";
import { sharedProcess } from "../cli/shared-process.ts";
import { type Hub, NEWER, REVISION, startHub } from "./hub.ts";

const NOW = Date.parse("2026-11-28T00:00:00Z");
const BGE = "@cf/baai/bge-small-en-v1.5";
const REPOSITORY = "CompendiumLabs/bge-small-en-v1.5-gguf";
const FILE = "bge-small-en-v1.5-q8_0.gguf";
const CONTENT = Buffer.from("the first content");
const SHA256 = "570dc7c084aa508001c44c57649e38e027e53083a4a39fdc7a68c71020a6279c";
const LOCK = {
	models: {
		[BGE]: {
			repository: REPOSITORY,
			revision: REVISION,
			files: [{ name: FILE, size: CONTENT.length, sha256: SHA256 }],
		},
	},
};

let folder: string;
let project: string;
let hub: Hub;
beforeEach(async () => {
	folder = mkdtempSync(join(tmpdir(), "ganglion-lock-"));
	project = join(folder, "project");
	mkdirSync(project);
	hub = await startHub();
	hub.files.set(`${REPOSITORY}/${FILE}`, CONTENT);
});
afterEach(() => {
	hub.close();
	rmSync(folder, { recursive: true, force: true });
});

const shared = sharedProcess();

/** A command of `ganglion models` on a machine with weights of its own, in the project. */
const on = (machine: string, args: readonly string[], source = hub.url): Promise<Result> =>
	shared(["models", ...args], {
		cwd: project,
		env: { GANGLION_MODELS: join(folder, machine), GANGLION_HUB: source },
	});
const lockFile = () => join(project, PROJECT_LOCK);
const writeLock = (lock: unknown): void => writeFileSync(lockFile(), JSON.stringify(lock));
const weightsOn = (machine: string, revision = REVISION) => join(folder, machine, REPOSITORY, revision, FILE);

/** The hub has another file of the same name, in a newer revision. */
function publishNewer(): void {
	hub.files.set(`${REPOSITORY}/${FILE}`, Buffer.from("a later content, longer"));
	hub.listing = { sha: NEWER };
}

describe("ganglion models lock", () => {
	it("names the files of this machine, and a second machine gets them without their names, and without the hub's list", async () => {
		expect((await on("one", ["pull", BGE])).code).toBe(0);
		const locked = await on("one", ["lock", BGE]);
		expect(locked).toMatchObject({ code: 0, stderr: "" });
		expect(locked.stdout).toBe(`${BGE} is ${REPOSITORY}@${REVISION} in ${lockFile()}\n`);
		expect(JSON.parse(readFileSync(lockFile(), "utf8"))).toEqual(LOCK);
		hub.listing = { sha: NEWER };
		hub.requests.length = 0;
		expect(await on("two", ["pull"])).toMatchObject({
			code: 0,
			stdout: `${BGE} is complete: 17 B, ${REPOSITORY}@${REVISION}\n`,
		});
		expect(readFileSync(weightsOn("two"))).toEqual(CONTENT);
		expect(hub.requests.filter((path) => path.startsWith("/api/"))).toEqual([]);
	});

	it("adds to the weights that are locked, and writes those anew without a name", async () => {
		writeLock({ models: { [BGE]: { ...LOCK.models[BGE], revision: NEWER } } });
		const absent = await on("one", ["lock"]);
		expect([absent.code, absent.stderr]).toEqual([
			1,
			`error: ${BGE} is not here: npx ganglion models pull ${BGE}\n`,
		]);
		rmSync(lockFile());
		const none = await on("one", ["lock"]);
		expect([none.code, none.stderr]).toEqual([
			1,
			`error: ${join(folder, "one")} has no weights: npx ganglion models pull NAME\n`,
		]);
		await on("one", ["pull", BGE]);
		expect((await on("one", ["lock"])).code).toBe(0);
		expect(JSON.parse(readFileSync(lockFile(), "utf8"))).toEqual(LOCK);
	});

	it("names files of a folder, which has no revisions, by their hashes", async () => {
		const source = join(folder, "source");
		mkdirSync(join(source, REPOSITORY), { recursive: true });
		writeFileSync(join(source, REPOSITORY, FILE), CONTENT);
		await on("one", ["pull", BGE], source);
		await on("one", ["lock", BGE]);
		expect(readProjectLock(project, NOW).get(BGE)).toMatchObject({ files: LOCK.models[BGE].files });
		expect((await on("two", ["pull"])).code).toBe(0);
		expect(readFileSync(weightsOn("two"))).toEqual(CONTENT);
		publishNewer();
		expect((await on("three", ["pull"])).code).toBe(1);
	});
});

describe("a download of weights that the project has locked", () => {
	beforeEach(() => writeLock(LOCK));

	it("is refused if the hub sends another file, which is deleted", async () => {
		hub.files.set(`${REPOSITORY}/${FILE}`, Buffer.from("the other content"));
		const { code, stderr } = await on("two", ["pull", BGE]);
		expect(code).toBe(1);
		expect(stderr).toContain(`${FILE} of 127.0.0.1`);
		expect(stderr).toContain("is not the file that was expected (its SHA-256 differs), so it was deleted");
		expect(existsSync(weightsOn("two"))).toBe(false);
		expect(existsSync(`${weightsOn("two")}.part`)).toBe(false);
	});

	it("is refused if this machine has another file, until that one is removed", async () => {
		publishNewer();
		rmSync(lockFile());
		expect((await on("two", ["pull", BGE])).code).toBe(0);
		writeLock(LOCK);
		const refused = await on("two", ["pull", BGE]);
		expect([refused.code, refused.stdout, refused.stderr]).toEqual([
			1,
			"",
			`error: ${FILE} of ${BGE} is not the file that ${PROJECT_LOCK} names (revision ${REVISION}; here: ${NEWER}). To get that one, run: npx ganglion models rm ${BGE}, then: npx ganglion models pull ${BGE}. To name the one that is here, run: npx ganglion models lock ${BGE}\n`,
		]);
		expect(existsSync(weightsOn("two", NEWER))).toBe(true);
		hub.files.set(`${REPOSITORY}/${FILE}`, CONTENT);
		await on("two", ["rm", BGE]);
		expect((await on("two", ["pull", BGE])).code).toBe(0);
		expect(readFileSync(weightsOn("two"))).toEqual(CONTENT);
	});

	it("is not another file that a gateway finds at its start: its log has the sentence", async () => {
		publishNewer();
		rmSync(lockFile());
		await on("two", ["pull", BGE]);
		writeLock(LOCK);
		const lines: string[] = [];
		const engine = await LocalEngine.start({
			env: {
				...process.env,
				GANGLION_MODELS: join(folder, "two"),
				LLAMA_SERVER: resolve("test/node/local-engine/llama-server.mjs"),
			},
			pulls: false,
			project,
			log: (line) => lines.push(line),
		});
		await engine.stop();
		expect(lines).toContainEqual(
			expect.stringContaining(`${FILE} of ${BGE} is not the file that ${PROJECT_LOCK} names`),
		);
	});

	it("is that file at the first use in a gateway, too", async () => {
		hub.listing = { sha: NEWER };
		const weights = findWeights(BGE, NOW);
		if (!weights) throw new Error(BGE);
		const library = new Library({
			folder: join(folder, "two"),
			pulls: true,
			locked: readProjectLock(project, NOW),
			source: () => sourceOf({ GANGLION_HUB: hub.url }),
			changed: async () => {},
			log: () => {},
		});
		const { manifest } = await library.require(weights, AbortSignal.timeout(10_000));
		expect(manifest).toEqual(LOCK.models[BGE]);
	});

	it.each([
		["no JSON", "{", /JSON/],
		["another shape", '{"models":{"a":1}}', /models\.a/],
		[
			"unknown weights",
			JSON.stringify({ models: { none: LOCK.models[BGE] } }),
			/no weights are known for none/,
		],
		[
			"another repository",
			JSON.stringify({ models: { [BGE]: { ...LOCK.models[BGE], repository: "evil/files" } } }),
			/is in the repository CompendiumLabs\/bge-small-en-v1\.5-gguf, not in evil\/files/,
		],
		[
			"a path",
			JSON.stringify({
				models: { [BGE]: { ...LOCK.models[BGE], files: [{ name: "../../x", size: 1, sha256: SHA256 }] } },
			}),
			/models/,
		],
		[
			"another file",
			JSON.stringify({
				models: { [BGE]: { ...LOCK.models[BGE], files: [{ name: "x.gguf", size: 1, sha256: SHA256 }] } },
			}),
			/has no file bge-small-en-v1\.5-q8_0\.gguf/,
		],
	])("is refused if the lock has %s", (_, text, reason) => {
		writeFileSync(lockFile(), text);
		const read = () => readProjectLock(project, NOW);
		expect(read).toThrow(`${lockFile()}: expected what npx ganglion models lock writes`);
		expect(read).toThrow(reason);
	});

	it("is refused by one sentence if the lock is unusable", async () => {
		writeFileSync(lockFile(), "{}");
		const { code, stderr } = await on("two", ["pull"]);
		expect(code).toBe(1);
		expect(stderr).toMatch(
			/^error: .*ganglion-models-lock\.json: expected what npx ganglion models lock writes/,
		);
		expect(stderr).not.toContain("    at ");
		expect(existsSync(dirname(weightsOn("two")))).toBe(false);
	});
});
