/**
 * Finds a llama-server that serves several models (router mode): `LLAMA_SERVER`, or `llama-server` or `llama` of `PATH`. Its own help
 * says whether it can. Nothing is downloaded: the message names the line that installs it.
 */
import { execFile } from "node:child_process";
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
		if (await canRoute({ command, args })) return { command, args };
		throw missing(`${BINARY_SETTING}: ${set} ${TOO_OLD}`);
	}
	let older: string | undefined;
	for (const { name, args } of CANDIDATES)
		for (const command of onPath(name, env)) {
			if (await canRoute({ command, args })) return { command, args };
			older ??= command;
		}
	throw missing(older === undefined ? "No llama-server was found on PATH" : `${older} ${TOO_OLD}`);
}

const TOO_OLD = `is no llama-server with ${NEEDED_OPTION}, or an older one`;

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

const canRoute = ({ command, args }: LlamaServer): Promise<boolean> =>
	new Promise((resolve) => {
		execFile(
			command,
			[...args, "--help"],
			{ timeout: HELP_MS, maxBuffer: MAX_HELP_BYTES },
			(_, stdout, stderr) => resolve(`${stdout}${stderr}`.includes(NEEDED_OPTION)),
		);
	});

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
