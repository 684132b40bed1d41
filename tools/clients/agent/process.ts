/** One process of an agent, without a terminal, this process's environment, and internet access. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as wait } from "node:timers/promises";

export interface Ended {
	code: number | null;
	signal: NodeJS.Signals | null;
	/** The output of both streams in the order of arrival, without colours. */
	output: string;
	timedOut: boolean;
	ms: number;
}

export interface Running {
	ended: Promise<Ended>;
	/** Signals its process group, as a terminal does for Ctrl-C. */
	interrupt(): void;
	/** Kills its process group immediately. */
	kill(): void;
}

export interface Start {
	command: string;
	args: readonly string[];
	env: Readonly<Record<string, string>>;
	/** Its working folder. */
	folder: string;
	timeoutMs: number;
}

/** Nothing listens on this port, so requests to other machines fail immediately. */
const DEAD_PROXY = "http://127.0.0.1:9";
/** Wait for a pipe that a process outside the group keeps open. */
const PIPES_MS = 1_000;
const ESCAPES = new RegExp(`${String.fromCharCode(27)}\\[[0-9;?]*[ -/]*[@-~]`, "g");

/** The environment of an agent, without the user's keys. */
export const environment = (home: string): Record<string, string> => ({
	// This process's own Node is first, because agents may need a newer one than the machine's.
	PATH: `${dirname(process.execPath)}:${process.env.PATH ?? ""}`,
	HOME: home,
	XDG_CONFIG_HOME: `${home}/.config`,
	XDG_DATA_HOME: `${home}/.local/share`,
	XDG_STATE_HOME: `${home}/.local/state`,
	XDG_CACHE_HOME: `${home}/.cache`,
	LANG: "C.UTF-8",
	TERM: "dumb",
	NO_COLOR: "1",
	HTTP_PROXY: DEAD_PROXY,
	HTTPS_PROXY: DEAD_PROXY,
	http_proxy: DEAD_PROXY,
	https_proxy: DEAD_PROXY,
	NO_PROXY: "127.0.0.1,localhost",
	no_proxy: "127.0.0.1,localhost",
});

/** Stops processes of this home that have left the group, such as Cline's hub. Only on Linux. */
function killDaemons(home: string): void {
	if (process.platform !== "linux" || home === "") return;
	for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name)))
		try {
			const variables = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
			if (variables.includes(`HOME=${home}`)) process.kill(Number(pid), "SIGKILL");
		} catch {
			// It has exited, or belongs to another user.
		}
}

export function start({ args, command, env, folder, timeoutMs }: Start): Running {
	const startedAt = performance.now();
	const child = spawn(command, args, {
		cwd: folder,
		// The generated type requires the Worker's own variables.
		env: env as NodeJS.ProcessEnv,
		detached: true,
		stdio: ["ignore", "pipe", "pipe"],
	});
	let output = "";
	let timedOut = false;
	for (const stream of [child.stdout, child.stderr])
		stream.on("data", (piece: Buffer) => {
			output += piece.toString();
		});
	const signal = (name: NodeJS.Signals) => {
		try {
			if (child.pid !== undefined) process.kill(-child.pid, name);
		} catch {
			// The group has exited.
		}
	};
	const timer = setTimeout(() => {
		timedOut = true;
		signal("SIGKILL");
	}, timeoutMs);
	const killGroup = () => signal("SIGKILL");
	const killAll = () => {
		killGroup();
		killDaemons(env.HOME ?? "");
	};
	// Before the removal of its folder, into which it may still write.
	process.prependListener("exit", killAll);
	const closed = once(child, "close");
	const ended = once(child, "exit").then(async (): Promise<Ended> => {
		clearTimeout(timer);
		process.off("exit", killAll);
		// Remaining processes of the agent would keep the pipes open.
		killAll();
		await Promise.race([closed, wait(PIPES_MS)]);
		const { exitCode: code, signalCode } = child;
		const ms = performance.now() - startedAt;
		return { code, signal: signalCode, output: output.replace(ESCAPES, ""), timedOut, ms };
	});
	return { ended, interrupt: () => signal("SIGINT"), kill: killGroup };
}
