/**
 * Published clients that only one test needs, and that are too large for the clients that each checkout has. npm installs them when that
 * test runs, once for all checkouts, into a folder outside of the project.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { installOnce } from "../../scripts/install-once.mjs";
import { DEFAULT_CACHE, LOADER, LOADER_TEXT } from "./install.ts";

export interface OnDemandClient {
	/** Of the folder that has `node_modules`. */
	folder: string;
	/** Imports a package as a file of the folder does. */
	load<Module>(name: string): Promise<Module>;
}

/**
 * The packages in exactly these versions; their own dependencies have the newest versions of their ranges. Returns the reason if npm cannot
 * install them, because it has no network, for example.
 */
export async function installOnDemand(
	client: string,
	dependencies: Readonly<Record<string, string>>,
): Promise<OnDemandClient | { reason: string }> {
	const manifest = JSON.stringify({ private: true, type: "module", dependencies });
	const version = createHash("sha256").update(manifest).digest("hex").slice(0, 16);
	const folder = join(DEFAULT_CACHE, `test-${client}-${version}`);
	try {
		installOnce(folder, { "package.json": manifest, [LOADER]: LOADER_TEXT }, "install", "--ignore-scripts");
	} catch (error) {
		return { reason: `npm could not install ${client}: ${(error as Error).message}` };
	}
	const { load } = await import(pathToFileURL(join(folder, LOADER)).href);
	return { folder, load };
}
