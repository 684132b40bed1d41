/**
 * The package as a user has it: packed by npm, installed by npm into a copy of `examples/local-binding`. The tools of
 * the example are those of this checkout, so that no registry is asked; only those that load a Miniflare are copies,
 * because Miniflare looks for a plugin from where it is itself.
 */
import { execFileSync } from "node:child_process";
import {
	cpSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	realpathSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join, resolve } from "node:path";
import { packInto } from "../packed.ts";

const MODULES = resolve("node_modules");
const COPIED = ["miniflare", "wrangler", "@cloudflare/vitest-pool-workers", "@cloudflare/vite-plugin"];
/** Of a checkout in which somebody has used the example. */
const NOT_PART_OF_IT = new Set(["node_modules", ".wrangler", "package-lock.json"]);

export interface Project {
	folder: string;
	/** The whole environment of a process in it: nobody is logged in. */
	env: Record<string, string>;
	remove(): void;
}

export function installExample(): Project {
	const folder = realpathSync(mkdtempSync(join(tmpdir(), "ganglion-example-")));
	const env: Record<string, string> = {
		PATH: [dirname(process.execPath), process.env.PATH ?? ""].join(delimiter),
		HOME: folder,
		CLOUDFLARE_CF_FETCH_ENABLED: "false",
		WRANGLER_SEND_METRICS: "false",
		NO_COLOR: "1",
		NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? "",
	};
	const npm = (...args: string[]) =>
		execFileSync("npm", args, { cwd: folder, env: env as NodeJS.ProcessEnv, stdio: "pipe" });

	copyExample("local-binding", folder);
	writeFileSync(
		join(folder, "package.json"),
		JSON.stringify({
			private: true,
			type: "module",
			overrides: { workerd: `file:${join(MODULES, "workerd")}` },
		}),
	);
	const tarball = packInto(folder, env);
	npm("install", "--offline", "--no-audit", "--no-fund", `./${tarball}`);
	for (const name of packages(MODULES)) bring(name, join(folder, "node_modules", name));
	return { folder, env, remove: () => rmSync(folder, { recursive: true }) };
}

/** Another example, with the packages of the installed one: nothing is packed or installed again. */
export function exampleBeside({ folder: installed, env }: Project, example: string): Project {
	const folder = realpathSync(mkdtempSync(join(tmpdir(), "ganglion-example-")));
	copyExample(example, folder);
	symlinkSync(join(installed, "node_modules"), join(folder, "node_modules"), "dir");
	return { folder, env: { ...env, HOME: folder }, remove: () => rmSync(folder, { recursive: true }) };
}

const copyExample = (example: string, to: string): void =>
	cpSync(resolve("examples", example), to, {
		recursive: true,
		filter: (path) => !NOT_PART_OF_IT.has(basename(path)),
	});

function bring(name: string, to: string): void {
	if (existsSync(to)) return;
	mkdirSync(dirname(to), { recursive: true });
	const from = join(MODULES, name);
	if (COPIED.includes(name)) cpSync(from, to, { recursive: true });
	else symlinkSync(from, to, "dir");
}

const packages = (folder: string): string[] =>
	readdirSync(folder)
		.filter((name) => !name.startsWith("."))
		.flatMap((name) =>
			name.startsWith("@") ? readdirSync(join(folder, name)).map((inner) => `${name}/${inner}`) : [name],
		);
