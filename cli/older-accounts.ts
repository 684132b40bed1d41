/**
 * Brings forward a state that a version without the `Directory` object has written: its accounts are known by the ids of their objects, not by
 * name. The ids are kept in a file, and the gateway records an account at its first request.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const FILE = "older-accounts.txt";
const OBJECT = /^([0-9a-f]{64})\.sqlite$/;

export interface OlderAccounts {
	/** Ids of objects. */
	ids: readonly string[];
	/** This start found them. */
	isNew: boolean;
}

/** `folder`: of the state. `objects`: of its objects. Called before the runtime starts. */
export function olderAccounts(folder: string, objects: string): OlderAccounts {
	const file = join(folder, FILE);
	const known = readLines(file);
	if (known.length > 0) return { ids: known, isNew: false };
	if (objectsOf(objects, "Directory").length > 0) return { ids: [], isNew: false };
	const ids = objectsOf(objects, "Account");
	if (ids.length > 0) writeFileSync(file, `${ids.join("\n")}\n`);
	return { ids, isNew: ids.length > 0 };
}

function objectsOf(objects: string, className: string): string[] {
	try {
		return readdirSync(join(objects, className)).flatMap((name) => OBJECT.exec(name)?.[1] ?? []);
	} catch {
		return [];
	}
}

function readLines(file: string): string[] {
	try {
		return readFileSync(file, "utf8").split("\n").filter(Boolean);
	} catch {
		return [];
	}
}
