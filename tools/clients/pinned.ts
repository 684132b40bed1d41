/**
 * Published clients in the versions that the tests use, from `tools/clients/pinned/package-lock.json`. They are larger than everything that
 * the gateway needs, so npm installs them outside of the project when `npm run check` or a test needs them. Links in `node_modules` lead
 * to them.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readlinkSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { installOnce } from "../../scripts/install-once.mjs";
import { DEFAULT_CACHE } from "./install.ts";

const MODULES = join(import.meta.dirname, "../../node_modules");
/** The project has these itself. */
const NOT_LINKED = new Set(["typescript", "zod"]);

export function linkPinnedClients(): void {
	const [manifest, lock] = ["package.json", "package-lock.json"].map((name) =>
		readFileSync(join(import.meta.dirname, "pinned", name), "utf8"),
	) as [string, string];
	const version = createHash("sha256").update(manifest).update(lock).digest("hex").slice(0, 16);
	const folder = join(DEFAULT_CACHE, `pinned-${version}`);
	installOnce(folder, { "package.json": manifest, "package-lock.json": lock }, "ci", "--ignore-scripts");
	for (const name of Object.keys(JSON.parse(manifest).dependencies))
		if (!NOT_LINKED.has(name)) link(join(folder, "node_modules", name), join(MODULES, name));
}

function link(target: string, path: string): void {
	if (targetOf(path) === target) return;
	rmSync(path, { recursive: true, force: true });
	mkdirSync(dirname(path), { recursive: true });
	symlinkSync(target, path, process.platform === "win32" ? "junction" : "dir");
}

function targetOf(path: string): string | undefined {
	try {
		return readlinkSync(path);
	} catch {
		return undefined;
	}
}

if (import.meta.main) linkPinnedClients();
