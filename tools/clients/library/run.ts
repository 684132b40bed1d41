/** Runs one client library in its own process, and adds what only the hosts see. */
import { fork } from "node:child_process";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { HostCall, Hosts } from "../../../test/hosts/server.ts";
import { environment } from "../agent/process.ts";
import type { Played } from "../table.ts";
import type { Scenario } from "./client.ts";
import type { Order, Report } from "./drive.ts";

/** From the abort to the end of the host's connection. */
const CLOSE_MS = 5_000;
const POLL_MS = 20;
/** Limit for a client that sends no result. */
const SILENCE_MS = 120_000;
const REFUSAL_CHARACTERS = 400;

export async function playLibrary(
	order: Order,
	hosts: Hosts,
	{ env = {}, home }: { env?: Readonly<Record<string, string>> | undefined; home: string },
): Promise<Played[]> {
	const child = fork(join(import.meta.dirname, "drive.ts"), [], {
		cwd: order.folder,
		env: { ...environment(home), ...env } as NodeJS.ProcessEnv,
		stdio: ["ignore", "pipe", "pipe", "ipc"],
	});
	const kill = () => void child.kill("SIGKILL");
	process.prependListener("exit", kill);
	let output = "";
	for (const stream of [child.stdout, child.stderr])
		stream?.on("data", (piece: Buffer) => {
			output = (output + piece.toString()).slice(-REFUSAL_CHARACTERS);
		});
	const results: Promise<Played>[] = [];
	let current: { scenario: Scenario; model: string } | undefined;
	let firstCall = 0;
	const { promise, resolve } = Promise.withResolvers<string | undefined>();
	let timer = setTimeout(() => {}, 0);
	const watch = () => {
		clearTimeout(timer);
		timer = setTimeout(() => resolve(`no result after ${SILENCE_MS / 1000} s`), SILENCE_MS);
	};
	child.on("message", (report: Report) => {
		watch();
		if (report.kind === "end") return resolve(report.failure);
		if (report.kind === "start") {
			current = report;
			firstCall = hosts.calls.length;
			return;
		}
		current = undefined;
		results.push(judged(report, hosts.calls.slice(firstCall)));
	});
	child.on("exit", (code) => resolve(`its process ended with ${code}: ${output}`));
	watch();
	child.send(order);
	const failure = await promise;
	clearTimeout(timer);
	process.off("exit", kill);
	const played = await Promise.all(results);
	kill();
	if (failure !== undefined)
		played.push({ scenario: "turn", model: order.models[0] ?? "", ...current, note: "", failure });
	return played;
}

async function judged(
	{ failure, model, note, scenario }: Extract<Report, { kind: "result" }>,
	calls: readonly HostCall[],
): Promise<Played> {
	const result = { scenario, model, note };
	if (failure !== undefined) return { ...result, failure: failure + refusalsIn(calls) };
	if (scenario !== "abort") return result;
	if (!calls.some(({ reply }) => reply === "endless")) return { ...result, failure: "no host was called" };
	const abortedAt = performance.now();
	const open = () => calls.some(({ closedAt, reply }) => reply === "endless" && closedAt === undefined);
	while (open() && performance.now() - abortedAt < CLOSE_MS) await wait(POLL_MS);
	if (open())
		return { ...result, failure: `the host's connection was open ${CLOSE_MS / 1000} s after the abort` };
	return result;
}

/** What the hosts refused, which the gateway may have answered in other words. */
function refusalsIn(calls: readonly HostCall[]): string {
	const refused = calls.filter(({ refusal, reply }) => refusal !== undefined && reply !== "failure");
	const lines = refused.map(
		({ host, path, refusal, status }) =>
			`\n    ${host} ${path}: ${status} ${JSON.stringify(refusal).slice(0, REFUSAL_CHARACTERS)}`,
	);
	return [...new Set(lines)].join("");
}
