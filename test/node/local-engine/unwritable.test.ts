/** Failures of files: those of a folder that cannot be written have a cure, and no other one has. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { examineLocalModels } from "../../../scripts/local-engine/doctor.ts";
import { LocalEngine } from "../../../scripts/local-engine/index.ts";
import { folderProblem, unwritable } from "../../../scripts/local-engine/unwritable.ts";

const FOLDER = join("/data", "models");
const failureOf = (code: string, path: string): Error => Object.assign(new Error(code), { code, path });
const explained = (error: Error): unknown => unwritable(error, FOLDER, "GANGLION_MODELS");

it.each([
	["EACCES", "this user has no right to it", "change its owner or its rights, or "],
	["EPERM", "this user has no right to it", "change its owner or its rights, or "],
	["EROFS", "the disk is read-only", ""],
	["ENOTDIR", "a part of the path is a file, where a folder is needed", "move the file away, or "],
	["EEXIST", "a file has this name, where a folder is needed", "move the file away, or "],
])("%s is explained", (code, reason, cure) => {
	for (const path of [FOLDER, join(FOLDER, "a", "b")])
		expect(explained(failureOf(code, path))).toMatchObject({
			code: "no_room",
			message: `${path} cannot be written: ${reason} (${code}): ${cure}set GANGLION_MODELS to another folder`,
		});
});

it.each([
	["ENOSPC", "the disk is full"],
	["EDQUOT", "the quota of the disk is used up"],
])("%s is explained: another folder of the disk is no cure", (code, reason) => {
	const path = join(FOLDER, "a");
	expect(explained(failureOf(code, path))).toMatchObject({
		code: "no_room",
		message: `${path} cannot be written: ${reason} (${code}): make space, or set GANGLION_MODELS to a folder on another disk`,
	});
});

it.each([
	["at the folder", FOLDER],
	["above it", join("/data")],
	["below it", join(FOLDER, "a")],
])("a place for no folder is explained: %s", (_, path) => {
	const error = Object.assign(failureOf("ENOENT", path), { syscall: "mkdir" });
	expect(explained(error)).toMatchObject({
		code: "no_room",
		message: `${path} cannot be written: nothing can be created there (ENOENT): set GANGLION_MODELS to another folder`,
	});
});

it.each([
	["a file that another process has removed", "ENOENT", join(FOLDER, "a")],
	["too many open files", "EMFILE", join(FOLDER, "a")],
	["another folder", "EACCES", `${FOLDER}-old`],
])("%s is not", (_, code, path) => {
	const error = failureOf(code, path);
	expect(explained(error)).toBe(error);
});

const IN_THE_WAY =
	"cannot be written: a part of the path is a file, where a folder is needed (ENOTDIR): move the file away, or set";
const SCRIPTED = join(import.meta.dirname, "llama-server.mjs");

/** A folder of its own. Also a user who may write everywhere can write no folder below a file. */
async function withFile(work: (folder: string, file: string) => Promise<void> | void): Promise<void> {
	const folder = mkdtempSync(join(tmpdir(), "ganglion-unwritable-"));
	const file = join(folder, "file");
	writeFileSync(file, "");
	try {
		await work(folder, file);
	} finally {
		rmSync(folder, { recursive: true });
	}
}

it("a folder that need not exist is examined by a write, which leaves nothing", () =>
	withFile(async (folder, file) => {
		expect(await folderProblem(folder, "GANGLION_MODELS")).toBeUndefined();
		expect(await folderProblem(join(folder, "a", "b"), "GANGLION_MODELS")).toBeUndefined();
		expect(readdirSync(folder)).toEqual(["file"]);
		for (const below of [file, join(file, "models")])
			expect(await folderProblem(below, "GANGLION_MODELS")).toBe(
				`${file} ${IN_THE_WAY} GANGLION_MODELS to another folder`,
			);
	}));

it.skipIf(process.platform !== "linux")("a place for no file has another cure", async () => {
	expect(await folderProblem("/proc/none/models", "GANGLION_MODELS")).toBe(
		"/proc cannot be written: nothing can be created there (ENOENT): set GANGLION_MODELS to another folder",
	);
});

it("the start names both folders that cannot be written, before the first download", () =>
	withFile(async (folder, file) => {
		const env = { LLAMA_SERVER: SCRIPTED, PATH: process.env.PATH, HOME: folder };
		const linesOf = async (folders: object): Promise<string[]> => {
			const lines: string[] = [];
			const engine = await LocalEngine.start({
				...{ env: { ...env, ...folders }, pulls: true, project: folder },
				log: (line) => lines.push(line),
			});
			await engine.stop();
			return lines.filter((line) => line.includes("cannot be written"));
		};
		expect(
			await linesOf({
				GANGLION_MODELS: join(file, "models"),
				GANGLION_ENGINE_PACKAGES: join(file, "engine"),
			}),
		).toEqual([
			`No weights can be downloaded: ${file} ${IN_THE_WAY} GANGLION_MODELS to another folder`,
			`The packages that run ONNX models cannot be installed: ${file} ${IN_THE_WAY} GANGLION_ENGINE_PACKAGES to another folder`,
		]);
		expect(await linesOf({ GANGLION_MODELS: folder, GANGLION_ENGINE_PACKAGES: folder })).toEqual([]);
	}));

it("the doctor names them too, and fails if no weights are there", () =>
	withFile(async (folder, file) => {
		const env = { LLAMA_SERVER: SCRIPTED, PATH: process.env.PATH };
		const found = async (models: string, packages: string) =>
			(await examineLocalModels({ ...env, GANGLION_MODELS: models, GANGLION_ENGINE_PACKAGES: packages }))
				.filter(({ detail }) => detail.includes("cannot be written"))
				.map(({ check, result, detail }) => [check, result, detail]);
		expect(await found(join(file, "models"), join(file, "engine"))).toEqual([
			[...["weights", "failed"], `${file} ${IN_THE_WAY} GANGLION_MODELS to another folder`],
			[...["packages", "warning"], `${file} ${IN_THE_WAY} GANGLION_ENGINE_PACKAGES to another folder`],
		]);
		expect(await found(folder, folder)).toEqual([]);
	}));
