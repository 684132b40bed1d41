/**
 * Installs published clients from npm, each into its own folder outside the project, because they are not dependencies of the project. A
 * complete installation is reused. A changed version gets a new folder, so an interrupted run continues where it stopped.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import * as z from "zod";

const run = promisify(execFile);
const INSTALL_MS = 600_000;
const ATTEMPTS = 3;

/** A module in each folder that imports packages as a file of that folder does. */
export const LOADER = "load.mjs";
export const LOADER_TEXT = "export const load = (name) => import(name);\n";
const COMPLETE = "complete.json";

export const DEFAULT_CACHE = join(
	process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"),
	"ganglion",
	"clients",
);

export interface Package {
	/** For its folder. */
	client: string;
	/** The first is the client. */
	packages: readonly string[];
	/** Its version, if the newest cannot be installed. */
	version?: string | undefined;
	/** Packages whose install scripts must run, because they install the program for this platform. */
	installScripts?: readonly string[];
}

const Version = z.object({ version: z.string(), date: z.string() });
/** `date`: the day of its publication, as YYYY-MM-DD. */
export type Version = z.output<typeof Version>;

export interface Installed extends Version {
	folder: string;
}

/** The newest versions, or those that `cached` folders have. Throws npm's own message. */
export async function install(
	{ client, installScripts = [], packages, version: pinned = "latest" }: Package,
	cache: string,
	cached: boolean,
): Promise<Installed> {
	const [name = ""] = packages;
	const chosen = cached ? lastOf(cache, client) : await versionOf(name, pinned);
	if (!chosen) throw new Error(`no version of ${name} is in ${cache}: run without --cached`);
	const folder = join(cache, `${client}-${chosen.version}`);
	const marker = join(folder, COMPLETE);
	const specs = [`${name}@${chosen.version}`, ...(await newestOf(packages.slice(1), cached))];
	const content = JSON.stringify({ ...chosen, packages: specs });
	if (cached ? !existsSync(marker) : !existsSync(marker) || readFileSync(marker, "utf8") !== content) {
		rmSync(folder, { recursive: true, force: true });
		mkdirSync(folder, { recursive: true });
		// npm runs only the install scripts of packages that the folder's manifest allows.
		const allowScripts = Object.fromEntries(installScripts.map((one) => [one, true]));
		writeFileSync(
			join(folder, "package.json"),
			JSON.stringify({ private: true, type: "module", allowScripts }),
		);
		writeFileSync(join(folder, LOADER), LOADER_TEXT);
		await npm(
			[
				"install",
				"--no-audit",
				"--no-fund",
				OFFLINE,
				"--legacy-peer-deps",
				...(installScripts.length > 0 ? [] : ["--ignore-scripts"]),
				...specs,
			],
			folder,
		);
		writeFileSync(marker, content);
	}
	writeFileSync(join(cache, `${client}.json`), JSON.stringify(chosen));
	return { ...chosen, folder };
}

function lastOf(cache: string, client: string): Version | undefined {
	const file = join(cache, `${client}.json`);
	return existsSync(file) ? Version.parse(JSON.parse(readFileSync(file, "utf8"))) : undefined;
}

/** Packages beside the client, with their newest versions. `ai@6`: the newest of the range that the client needs. */
const newestOf = (packages: readonly string[], cached: boolean): Promise<string[]> =>
	Promise.all(
		packages.map(async (one) => {
			if (one.slice(1).includes("@")) return one;
			return `${one}@${cached ? "latest" : (await versionOf(one, "latest")).version}`;
		}),
	);

const View = z.object({ version: z.string(), time: z.record(z.string(), z.string()) });

const asked = new Map<string, Promise<Version>>();

/** The registry is asked once for each package. */
function versionOf(name: string, tag: string): Promise<Version> {
	const spec = `${name}@${tag}`;
	const version = asked.get(spec) ?? askRegistry(name, tag);
	asked.set(spec, version);
	return version;
}

async function askRegistry(name: string, tag: string): Promise<Version> {
	const text = await npm(["view", `${name}@${tag}`, "version", "time", "--json"]);
	const { time, version } = View.parse(JSON.parse(text));
	return { version, date: (time[version] ?? "").slice(0, "YYYY-MM-DD".length) };
}

const OFFLINE = "--prefer-offline";

/** The registry may refuse a request for a moment, and npm's own cache may not know a version of today. */
async function npm(args: string[], folder?: string, attempt = 1): Promise<string> {
	try {
		const { stdout } = await run("npm", args, {
			...(folder !== undefined && { cwd: folder }),
			timeout: INSTALL_MS,
			maxBuffer: 2 ** 26,
		});
		return stdout;
	} catch (error) {
		if (attempt === ATTEMPTS) throw error;
		return npm(
			args.filter((arg) => arg !== OFFLINE),
			folder,
			attempt + 1,
		);
	}
}
