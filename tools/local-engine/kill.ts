/** Kills each process at each phase: nothing is left, the ports are free, and the next request is answered. */
import { createServer } from "node:net";
import {
	addressOf,
	becomes,
	chat,
	type Found,
	GATEWAY_PATH,
	type Gateway,
	MODELS,
	modelProcesses,
	newFolder,
	processesOf,
	remove,
	routerOf,
	startGateway,
} from "./gateway.ts";

const [MODEL] = MODELS;
const PATIENCE_MS = 10_000;
const LONG = 2_000;
const STATUS_PATH = "/client/v4/local-models";

interface Field {
	gateway: Gateway;
	folder: string;
}

const ask = (gateway: Gateway, tokens = 1) =>
	chat(gateway.port, { model: MODEL, path: GATEWAY_PATH, tokens, stream: tokens > 1 });

const command = (gateway: Gateway, action: string): Promise<unknown> =>
	fetch(`http://127.0.0.1:${gateway.port}${STATUS_PATH}`, {
		method: "POST",
		headers: { "content-type": "application/json" },
		body: JSON.stringify({ action, model: MODEL }),
	}).catch(() => undefined);

/** Brings the gateway to a phase, in which it stays for some milliseconds. */
const PHASES: Readonly<Record<string, (field: Field) => Promise<unknown>>> = {
	start: async () => {},
	idle: ({ gateway }) => becomes(() => /is ready on/.test(gateway.output())),
	load: async ({ gateway, folder }) => {
		await PHASES.idle?.({ gateway, folder });
		void ask(gateway);
		await becomes(() => modelProcesses(folder).length > 0, PATIENCE_MS);
	},
	run: async ({ gateway, folder }) => {
		await PHASES.idle?.({ gateway, folder });
		await ask(gateway);
		void ask(gateway, LONG);
		await new Promise((resolve) => setTimeout(resolve, 100));
	},
	unload: async ({ gateway, folder }) => {
		await PHASES.idle?.({ gateway, folder });
		await ask(gateway);
		void command(gateway, "unload");
	},
};

const VICTIMS: Readonly<Record<string, (field: Field) => number | undefined>> = {
	"llama-server": ({ folder }) => routerOf(folder)?.pid,
	"a model's process": ({ folder }) => modelProcesses(folder)[0]?.pid,
};

const isFree = (port: number): Promise<boolean> =>
	new Promise((resolve) => {
		const server = createServer();
		server.once("error", () => resolve(false));
		server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
	});

export async function killEach(file: string): Promise<boolean> {
	const problems: string[] = [];
	const note = (what: string, isGood: boolean): void => {
		console.log(`${isGood ? "ok" : "FAILED"}: ${what}`);
		if (!isGood) problems.push(what);
	};
	for (const phase of Object.keys(PHASES)) {
		for (const signal of ["SIGTERM", "SIGKILL"] as const) await endGateway(file, { phase, signal, note });
		if (phase !== "start")
			for (const victim of Object.keys(VICTIMS)) await killOne(file, { phase, victim, note });
	}
	return problems.length === 0;
}

type Note = (what: string, isGood: boolean) => void;

async function endGateway(
	file: string,
	{ phase, signal, note }: { phase: string; signal: NodeJS.Signals; note: Note },
): Promise<void> {
	const folder = newFolder(file, [MODEL]);
	const gateway = await startGateway(folder);
	if (phase === "start") await becomes(() => routerOf(folder) !== undefined, PATIENCE_MS);
	await PHASES[phase]?.({ gateway, folder });
	const router: Found | undefined = routerOf(folder);
	const ports = [gateway.port, ...(router ? [addressOf(router).port] : [])];
	await gateway.kill(signal);
	const began = performance.now();
	const isClean = await becomes(() => processesOf(folder).length === 0, PATIENCE_MS);
	const seconds = ((performance.now() - began) / 1_000).toFixed(1);
	const areFree = (await Promise.all(ports.map(isFree))).every(Boolean);
	const left = processesOf(folder).map(({ args }) => args.slice(0, 3).join(" "));
	note(
		`${signal} of the gateway, ${phase}: all ended after ${seconds} s, ports free ${left.join("; ")}`,
		isClean && areFree,
	);
	for (const { pid } of processesOf(folder)) process.kill(pid, "SIGKILL");
	remove(folder);
}

async function killOne(
	file: string,
	{ phase, victim, note }: { phase: string; victim: string; note: Note },
): Promise<void> {
	const folder = newFolder(file, [MODEL]);
	const gateway = await startGateway(folder);
	await PHASES[phase]?.({ gateway, folder });
	const pid = VICTIMS[victim]?.({ gateway, folder });
	const began = performance.now();
	if (pid !== undefined) process.kill(pid, "SIGKILL");
	const answer = await ask(gateway);
	const isServed = answer.status === 200;
	const seconds = ((performance.now() - began) / 1_000).toFixed(1);
	note(
		`SIGKILL of ${victim}, ${phase}${pid === undefined ? " (it has none)" : ""}: the next request ${isServed ? `answered after ${seconds} s` : `got ${answer.status} ${answer.text}`}`,
		isServed,
	);
	await gateway.kill("SIGTERM");
	if (!(await becomes(() => processesOf(folder).length === 0, PATIENCE_MS)))
		note(`${victim}, ${phase}: processes are left`, false);
	remove(folder);
}
