/** How a project's `package.json` names this package. */
import { readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { ROOT } from "../scripts/root.ts";
import { isRecord, parseJson } from "../src/core/json.ts";
import { VERSION } from "./version.ts";

const FILE = "file:";

/** The file from which npm installed this package, relative to `folder`, or else its version. */
export function specifierFor(folder: string): string {
	const file = installedFrom();
	return file === undefined ? `^${VERSION}` : `${FILE}${relative(folder, file).replaceAll("\\", "/")}`;
}

/** npm records it for all packages of a folder. */
function installedFrom(): string | undefined {
	const modules = dirname(ROOT);
	const lock = parseJson(textOf(join(modules, ".package-lock.json")));
	const packages = isRecord(lock) && isRecord(lock.packages) ? lock.packages : {};
	const installed = packages[`node_modules/${basename(ROOT)}`];
	const resolved = isRecord(installed) && typeof installed.resolved === "string" ? installed.resolved : "";
	return resolved.startsWith(FILE) ? resolve(dirname(modules), resolved.slice(FILE.length)) : undefined;
}

function textOf(path: string): string {
	try {
		return readFileSync(path, "utf8");
	} catch {
		return "";
	}
}
