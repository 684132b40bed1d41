/** The engine of ONNX models for tests: its packages are installed by npm into the user's cache, and it runs without a gateway. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { EngineModel, EngineTask } from "../../../engine/model.ts";
import { freePort } from "../../../scripts/free-port.ts";
import { installEngine } from "../../../scripts/local-engine/packages.ts";
import type { Files } from "./tiny-models.ts";

/** `undefined`: npm cannot install the packages here. */
export const program = await installEngine(process.env, () => {}).catch((error: Error) => {
	console.warn(`The tests of ONNX models were skipped: ${error.message}`);
	return undefined;
});

/** The folder of the installed packages of all versions. */
export const packages = program ? dirname(dirname(dirname(program))) : "";

export function writeFiles(folder: string, files: Files): string {
	for (const [name, content] of Object.entries(files)) {
		const path = join(folder, name);
		mkdirSync(dirname(path), { recursive: true });
		writeFileSync(path, content);
	}
	return folder;
}

const MEGABYTE = 1_000_000;

export interface OnnxEngine {
	pid: number;
	port: number;
	post(path: string, body: object, signal?: AbortSignal): Promise<{ status: number; json: unknown }>;
	postForBytes(path: string, body: object): Promise<{ status: number; type: string | null; bytes: Buffer }>;
	get(path: string): Promise<string>;
	models(): Promise<{ name: string; state: string; pid?: number; waiting: number }[]>;
	setModels(models: readonly EngineModel[]): Promise<void>;
	stop(signal?: NodeJS.Signals): void;
}

const KEY = "the-key-of-a-test";

export const modelAt = (folder: string, name: string, task: EngineTask, files: Files): EngineModel => ({
	...{ name, task, dtype: "fp32", memory: MEGABYTE },
	folder: writeFiles(join(folder, name), files),
});

/** `room`: models that may be loaded at once. `env`: further variables of its environment. */
export async function startOnnxEngine({
	room = 10,
	stuckMs = 60_000,
	turnMs = 10_000,
	env = {} as Readonly<Record<string, string>>,
}): Promise<OnnxEngine> {
	const port = await freePort();
	const settings = { port, key: KEY, memory: room * MEGABYTE, stuckMs, turnMs, loadMs: 60_000, threads: 1 };
	const child: ChildProcess = spawn(process.execPath, [program ?? ""], {
		env: { ...process.env, GANGLION_ENGINE: JSON.stringify(settings), ...env },
		stdio: ["ignore", "ignore", "inherit"],
	});
	const url = `http://127.0.0.1:${port}`;
	const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/json" };
	const isUp = (): Promise<boolean> =>
		fetch(`${url}/health`)
			.then(({ ok }) => ok)
			.catch(() => false);
	while (!(await isUp())) await new Promise((resolve) => setTimeout(resolve, 20));
	const send = (path: string, method: string, body?: object, signal?: AbortSignal): Promise<Response> =>
		fetch(url + path, {
			...{ method, headers, ...(signal && { signal }) },
			...(body && { body: JSON.stringify(body) }),
		});
	return {
		...{ pid: child.pid ?? 0, port },
		async post(path, body, signal) {
			const response = await send(path, "POST", body, signal);
			return { status: response.status, json: await response.json() };
		},
		async postForBytes(path, body) {
			const response = await send(path, "POST", body);
			const bytes = Buffer.from(await response.arrayBuffer());
			return { status: response.status, type: response.headers.get("content-type"), bytes };
		},
		get: async (path) => (await send(path, "GET")).text(),
		models: async () => ((await (await send("/models", "GET")).json()) as { data: never[] }).data,
		setModels: async (models) => void (await send("/models", "PUT", { models })),
		stop: (signal = "SIGTERM") => void child.kill(signal),
	};
}
