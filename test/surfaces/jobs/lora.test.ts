/** Requests with LoRA adapters: which adapter a name means, and how engines get it. */
import { describe, expect, it } from "vitest";
import { startNativeTimer } from "../../../src/core/lazy-timer.ts";
import { EngineFolders } from "../../../src/jobs/adapters/engine-folders.ts";
import { adapterFinder } from "../../../src/jobs/client/account-adapters.ts";
import { ACCOUNT_ROOMS } from "../../../src/surfaces/accounts/account-rooms.ts";
import type { AppServices } from "../../../src/surfaces/services.ts";
import {
	type ScriptedEngine,
	scriptedLlama,
	scriptedSglang,
	scriptedVllm,
} from "../../backends/openai/adapters/scripted-engines.ts";
import { BASE, type TestGateway, testGateway } from "../../gateway.ts";
import { loraConfig, loraWeights } from "../../jobs/adapters/adapter-files.ts";
import { startPassedTimer } from "../../timers.ts";

const MISTRAL = "@cf/mistral/mistral-7b-instruct-v0.2-lora";
const GEMMA = "@cf/google/gemma-2b-it-lora";
const MESSAGES = [{ role: "user", content: "Hello" }];

interface Engines {
	engine: ScriptedEngine;
	/** Of the backend `gpus`. */
	backend: object;
	target?: object;
	vars?: object;
}

/** The state of an engine is kept by the configuration, which tests share, so ids differ. */
function withOwnIds(gateway: TestGateway): TestGateway {
	gateway.services.uuid = () => crypto.randomUUID();
	return gateway;
}

const gatewayOf = ({ engine, backend, target = {}, vars = {} }: Engines): TestGateway =>
	withOwnIds(
		testGateway({
			vars: {
				BACKENDS: { gpus: { kind: "openai", ...backend } },
				ROUTES: { [MISTRAL]: [{ backend: "gpus", model: "mistral", ...target }] },
				...vars,
			},
			fetch: engine.fetch,
		}),
	);

const vllm = (settings: object = {}, options: object = {}): Engines & { gateway: TestGateway } => {
	const engines: Engines = {
		engine: scriptedVllm(options),
		backend: { url: "http://vllm/v1", adapters: { engine: "vllm", seen_as: "/adapters", ...settings } },
	};
	return { ...engines, gateway: gatewayOf(engines) };
};

/** Uploads an adapter. Returns its id. */
async function uploaded(gateway: TestGateway, name = "support", model = MISTRAL): Promise<string> {
	const made = await gateway.post("/finetunes", { model, name });
	const { id } = (await made.json<{ result: { id: string } }>()).result;
	for (const [fileName, content] of [
		["adapter_config.json", loraConfig()],
		["adapter_model.safetensors", loraWeights()],
	] as const) {
		const body = new FormData();
		body.set("file_name", fileName);
		body.set("file", new Blob([content]));
		const path = `${BASE}/finetunes/${id}/finetune-assets`;
		expect((await gateway.app.request(path, { method: "POST", body })).status).toBe(200);
	}
	return id;
}

interface Chatted {
	status: number;
	text?: string;
	code?: number;
	message?: string;
}

async function chat(gateway: TestGateway, lora: string | undefined, model = MISTRAL): Promise<Chatted> {
	const response = await gateway.post(`/run/${model}`, {
		messages: MESSAGES,
		...(lora !== undefined && { lora }),
	});
	const { result, errors } = await response.json<{
		result: { response?: string };
		errors: { code: number; message: string }[];
	}>();
	const [error] = errors;
	return error
		? { status: response.status, ...error }
		: { status: response.status, text: result.response ?? "" };
}

