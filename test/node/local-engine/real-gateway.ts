/** A gateway with a real llama-server, if LLAMA_SERVER names it, or PATH has it. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { freePort } from "../../../scripts/free-port.ts";
import { findLlamaServer } from "../../../scripts/local-engine/binary.ts";
import { writeManifest } from "../../../scripts/local-engine/store.ts";
import { findWeights } from "../../../scripts/local-engine/table.ts";
import { CLI } from "../cli/run.ts";
import { runScript, stopScripts } from "../script.ts";

export const REVISION = "abc123";
/** With more threads than free cores, they wait for each other in a loop. */
const THREADS = "1";
const NOW = Date.parse("2026-11-28T00:00:00Z");
const START_MS = 60_000;

export const real = await findLlamaServer(process.env).catch(() => undefined);

/** Puts files where a download would. `contents`: in the order of the table. */
export function placeWeights(folder: string, name: string, contents: readonly Buffer[]): void {
	const weights = findWeights(name, NOW);
	if (!weights) throw new Error(`no weights: ${name}`);
	const { repository, files } = weights;
	for (const [index, file] of files.entries()) {
		const path = join(folder, repository, REVISION, file.name);
		mkdirSync(dirname(path), { recursive: true });
		writeFileSync(path, contents[index] ?? "");
	}
	writeManifest(folder, {
		...{ repository, revision: REVISION },
		files: files.map((file, index) => ({
			...{ name: file.name, size: contents[index]?.length ?? 0, sha256: "0".repeat(64) },
		})),
	});
}

export interface RealGateway {
	/** `path`: after the account. */
	send(path: string, body: object): Promise<Response>;
	answerTo(path: string, body: object): Promise<{ status: number; headers: Headers; json: unknown }>;
}

/** Starts it before the tests of the file, and stops it after them. `files`: of each model, in the order of the table. */
export function realGateway(
	files: () => Readonly<Record<string, readonly Buffer[]>>,
	env: Readonly<Record<string, string>> = {},
): RealGateway {
	const folder = mkdtempSync(join(tmpdir(), "ganglion-real-"));
	const models = join(folder, "models");
	let url = "";
	beforeAll(async () => {
		if (!real) return;
		for (const [name, contents] of Object.entries(files())) placeWeights(models, name, contents);
		const port = await freePort();
		const args = ["dev", "--engine", "local", "--port", String(port), "--state", join(folder, "state")];
		const gateway = runScript(CLI, args, {
			env: { ...process.env, GANGLION_MODELS: models, HOME: folder, LLAMA_ARG_THREADS: THREADS, ...env },
		});
		expect(await gateway.until(/is ready on|rror/)).toContain("is ready on");
		url = `http://127.0.0.1:${port}`;
	}, START_MS);
	afterAll(() => {
		if (!real)
			console.warn(
				"The tests with a real llama-server were skipped: set LLAMA_SERVER (or PATH) to run them.",
			);
		stopScripts();
		rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
	});
	const send = (path: string, body: object): Promise<Response> =>
		fetch(`${url}/client/v4/accounts/local/ai/${path}`, { method: "POST", body: JSON.stringify(body) });
	return {
		send,
		async answerTo(path, body) {
			const response = await send(path, body);
			return { status: response.status, headers: response.headers, json: await response.json() };
		},
	};
}
