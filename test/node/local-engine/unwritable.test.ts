/** Failures of files: those of a folder that cannot be written have a cure, and no other one has. */
import { join } from "node:path";
import { expect, it } from "vitest";
import { unwritable } from "../../../scripts/local-engine/unwritable.ts";

const FOLDER = join("/data", "models");
const failureOf = (code: string, path: string): Error => Object.assign(new Error(code), { code, path });
const explained = (error: Error): unknown => unwritable(error, FOLDER, "GANGLION_MODELS");

it.each(["EACCES", "EPERM", "EROFS", "ENOTDIR", "EEXIST"])("%s is explained", (code) => {
	for (const path of [FOLDER, join(FOLDER, "a", "b")])
		expect(explained(failureOf(code, path))).toMatchObject({
			code: "no_room",
			message: `${path} cannot be written (${code}): change its owner or its rights, or set GANGLION_MODELS to another folder`,
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
		message: `${path} cannot be created (ENOENT): set GANGLION_MODELS to another folder`,
	});
});

it.each([
	["a file that another process has removed", "ENOENT", join(FOLDER, "a")],
	["a full disk", "ENOSPC", join(FOLDER, "a")],
	["too many open files", "EMFILE", join(FOLDER, "a")],
	["another folder", "EACCES", `${FOLDER}-old`],
])("%s is not", (_, code, path) => {
	const error = failureOf(code, path);
	expect(explained(error)).toBe(error);
});