describe("the simulator", () => {
	it("names the adapter in its answer", async () => {
		const gateway = testGateway();
		const id = await uploaded(gateway);
		for (const lora of [id, "support"])
			expect((await chat(gateway, lora)).text).toMatch(
				/^Simulated reply .* with the adapter support: no model ran/,
			);
		expect((await chat(gateway, "cf-public-magicoder")).text).toContain(
			" with the adapter cf-public-magicoder:",
		);
		expect((await chat(gateway, undefined)).text).not.toContain("adapter");
	});

	it("refuses adapters as the product does", async () => {
		const gateway = testGateway();
		await uploaded(gateway);
		await gateway.post("/finetunes", { model: MISTRAL, name: "unfinished" });
		expect(await chat(gateway, "unfinished")).toMatchObject({
			status: 400,
			code: 3039,
			message: expect.stringContaining(
				"Finetune is missing required files (model.safetensors and config.json)",
			),
		});
		expect(await chat(gateway, "support", GEMMA)).toMatchObject({
			status: 405,
			code: 5005,
			message: expect.stringContaining(`The fine-tune support is for the model ${MISTRAL}, not for ${GEMMA}`),
		});
		expect(await chat(gateway, "suport")).toMatchObject({
			status: 405,
			code: 5005,
			message: expect.stringContaining(`The account has no such fine-tune for the model ${MISTRAL}`),
		});
		// Another test's account.
		expect(await chat(testGateway(), "support")).toMatchObject({ status: 405, code: 5005 });
	});
});

