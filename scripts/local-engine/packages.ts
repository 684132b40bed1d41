/**
 * The packages of the engine that runs ONNX models (`engine/`): installed by npm at its first use, into the user's cache, once for all projects.
 * They are no dependencies of this project.
 *
 *     {cache}/ganglion/engine/{hash of the lock file}/node_modules
 *     {cache}/ganglion/engine/{hash of the lock file}/{hash of the sources}/server.ts
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import {
	existsSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { makeFolder } from "../make-folder.ts";
import { endWithThisProcess } from "../parent.ts";
import { DIST, IS_BUILT, ROOT } from "../root.ts";
import { holdFile } from "./lock.ts";
import { LocalProblem } from "./problem.ts";
import { folderProblem, unwritable } from "./unwritable.ts";

/** The environment variable with the folder of the packages. */
export const PACKAGES_SETTING = "GANGLION_ENGINE_PACKAGES";
const INSTALL_MS = 600_000;
/** For the installation of another process. */
const WAIT_MS = 2 * INSTALL_MS;
const HASH_LENGTH = 16;
const MANIFESTS = ["package.json", "package-lock.json"];

type Environment = Readonly<Record<string, string | undefined>>;

/** The engine's own files, in this project or in the package that is built of it. */
const SOURCES = join(IS_BUILT ? DIST : ROOT, "engine");

const hashOf = (texts: readonly string[]): string =>
	createHash("sha256").update(texts.join("\0")).digest("hex").slice(0, HASH_LENGTH);

const read = (names: readonly string[]): [string, string][] =>
	names.map((name) => [name, readFileSync(join(SOURCES, name), "utf8")]);

function packagesFolder(env: Environment): string {
	const set = env[PACKAGES_SETTING];
	if (set) return resolve(set);
	return join(env.XDG_CACHE_HOME || join(homedir(), ".cache"), "ganglion", "engine");
}

/** The folder for the packages of this version. */
function installFolder(env: Environment): string {
	return join(packagesFolder(env), hashOf(read(MANIFESTS).map(([, text]) => text)));
}

export const isInstalled = (env: Environment): boolean => existsSync(installFolder(env));

/** Why the packages cannot be installed at their first use. Absent: they can, or are. */
export const installProblem = async (env: Environment): Promise<string | undefined> =>
	isInstalled(env) ? undefined : folderProblem(packagesFolder(env), PACKAGES_SETTING);

/** Returns the path of the server's program. Throws a problem if npm cannot install the packages. */
export async function installEngine(env: Environment, log: (line: string) => void): Promise<string> {
	try {
		return await programOf(env, log);
	} catch (error) {
		throw unwritable(error, packagesFolder(env), PACKAGES_SETTING);
	}
}

async function programOf(env: Environment, log: (line: string) => void): Promise<string> {
	const folder = installFolder(env);
	if (!existsSync(folder)) await install(folder, log);
	const sources = readdirSync(SOURCES).filter((name) => /(?<!\.d)\.[jt]s$/.test(name));
	const files = read(sources.sort());
	const program = join(folder, hashOf(files.flat()));
	if (!existsSync(program)) await complete(program, [...files, ["package.json", '{"type":"module"}']]);
	return join(program, sources.includes("server.ts") ? "server.ts" : "server.js");
}

/** One process at a time installs, and others wait for it. What a killed one has left is removed, because npm continues no installation. */
async function install(folder: string, log: (line: string) => void): Promise<void> {
	makeFolder(dirname(folder));
	let waits = false;
	const limit = AbortSignal.timeout(WAIT_MS);
	const release = await holdFile(folder, {
		signal: limit,
		waiting() {
			if (!waits) log("Another process installs the packages that run ONNX models");
			waits = true;
		},
	}).catch((cause: Error) => {
		if (!limit.aborted) throw cause;
		throw new LocalProblem(
			"engine_unavailable",
			`Another process has been installing the packages that run ONNX models for ${WAIT_MS / 60_000} minutes: end it, and try again`,
			{ cause },
		);
	});
	try {
		if (existsSync(folder)) return;
		for (const name of readdirSync(dirname(folder)))
			if (name.startsWith(`${basename(folder)}-`))
				rmSync(join(dirname(folder), name), { recursive: true, force: true });
		log(`The packages that run ONNX models are being installed into ${folder} (about 480 MB)`);
		await complete(folder, read(MANIFESTS), runNpm);
	} finally {
		release();
	}
}

/** Writes a folder of files completely or not at all. Another process may do the same. */
async function complete(
	folder: string,
	files: readonly (readonly [string, string])[],
	finish?: (started: string) => Promise<void>,
): Promise<void> {
	makeFolder(dirname(folder));
	const started = mkdtempSync(`${folder}-`);
	try {
		for (const [name, text] of files) writeFileSync(join(started, name), text);
		await finish?.(started);
		renameSync(started, folder);
	} catch (error) {
		rmSync(started, { recursive: true, force: true });
		if (!existsSync(folder)) throw error;
	}
}

function runNpm(folder: string): Promise<void> {
	// Without scripts: one of them would download libraries for graphics cards.
	const args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
	return new Promise((done, reject) => {
		const npm = execFile(
			"npm",
			args,
			{
				...{ cwd: folder, timeout: INSTALL_MS, shell: process.platform === "win32" },
				// Not the variables that npm sets for its scripts: they name the project's folder and options.
				env: Object.fromEntries(
					Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)),
				) as NodeJS.ProcessEnv,
			},
			(error, _, stderr) => (error ? reject(notInstalled(error, stderr)) : done()),
		);
		endWithThisProcess(npm, folder);
	});
}

const MAX_REASON = 300;

const notInstalled = (error: Error, stderr: string): LocalProblem =>
	new LocalProblem(
		"engine_unavailable",
		`npm cannot install the packages that run ONNX models (${(stderr.trim() || error.message).slice(-MAX_REASON)}): connect this machine to the npm registry once, or set ${PACKAGES_SETTING} to a folder that has them`,
		{ cause: error },
	);
