/** Memory of `npm run dev` and `npm run serve` after their first answer, with all their processes, from npm to the runtime. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { freePort } from "../../scripts/free-port.ts";
import { endWithThisProcess } from "../../scripts/parent.ts";
import { ROOT } from "../../scripts/root.ts";
import type { Context } from "./context.ts";
import { memoryOfTree, type Process, type TreeMemory, treeOf } from "./process.ts";
import { spread } from "./statistics.ts";
import type { Row } from "./table.ts";
import { ADMIN_TOKEN } from "./token.ts";

const WRANGLER = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
/** The types of the module do not match its default export. */
const { default: workerd }: { default: string } = createRequire(import.meta.url)("workerd");
const START_MS = 120_000;
const POLL_MS = 50;
/** In which garbage of the start can be collected. */
const SETTLE_MS = 8_000;
/** More starts show nothing else: the spread is a few megabytes. */
const MAX_ROUNDS = 3;

/** A command of npm in a folder, and a request that it answers with 200. */
interface Command {
	folder: string;
	args: readonly string[];
	/** Path, method and body. Default: the page `/`. */
	request?: readonly [path: string, init: RequestInit];
}

const CHAT = [
	"/client/v4/accounts/local/ai/run/@cf/meta/llama-3.3-70b-instruct-fp8-fast",
	{
		method: "POST",
		headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
		body: JSON.stringify({ messages: [{ role: "user", content: "Hello" }] }),
	},
] as const;

export async function commandMemory(context: Context): Promise<Row[]> {
	const { folder } = context.field;
	const bare = bareProject(join(folder, "bare-command"));
	let starts = 0;
	const state = (): string => join(folder, `command-state-${starts++}`);
	const own = (name: string, options: () => readonly string[]) => (port: number) => ({
		folder: ROOT,
		args: [name, "--", "--port", String(port), "--state", state(), ...options()],
		request: CHAT,
	});
	const serveConfig = join(folder, "command-memory.json");
	writeFileSync(serveConfig, JSON.stringify({ vars: { DEFAULT_BACKEND: "simulator" } }));
	const rows: Row[] = [];
	for (const { name, command, bar, stretch } of [
		{
			name: "dev",
			command: own("dev", () => ["--no-local-engines", "--inspector-port", "0"]),
			...{ bar: 600, stretch: 400 },
		},
		{ name: "serve", command: own("serve", () => ["--config", serveConfig]), ...{ bar: 300, stretch: 200 } },
	]) {
		const measured: number[] = [];
		const floors: number[] = [];
		let shares = "";
		for (let round = 0; round < Math.min(context.rounds, MAX_ROUNDS); round++) {
			const held = await memoryOf(command);
			measured.push(totalOf(held));
			shares = describe(held);
			floors.push(totalOf(await memoryOf(bare(name))));
		}
		rows.push({
			label: `memory of \`npm run ${name}\` after its first answer, all processes`,
			measured: spread(measured),
			unit: "MB",
			...{ bar, stretch },
			note: `${shares}; a bare Worker in the same runtime, started by npm, ${spread(floors).median.toFixed(0)} MB`,
		});
	}
	return rows;
}

/** npm scripts of the same names that run a Worker which answers a constant. */
function bareProject(folder: string): (script: string) => (port: number) => Command {
	mkdirSync(folder);
	writeFileSync(join(folder, "index.js"), 'export default { fetch: () => new Response("ready") };\n');
	writeFileSync(
		join(folder, "wrangler.json"),
		JSON.stringify({ name: "bare", main: "index.js", compatibility_date: "2026-11-01" }),
	);
	writeFileSync(
		join(folder, "package.json"),
		JSON.stringify({
			name: "bare",
			version: "1.0.0",
			private: true,
			scripts: {
				dev: `exec node ${JSON.stringify(WRANGLER)} dev --inspector-port 0`,
				serve: `exec ${JSON.stringify(workerd)} serve`,
			},
		}),
	);
	return (script) => (port) => {
		if (script === "dev") return { folder, args: [script, "--", "--port", String(port)] };
		const config = `${port}.capnp`;
		writeFileSync(join(folder, config), bareConfig(port));
		return { folder, args: [script, "--", config] };
	};
}

const bareConfig = (port: number): string => `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
	services = [(name = "main", worker = .main)],
	sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
const main :Workerd.Worker = (
	modules = [(name = "index.js", esModule = embed "index.js")],
	compatibilityDate = "2026-11-01",
);
`;

const totalOf = ({ own, files }: TreeMemory): number =>
	own.reduce((sum, { bytes }) => sum + bytes, files) / 1e6;

/** Starts the command, asks it once, and stops it. */
async function memoryOf(commandAt: (port: number) => Command): Promise<TreeMemory> {
	const port = await freePort();
	const { folder, args, request: [path, init] = ["/", {}] } = commandAt(port);
	const child = spawn("npm", ["run", "--silent", ...args], {
		cwd: folder,
		stdio: "ignore",
		env: {
			...process.env,
			INIT_CWD: folder,
			ADMIN_TOKEN,
			CLOUDFLARE_CF_FETCH_ENABLED: "false",
			WRANGLER_SEND_METRICS: "false",
		},
	});
	// npm passes the signal on.
	endWithThisProcess(child);
	try {
		await answered(child, `http://127.0.0.1:${port}${path}`, init);
		await wait(SETTLE_MS);
		return memoryOfTree(child.pid ?? 0);
	} finally {
		await stopTree(child);
	}
}

async function answered(child: ChildProcess, url: string, init: RequestInit): Promise<void> {
	const until = performance.now() + START_MS;
	let last = "no answer";
	while (performance.now() < until && child.exitCode === null) {
		const response = await fetch(url, init).catch(() => undefined);
		if (response) {
			const text = await response.text();
			if (response.ok) return;
			last = `HTTP ${response.status}: ${text}`;
		}
		await wait(POLL_MS);
	}
	throw new Error(`${url}: ${last}`);
}

/** Its processes end by SIGTERM, or else by SIGKILL. */
async function stopTree(child: ChildProcess): Promise<void> {
	const tree = treeOf(child.pid ?? 0);
	const ended = child.exitCode === null ? once(child, "exit") : Promise.resolve();
	signalAll(tree.slice(0, 1), "SIGTERM");
	const until = performance.now() + SETTLE_MS;
	while (performance.now() < until && tree.some(isRunning)) await wait(POLL_MS);
	signalAll(tree.filter(isRunning), "SIGKILL");
	await ended;
}

/** Not another process that has got its id. */
const isRunning = ({ pid, line }: Process): boolean => treeOf(pid)[0]?.line === line && line !== "";

function signalAll(processes: readonly Process[], name: NodeJS.Signals): void {
	for (const { pid } of processes)
		try {
			process.kill(pid, name);
		} catch {
			// It has ended.
		}
}

/** The processes above a megabyte, by the file that each runs. */
const describe = ({ own, files }: TreeMemory): string =>
	[
		...own
			.filter(({ bytes }) => bytes >= 1e6)
			.map(({ process: { line }, bytes }) => `${programOf(line)} ${(bytes / 1e6).toFixed(0)}`),
		`their programs ${(files / 1e6).toFixed(0)}`,
	].join(", ");

/** `npm run dev` sets its title. */
function programOf(line: string): string {
	const [program = "", ...args] = line.split("\0").filter(Boolean);
	if (basename(program) !== "node") return basename(program.split(" ")[0] ?? "");
	const file = args.find((each, i) => !each.startsWith("-") && args[i - 1] !== "--import");
	return basename(file ?? program);
}