describe("vLLM", () => {
	it("gets an adapter with the first request that names it", async () => {
		const { engine, gateway } = vllm();
		const id = await uploaded(gateway);
		engine.disk.set(`/adapters/${id}`, "adapter");
		for (const lora of ["support", id])
			expect(await chat(gateway, lora)).toEqual({ status: 200, text: `I am ${id}` });
		expect(engine.calls).toEqual([
			{ path: "/v1/load_lora_adapter", body: { lora_name: id, lora_path: `/adapters/${id}` } },
		]);
		expect(engine.chats[0]).not.toHaveProperty("lora");
		expect(await chat(gateway, undefined)).toEqual({ status: 200, text: "I am mistral" });
	});

	it("gets it once for many requests at the same time", async () => {
		const { engine, gateway } = vllm();
		const id = await uploaded(gateway);
		engine.disk.set(`/adapters/${id}`, "adapter");
		const opened = Promise.withResolvers<void>();
		engine.loading = () => opened.promise;
		const chats = Array.from({ length: 8 }, () => chat(gateway, "support"));
		await expect.poll(() => engine.calls.length).toBe(1);
		opened.resolve();
		expect(new Set((await Promise.all(chats)).map(({ text }) => text))).toEqual(new Set([`I am ${id}`]));
		expect(engine.calls).toHaveLength(1);
	});

	it("streams with it", async () => {
		const { engine, gateway } = vllm();
		const id = await uploaded(gateway);
		engine.disk.set(`/adapters/${id}`, "adapter");
		const response = await gateway.post(`/run/${MISTRAL}`, {
			messages: MESSAGES,
			lora: "support",
			stream: true,
		});
		expect(await response.text()).toContain(`I am ${id}`);
	});

	it("may have it from another gateway", async () => {
		const { engine, gateway } = vllm();
		const id = await uploaded(gateway);
		engine.loaded.add(id);
		expect(await chat(gateway, "support")).toEqual({ status: 200, text: `I am ${id}` });
	});

	it("is asked once more after it has started anew", async () => {
		const { engine, gateway } = vllm();
		const id = await uploaded(gateway);
		engine.disk.set(`/adapters/${id}`, "adapter");
		await chat(gateway, "support");
		engine.loaded.clear();
		expect(await chat(gateway, "support")).toEqual({ status: 200, text: `I am ${id}` });
		expect(engine.calls).toHaveLength(2);
		// It confirms the load, and forgets the adapter at once.
		engine.loaded.clear();
		engine.loaded.add = () => engine.loaded;
		expect(await chat(gateway, "support")).toMatchObject({ status: 400, code: 5007 });
		expect(engine.calls).toHaveLength(3);
	});

	it("unloads the adapter that was used least recently", async () => {
		const { engine, gateway } = vllm({ max_loaded: 2 });
		const ids: string[] = [];
		for (const name of ["a", "b", "c"]) {
			ids.push(await uploaded(gateway, name));
			engine.disk.set(`/adapters/${ids.at(-1)}`, "adapter");
		}
		for (const lora of ["a", "b", "a", "c"]) expect((await chat(gateway, lora)).status).toBe(200);
		expect(engine.loaded).toEqual(new Set([ids[0], ids[2]]));
		expect(engine.calls.map(({ path, body }) => `${path} ${ids.indexOf(String(body.lora_name))}`)).toEqual([
			"/v1/load_lora_adapter 0",
			"/v1/load_lora_adapter 1",
			"/v1/unload_lora_adapter 1",
			"/v1/load_lora_adapter 2",
		]);
	});

	it("keeps an adapter that a stream uses", async () => {
		const { engine, gateway } = vllm({ max_loaded: 1 });
		for (const name of ["a", "b"]) engine.disk.set(`/adapters/${await uploaded(gateway, name)}`, "adapter");
		const stream = await gateway.post(`/run/${MISTRAL}`, { messages: MESSAGES, lora: "a", stream: true });
		expect(await chat(gateway, "b")).toMatchObject({ status: 429, code: 3040 });
		await stream.text();
		await expect.poll(async () => (await chat(gateway, "b")).status).toBe(200);
	});

	it("refuses a broken adapter once a minute", async () => {
		const { engine, gateway } = vllm();
		const id = await uploaded(gateway);
		engine.disk.set(`/adapters/${id}`, "broken");
		const { now } = gateway.services;
		for (let times = 0; times < 3; times++)
			expect(await chat(gateway, "support")).toMatchObject({
				status: 400,
				code: 8007,
				message: expect.stringContaining(
					`The backend 'gpus' could not load the fine-tune support: LoRA rank 64 is greater than max_lora_rank 16: /${id}`,
				),
			});
		expect(engine.calls).toHaveLength(1);
		gateway.services.now = () => now() + 60_001;
		await chat(gateway, "support");
		expect(engine.calls).toHaveLength(2);
	});

	it("does not tell the key that it quotes in a refusal", async () => {
		const { engine } = vllm();
		const { fetch } = engine;
		engine.fetch = async (input, init) => {
			const request = new Request(input, init);
			if (!request.url.endsWith("/load_lora_adapter")) return fetch(request);
			const message = `no adapter for ${request.headers.get("authorization")}`;
			return Response.json({ error: { message } }, { status: 400 });
		};
		const gateway = gatewayOf({
			engine,
			backend: {
				...{ url: "http://vllm/v1", key: "VLLM_KEY" },
				adapters: { engine: "vllm", seen_as: "/adapters" },
			},
			vars: { VLLM_KEY: "a-key-of-the-operator" },
		});
		await uploaded(gateway);
		const { code, message } = await chat(gateway, "support");
		expect(code).toBe(8007);
		expect(message).toContain("could not load the fine-tune support: no adapter for ");
		expect(message).not.toContain("a-key-of-the-operator");
	});

	it("that cannot be reached is no reason to wait a minute", async () => {
		const { engine, gateway } = vllm();
		const id = await uploaded(gateway);
		engine.disk.set(`/adapters/${id}`, "adapter");
		engine.loading = async () => {
			throw new TypeError("Network connection lost.");
		};
		expect(await chat(gateway, "support")).toMatchObject({ status: 502 });
		engine.loading = async () => {};
		expect(await chat(gateway, "support")).toMatchObject({ status: 200 });
	});

	it("a load that does not end: a request waits for header_ms, and other adapters are served", async () => {
		const { engine, gateway } = vllm();
		const stuck = await uploaded(gateway, "stuck");
		engine.disk.set(`/adapters/${await uploaded(gateway, "ready")}`, "adapter");
		engine.disk.set(`/adapters/${stuck}`, "adapter");
		const opened = Promise.withResolvers<void>();
		engine.loading = (id) => (id === stuck ? opened.promise : Promise.resolve());
		const limited = gatewayOf({
			engine,
			backend: { url: "http://vllm/v1", adapters: { engine: "vllm", seen_as: "/adapters" } },
			target: { timeouts: { header_ms: 50 } },
		});
		limited.services.findAdapter = gateway.services.findAdapter;
		const response = await limited.post(`/run/${MISTRAL}`, { messages: MESSAGES, lora: "stuck" });
		expect([response.status, response.headers.get("retry-after")]).toEqual([429, "10"]);
		expect(await response.json()).toMatchObject({
			errors: [
				{
					code: 3040,
					message: expect.stringContaining(
						"The backend 'gpus' has not loaded the fine-tune stuck within 50 ms; the load continues: try again, or raise timeouts.header_ms of the route",
					),
				},
			],
		});
		expect(await chat(limited, "ready")).toMatchObject({ status: 200 });
		expect(await chat(limited, undefined)).toEqual({ status: 200, text: "I am mistral" });
		opened.resolve();
		await expect.poll(() => chat(limited, "stuck")).toEqual({ status: 200, text: `I am ${stuck}` });
		expect(engine.calls.filter(({ body }) => body.lora_name === stuck)).toHaveLength(1);
	});

	it("without the files names the setting of the folder", async () => {
		const { gateway } = vllm();
		await uploaded(gateway);
		expect(await chat(gateway, "support")).toMatchObject({
			code: 8007,
			message: expect.stringContaining("(adapters.seen_as of the backend: docs/adapters.md)"),
		});
	});

	it("that loads no adapters names what it needs", async () => {
		const { gateway } = vllm({}, { canLoad: false });
		await uploaded(gateway);
		expect(await chat(gateway, "support")).toMatchObject({
			status: 405,
			code: 5005,
			message: expect.stringContaining(
				"The backend 'gpus' loads no adapters: it needs --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True",
			),
		});
	});

	it("with a resolver gets the name alone", async () => {
		const { engine, gateway } = vllm({ engine: "vllm-resolver", seen_as: undefined });
		const id = await uploaded(gateway);
		engine.loaded.add(id);
		expect(await chat(gateway, "support")).toEqual({ status: 200, text: `I am ${id}` });
		expect(engine.calls).toEqual([]);
	});

	it("without the setting refuses an adapter of the account, and not those of its route", async () => {
		const engine = scriptedVllm();
		engine.loaded.add("acme-sql");
		const gateway = gatewayOf({ engine, backend: { url: "http://vllm/v1" }, target: { loras: ["acme-*"] } });
		await uploaded(gateway);
		expect(await chat(gateway, "support")).toMatchObject({
			status: 405,
			code: 5005,
			message: expect.stringMatching(
				/The backend 'gpus' has no fine-tunes .* its setting adapters says where/,
			),
		});
		expect(await chat(gateway, "acme-sql")).toEqual({ status: 200, text: "I am acme-sql" });
		expect(await chat(gateway, "mistral")).toMatchObject({ status: 405, code: 5005 });
	});

	it("is left for a target that has fine-tunes", async () => {
		const engine = scriptedVllm();
		const gateway = gatewayOf({
			engine,
			backend: { url: "http://vllm/v1" },
			vars: {
				BACKENDS: {
					plain: { kind: "openai", url: "http://vllm/v1" },
					tuned: { kind: "openai", url: "http://vllm/v1", adapters: { engine: "vllm", seen_as: "/a" } },
				},
				ROUTES: {
					[MISTRAL]: [
						{ backend: "plain", model: "mistral" },
						{ backend: "tuned", model: "mistral" },
					],
				},
			},
		});
		const id = await uploaded(gateway);
		engine.disk.set(`/a/${id}`, "adapter");
		expect(await chat(gateway, "support")).toEqual({ status: 200, text: `I am ${id}` });
	});
});

