/** The licences of what is bundled, which the package has to pass on. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const PACKAGE = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//;
const LICENCE = /^(?:licen[cs]e|copying)\b/i;

interface Manifest {
	name: string;
	version: string;
	license?: string;
	homepage?: string;
}

/** `inputs` are paths of bundled files below `root`, as esbuild's metafile has them. */
export function notices(root: string, inputs: readonly string[]): string {
	const folders = new Set(inputs.flatMap((path) => PACKAGE.exec(path)?.[1] ?? []));
	const parts = [...folders].map((folder) => notice(join(root, folder)));
	return `The files of this package contain these works, under their licences.\n${parts.sort().join("")}`;
}

function notice(folder: string): string {
	const {
		homepage = "",
		license = "unknown",
		name,
		version,
	}: Manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
	const file = readdirSync(folder).find((entry) => LICENCE.test(entry));
	const text = file === undefined ? homepage : readFileSync(join(folder, file), "utf8").trim();
	return `\n${name} ${version} (${license})\n\n${text}\n\n${"-".repeat(80)}\n`;
}
