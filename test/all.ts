/**
 * `npm test`: all tests, in two runs beside each other. The tests inside workerd need a core each; those with processes and sockets mostly
 * wait. One run of Vitest would take the files from one queue, so that the cores would be busy first and idle later.
 *
 * Arguments are those of a single run: `npm test -- test/dialects`.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { availableParallelism, constants } from "node:os";
import { resolve } from "node:path";
import buildIfOlder from "./built.ts";

const VITEST = resolve("node_modules/vitest/vitest.mjs");
const CORES = availableParallelism();
/** Process tests wait for most of their time. */
const PROCESS_FILES = CORES + 2;

const only = (...projects: string[]) => projects.flatMap((project) => ["--project", project]);
const children: ChildProcess[] = [];

function run(args: readonly string[], stdout: "inherit" | "pipe"): ChildProcess {
	const env = { ...process.env, ...(process.stdout.isTTY && stdout === "pipe" && { FORCE_COLOR: "1" }) };
	const child = spawn(process.execPath, [VITEST, "run", ...args], {
		env,
		stdio: ["inherit", stdout, stdout],
	});
	children.push(child);
	return child;
}

/** The exit code, once all output is here. Of a child that a signal has ended: 1. */
async function codeOf(child: ChildProcess): Promise<number> {
	const [code] = await once(child, "close");
	return code ?? 1;
}

// A terminal sends its own signal to all.
process.once("SIGINT", () => {
	process.exitCode = 128 + constants.signals.SIGINT;
});
process.once("SIGTERM", () => {
	for (const child of children) child.kill();
	process.exitCode = 128 + constants.signals.SIGTERM;
});

const args = process.argv.slice(2);
if (args.length > 0) {
	process.exitCode = await codeOf(run(args, "inherit"));
} else {
	// Both runs need what is built, and would build it at the same time.
	buildIfOlder();
	const inWorkerd = run([...only("worker", "extending", "binding"), `--maxWorkers=${CORES}`], "pipe");
	const withProcesses = run(
		[...only("node", "clients", "console"), `--maxWorkers=${PROCESS_FILES}`],
		"inherit",
	);
	// The report of one run at a time: the other's follows it.
	const report: Buffer[] = [];
	for (const stream of [inWorkerd.stdout, inWorkerd.stderr])
		stream?.on("data", (chunk) => report.push(chunk));
	const codes = await Promise.all([inWorkerd, withProcesses].map(codeOf));
	process.stdout.write(Buffer.concat(report));
	process.exitCode ||= Math.max(...codes);
}