describe("the folder of the engine", () => {
	/** A process that writes, and the engine that sees the folder at another path. */
	function withFolder() {
		const { engine, gateway } = vllm({ folder: "/srv/adapters", seen_as: "/adapters" });
		const written = new Map<string, number>();
		const calls: string[] = [];
		const { services } = gateway;
		services.engineFolders = new EngineFolders({
			address: "http://writer/secret",
			async fetch(input, init) {
				const request = new Request(input, init);
				const path = request.url.replace("http://writer/secret/", "");
				calls.push(`${request.method} ${path.replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, "{id}")}`);
				const id = path.split("/")[1] ?? "";
				const isWritten = written.size === 2;
				if (request.method === "HEAD") return new Response(null, { status: isWritten ? 200 : 404 });
				if (request.method === "DELETE") written.clear();
				else written.set(path.replace(id, "{id}"), (await request.arrayBuffer()).byteLength);
				if (written.size === 2) engine.disk.set(`/adapters/${id}`, "adapter");
				return new Response(null, { status: 204 });
			},
		});
		services.findAdapter = adapterFinder(services);
		return { calls, engine, gateway, written };
	}
	const FILES = {
		"gpus/{id}/adapter_config.json": loraConfig().length,
		"gpus/{id}/adapter_model.safetensors": loraWeights().length,
	};
	const WRITE = ["HEAD gpus/{id}", ...Object.keys(FILES).map((file) => `PUT ${file}`)];

	it("is written when the adapter is complete, looked at before a load, and emptied with the adapter", async () => {
		const { calls, engine, gateway, written } = withFolder();
		const id = await uploaded(gateway);
		// The upload has waited for the folder.
		expect(Object.fromEntries(written)).toEqual(FILES);
		expect(calls).toEqual(WRITE);
		expect(await chat(gateway, "support")).toEqual({ status: 200, text: `I am ${id}` });
		expect(await chat(gateway, "support")).toEqual({ status: 200, text: `I am ${id}` });
		expect(calls).toEqual([...WRITE, "HEAD gpus/{id}"]);
		expect(engine.calls).toHaveLength(1);
		await gateway.app.request(`${BASE}/finetunes/support`, { method: "DELETE" });
		expect(calls.at(-1)).toBe("DELETE {id}");
		expect(await chat(gateway, "support")).toMatchObject({ status: 405, code: 5005 });
	});

	it("that keeps the files of a deleted adapter is reported: the deletion of the account goes on, and that of the adapter ends", async () => {
		const { gateway } = withFolder();
		await uploaded(gateway);
		const { services } = gateway;
		services.engineFolders = new EngineFolders({
			address: "http://writer/secret",
			fetch: async () => new Response(null, { status: 500 }),
		});
		const { JOB_STORE: deleteJobs } = ACCOUNT_ROOMS;
		if (typeof deleteJobs !== "function") throw new TypeError("The jobs are deleted by a function");
		await expect(deleteJobs("local", services as AppServices)).rejects.toThrow(
			"adapters.folder of a backend",
		);
		const logged: unknown[] = [];
		services.log = (error) => void logged.push(error);
		const deleted = await gateway.app.request(`${BASE}/finetunes/support`, { method: "DELETE" });
		expect(deleted.status).toBe(200);
		expect(logged).toEqual([
			expect.objectContaining({ message: expect.stringContaining("adapters.folder") }),
		]);
		expect(await chat(gateway, "support")).toMatchObject({ status: 405, code: 5005 });
	});

	it("does not keep an upload for longer than 30 seconds", async () => {
		const { gateway } = withFolder();
		const { services } = gateway;
		const waits: number[] = [];
		services.engineFolders = new EngineFolders({
			address: "http://writer/secret",
			fetch: () => new Promise<never>(() => {}),
		});
		const { startTimer = startNativeTimer } = services;
		services.startTimer = (milliseconds, onTime, left) => {
			if (milliseconds !== 30_000) return startTimer(milliseconds, onTime, left);
			waits.push(milliseconds);
			return startPassedTimer(milliseconds, onTime);
		};
		await uploaded(gateway);
		expect(waits).toContain(30_000);
	});

	it("is written again with a request if its files are gone", async () => {
		const { calls, engine, gateway, written } = withFolder();
		const id = await uploaded(gateway);
		await expect.poll(() => written.size).toBe(2);
		written.clear();
		engine.disk.clear();
		calls.length = 0;
		expect(await chat(gateway, "support")).toEqual({ status: 200, text: `I am ${id}` });
		expect(calls).toEqual(WRITE);
	});

	it("cannot be written without a process that does", async () => {
		const { gateway } = vllm({ folder: "/srv/adapters" });
		await uploaded(gateway);
		expect(await chat(gateway, "support")).toMatchObject({
			status: 405,
			code: 5005,
			message: expect.stringContaining(
				"Only ganglion serve writes the folder of fine-tunes (adapters.folder of the backend 'gpus')",
			),
		});
	});
});

