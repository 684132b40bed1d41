import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Set by the build of the package. */
declare const PACKAGE_VERSION: string | undefined;

function versionOfProject(): string {
	const manifest: { version: string } = JSON.parse(
		readFileSync(join(import.meta.dirname, "../package.json"), "utf8"),
	);
	return manifest.version;
}

export const VERSION = typeof PACKAGE_VERSION === "undefined" ? versionOfProject() : PACKAGE_VERSION;
