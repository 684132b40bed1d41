/**
 * Finds a llama-server that serves several models (router mode): `LLAMA_SERVER`, or `llama-server` or `llama` of `PATH`. Its own help
 * says whether it can. Nothing is downloaded: the message names the line that installs it.
 */
import { type ExecFileException, execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { LocalProblem } from "./problem.ts";

/** The environment variable with the path of llama-server. */
const BINARY_SETTING = "LLAMA_SERVER";
const NEEDED_OPTION = "--models-preset";
const HELP_MS = 10_000;
const MAX_HELP_BYTES = 4 * 1024 * 1024;

export interface LlamaServer {
	command: string;
	/** Before the options. Newer packages have one program with commands. */
	args: readonly string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

const CANDIDATES: readonly { name: string; args: readonly string[] }[] = [
	{ name: "llama-server", args: [] },
	{ name: "llama", args: ["serve"] },
];

export async function findLlamaServer(env: Environment): Promise<LlamaServer> {
	const set = env[BINARY_SETTING];
	if (set) {
		const paths = isAbsolute(set) || set.includes("/") ? [set] : onPath(set, env);
		const [command] = paths.filter((path) => existsSync(path));
		if (command === undefined) throw missing(`${BINARY_SETTING}: ${set} does not exist`);
		const args = /(?:^|[\\/])llama(?:\.exe)?$/.test(command) ? ["serve"] : [];
		const problem = await problemOf({ command, args });
		if (problem === undefined) return { command, args };
		throw missing(`${BINARY_SETTING}: ${set} ${problem}`);
	}
	let found: string | undefined;
	for (const { name, args } of CANDIDATES)
		for (const command of onPath(name, env)) {
			const problem = await problemOf({ command, args });
			if (problem === undefined) return { command, args };
			found ??= `${command} ${problem}`;
		}
	throw missing(found ?? "No llama-server was found on PATH");
}

const TOO_OLD = `is no llama-server with ${NEEDED_OPTION}, or an older one`;
const MAX_REASON = 300;

const missing = (problem: string): LocalProblem =>
	new LocalProblem(
		"engine_unavailable",
		`${problem}. Install llama.cpp: ${installLine(process.platform, osRelease())}, or set ${BINARY_SETTING} to its path`,
	);

function onPath(name: string, { PATH = "" }: Environment): string[] {
	const file = process.platform === "win32" ? `${name}.exe` : name;
	return PATH.split(delimiter)
		.filter(Boolean)
		.map((folder) => join(folder, file))
		.filter((path) => existsSync(path));
}

/** Why the program cannot serve several models. `undefined`: it can. */
const problemOf = ({ command, args }: LlamaServer): Promise<string | undefined> =>
	new Promise((resolve) => {
		execFile(
			command,
			[...args, "--help"],
			{ timeout: HELP_MS, maxBuffer: MAX_HELP_BYTES },
			(error, stdout, stderr) => {
				if (`${stdout}${stderr}`.includes(NEEDED_OPTION)) resolve(undefined);
				else resolve(reasonIn(stderr) ?? (hasNotStarted(error) ? `cannot start (${error.code})` : TOO_OLD));
			},
		);
	});

/** Of the loaders of Linux (glibc, musl) and macOS, for a program whose library is absent. */
const LOADER_LINE = /error while loading shared libraries|Error loading shared library|Library not loaded/;

function reasonIn(stderr: string): string | undefined {
	const line = stderr.split("\n").find((one) => LOADER_LINE.test(one));
	return line && `cannot start (${line.trim().slice(0, MAX_REASON)})`;
}

/** Such as a file that may not be executed, or one for another processor. */
const hasNotStarted = (error: ExecFileException | null): error is ExecFileException =>
	error !== null && "syscall" in error;

function osRelease(): string {
	try {
		return readFileSync("/etc/os-release", "utf8");
	} catch {
		return "";
	}
}

/** One line for the platform. `release`: the text of `/etc/os-release`. */
export function installLine(platform: NodeJS.Platform, release: string): string {
	if (platform === "darwin") return "brew install llama.cpp";
	if (platform === "win32") return "winget install llama.cpp";
	if (/^(?:ID|ID_LIKE)=.*\bnixos\b/m.test(release)) return "nix-env -iA nixos.llama-cpp";
	// Stable releases of Debian and Ubuntu do not have the package.
	if (/^ID="?debian"?$/m.test(release) && /^(?:PRETTY_NAME|VERSION_CODENAME)=.*\bsid\b/m.test(release))
		return "apt install llama.cpp-tools";
	return "brew install llama.cpp";
}