describe("SGLang", () => {
	const sglang = () => {
		const engines: Engines = {
			engine: scriptedSglang(),
			backend: { url: "http://sglang/v1", adapters: { engine: "sglang", seen_as: "/adapters" } },
		};
		return { ...engines, gateway: gatewayOf(engines) };
	};

	it("gets the adapter, and its name after that of the model", async () => {
		const { engine, gateway } = sglang();
		const id = await uploaded(gateway);
		engine.disk.set(`/adapters/${id}`, "adapter");
		expect(await chat(gateway, "support")).toEqual({ status: 200, text: `I am mistral:${id}` });
		engine.loaded.clear();
		expect(await chat(gateway, "support")).toEqual({ status: 200, text: `I am mistral:${id}` });
		expect(engine.calls.map(({ path }) => path)).toEqual(["/load_lora_adapter", "/load_lora_adapter"]);
	});

	it("refuses a broken adapter with its reason", async () => {
		const { engine, gateway } = sglang();
		const id = await uploaded(gateway);
		engine.disk.set(`/adapters/${id}`, "broken");
		expect(await chat(gateway, "support")).toMatchObject({
			status: 400,
			code: 8007,
			message: expect.stringContaining(
				`could not load the fine-tune support: Failed to load LoRA adapter ${id} from /${id}`,
			),
		});
	});
});

