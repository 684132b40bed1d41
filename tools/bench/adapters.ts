/**
 * The first answer of an adapter that no replica has loaded, above the time in which the engine loads it: `ganglion serve` writes the files,
 * and an engine with vLLM's routes reads them.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { stop } from "../../scripts/child.ts";
import { freePort } from "../../scripts/free-port.ts";
import { listening } from "../../scripts/workerd.ts";
import { COMPLETION } from "./completion.ts";
import { CHAT, type Context } from "./context.ts";
import { spread } from "./statistics.ts";
import type { Row } from "./table.ts";
import { ADMIN_TOKEN } from "./token.ts";

const ROOT = join(import.meta.dirname, "../..");
const MODEL = "@cf/mistral/mistral-7b-instruct-v0.2-lora";
const LOAD_MS = 200;
const POLL_MS = 20;
const WEIGHTS = "adapter_model.safetensors";
const CONFIG = "adapter_config.json";
const MB = 1024 * 1024;
/** Of the weights of an adapter. */
const SIZES = [1, 20, 100];

export async function adapterLoads({ field, rounds, say }: Context): Promise<Row[]> {
	const folder = join(field.folder, "adapters");
	mkdirSync(folder);
	const engine = await startEngine();
	const gateway = await startGateway(folder, `http://127.0.0.1:${(engine.address() as AddressInfo).port}/v1`);
	try {
		const added: number[] = [];
		// The first adapter loads the modules of the gateway.
		for (const size of [
			1,
			...Array.from({ length: rounds }, (_, round) => SIZES[round % SIZES.length] ?? 1),
		]) {
			const id = await gateway.upload(size * MB);
			const begun = performance.now();
			await gateway.ask(id);
			added.push(performance.now() - begun - LOAD_MS);
			say(`  ${size} MB: ${added.at(-1)?.toFixed(1)} ms`);
		}
		return [
			{
				label: "the first answer of an adapter that no replica has loaded, above the engine's own load time",
				...{ measured: spread(added.slice(1)), unit: "ms", bar: 100, stretch: 20 },
				note: `adapters of ${SIZES.join(", ")} MB in turn, an engine that loads in ${LOAD_MS} ms; worst ${Math.max(...added.slice(1)).toFixed(1)} ms`,
			},
		];
	} finally {
		await gateway.stop();
		engine.closeAllConnections();
		engine.close();
	}
}

/** vLLM's routes. An adapter whose files are not at its path cannot be loaded. */
async function startEngine(): Promise<Server> {
	const loaded = new Set<string>();
	const server = createServer(async (request, response) => {
		const body = (await json(request).catch(() => ({}))) as Record<string, string>;
		const { lora_name: name = "", lora_path: path = "", model = "" } = body;
		const answer = (status: number, value: object): void =>
			void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
		if (request.url === "/v1/load_lora_adapter") {
			const begun = performance.now();
			const hasFiles = [CONFIG, WEIGHTS].every((file) => statSync(join(path, file)).size > 0);
			await wait(LOAD_MS - (performance.now() - begun));
			if (hasFiles) loaded.add(name);
			return answer(hasFiles ? 200 : 404, {});
		}
		return answer(loaded.has(model) ? 200 : 404, COMPLETION);
	});
	server.keepAliveTimeout = 600_000;
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	return server;
}

interface AdapterGateway {
	/** Returns the id of the adapter. */
	upload(bytes: number): Promise<string>;
	ask(lora: string): Promise<void>;
	stop(): Promise<void>;
}

async function startGateway(folder: string, url: string): Promise<AdapterGateway> {
	const port = await freePort();
	const child: ChildProcess = spawn(
		process.execPath,
		[join(ROOT, "scripts/serve.ts"), "--port", String(port), "--state", join(folder, "state")],
		{
			stdio: "ignore",
			env: {
				...process.env,
				ADMIN_TOKEN,
				BACKENDS: JSON.stringify({
					engine: { kind: "openai", url, adapters: { engine: "vllm", folder: join(folder, "engine") } },
				}),
				ROUTES: JSON.stringify({ [MODEL]: [{ backend: "engine", model: "mistral" }] }),
			},
		},
	);
	await listening({ port }, child).catch(async (error) => {
		await stop(child);
		throw error;
	});
	const base = `http://127.0.0.1:${port}/client/v4/accounts/bench/ai`;
	const call = async (path: string, body: FormData | string): Promise<{ result?: { id: string } }> => {
		const response = await fetch(base + path, {
			method: "POST",
			headers: {
				authorization: `Bearer ${ADMIN_TOKEN}`,
				...(typeof body === "string" && { "content-type": "application/json" }),
			},
			body,
		});
		if (!response.ok) throw new Error(`${path}: HTTP ${response.status} ${await response.text()}`);
		return (await response.json()) as { result?: { id: string } };
	};
	let count = 0;
	return {
		async upload(bytes) {
			const name = `adapter-${count++}`;
			const { result } = await call("/finetunes", JSON.stringify({ model: MODEL, name }));
			for (const [file_name, content] of [
				[CONFIG, config],
				[WEIGHTS, weights(bytes)],
			] as const) {
				const form = new FormData();
				form.set("file_name", file_name);
				form.set("file", new Blob([content]));
				await call(`/finetunes/${name}/finetune-assets`, form);
			}
			const id = result?.id ?? "";
			// The folder is written after the answer to the upload.
			while (!existsSync(join(folder, "engine", id, WEIGHTS))) await wait(POLL_MS);
			return id;
		},
		ask: async (lora) => void (await call(`/run/${MODEL}`, JSON.stringify({ ...CHAT, lora }))),
		stop: () => stop(child),
	};
}

const config = JSON.stringify({ peft_type: "LORA", model_type: "mistral", r: 8, target_modules: ["q_proj"] });

/** Two matrices with zeros. */
function weights(bytes: number): Buffer {
	const side = bytes / 2;
	const module = "base_model.model.model.layers.0.self_attn.q_proj";
	const matrix = (shape: number[], start: number) => ({
		dtype: "BF16",
		shape,
		data_offsets: [start, start + side],
	});
	const header = JSON.stringify({
		[`${module}.lora_A.weight`]: matrix([8, side / 16], 0),
		[`${module}.lora_B.weight`]: matrix([side / 16, 8], side),
	});
	const file = Buffer.alloc(8 + header.length + bytes);
	file.writeBigUInt64LE(BigInt(header.length), 0);
	file.write(header, 8);
	return file;
}