describe("llama.cpp", () => {
	const llama = (paths: string[], scale = 1, target: object = {}) => {
		const engines: Engines = {
			engine: scriptedLlama(paths, scale),
			backend: { url: "http://llama/v1", adapters: { engine: "llama.cpp" } },
			target,
		};
		return { ...engines, gateway: gatewayOf(engines) };
	};

	it("gets the scale of the file with the adapter's id, and zeros without an adapter", async () => {
		const paths = ["/models/sql.gguf", "/models/replaced.gguf"];
		const { engine, gateway } = llama(paths, 1, { loras: ["sql"] });
		const id = await uploaded(gateway);
		paths[1] = `/models/${id}.gguf`;
		expect((await chat(gateway, "support")).text).toBe(`I am /models/${id}.gguf`);
		expect((await chat(gateway, "sql")).text).toBe("I am /models/sql.gguf");
		expect((await chat(gateway, undefined)).text).toBe("I am the base");
		expect(engine.chats.map(({ lora }) => lora)).toEqual([
			[{ id: 1, scale: 1 }],
			[{ id: 0, scale: 1 }],
			[
				{ id: 0, scale: 0 },
				{ id: 1, scale: 0 },
			],
		]);
		// Another start, with another order.
		paths.reverse();
		expect((await chat(gateway, "support")).text).toBe(`I am /models/${id}.gguf`);
	});

	it("that applies none by itself gets nothing without an adapter", async () => {
		const { engine, gateway } = llama(["/models/sql.gguf"], 0);
		expect((await chat(gateway, undefined)).text).toBe("I am the base");
		expect(engine.chats[0]).not.toHaveProperty("lora");
	});

	it("refuses a file that neither the account nor the route names", async () => {
		const { gateway } = llama(["/models/support.gguf"]);
		expect(await chat(gateway, "support")).toMatchObject({ status: 405, code: 5005 });
		const id = await uploaded(gateway);
		expect(await chat(gateway, "support")).toMatchObject({
			status: 405,
			code: 5005,
			message: expect.stringContaining(`has no adapter ${id}.gguf: llama.cpp takes adapters at its start`),
		});
	});
});

it("a pool prefers the replica that has the adapter", async () => {
	const engines = [0, 1, 2].map((number) => scriptedVllm({ base: `http://vllm-${number}` }));
	const gateway = withOwnIds(
		testGateway({
			vars: {
				BACKENDS: {
					gpus: {
						kind: "openai",
						urls: engines.map((_, number) => `http://vllm-${number}/v1`),
						pool: {},
						adapters: { engine: "vllm", seen_as: "/adapters" },
					},
				},
				ROUTES: { [MISTRAL]: [{ backend: "gpus", model: "mistral" }] },
			},
			fetch: (input, init) => {
				const { hostname } = new URL(new Request(input).url);
				const engine = engines[Number(hostname.at(-1))] ?? scriptedVllm();
				return engine.fetch(input, init);
			},
		}),
	);
	const id = await uploaded(gateway);
	for (const { disk } of engines) disk.set(`/adapters/${id}`, "adapter");
	for (let times = 0; times < 6; times++) {
		// Prompts that have nothing in common.
		const content = `${times} `.repeat(2_000);
		const response = await gateway.post(`/run/${MISTRAL}`, {
			messages: [{ role: "user", content }],
			lora: "support",
		});
		expect(response.status).toBe(200);
	}
	expect(engines.map(({ loaded }) => loaded.size).toSorted()).toEqual([0, 0, 1]);
});
