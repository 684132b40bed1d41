/** Engines with LoRA adapters, with the statuses and texts of vLLM, SGLang and llama.cpp's server. */

/** What the disk of the engine has at a path. */
type Disk = Map<string, "adapter" | "broken">;

export interface ScriptedEngine {
	fetch: typeof fetch;
	/** `path body`, of the calls that load and unload. */
	calls: { path: string; body: Record<string, unknown> }[];
	/** The bodies of the chats. */
	chats: Record<string, unknown>[];
	/** Names of loaded adapters. A restart clears them. */
	loaded: Set<string>;
	disk: Disk;
	/** Before each load. */
	loading: (adapter: string) => Promise<void>;
}

const json = (value: unknown, status = 200): Response => Response.json(value, { status });

const answer = (model: unknown): Response =>
	json({
		id: "chatcmpl-1",
		object: "chat.completion",
		created: 1,
		model,
		choices: [{ index: 0, message: { role: "assistant", content: `I am ${model}` }, finish_reason: "stop" }],
		usage: { prompt_tokens: 3, completion_tokens: 3, total_tokens: 6 },
	});

function streamed(model: unknown): Response {
	const chunk = (fields: object) =>
		`data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model, ...fields })}\n\n`;
	const text =
		chunk({
			choices: [{ index: 0, delta: { role: "assistant", content: `I am ${model}` }, finish_reason: null }],
		}) +
		chunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }) +
		chunk({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 3, total_tokens: 6 } }) +
		"data: [DONE]\n\n";
	return new Response(text, { headers: { "content-type": "text/event-stream" } });
}

const vllmError = (status: number, type: string, message: string): Response =>
	json({ error: { message, type, param: null, code: status } }, status);

type Route = (body: Record<string, unknown>, engine: ScriptedEngine) => Promise<Response> | Response;

function scripted(routes: Readonly<Record<string, Route>>, base: string): ScriptedEngine {
	const engine: ScriptedEngine = {
		...{ calls: [], chats: [], loaded: new Set(), disk: new Map(), loading: async () => {} },
		async fetch(input, init) {
			const request = new Request(input, init);
			const { origin, pathname } = new URL(request.url);
			if (origin !== base) throw new TypeError(`There is no host ${origin}`);
			const route = routes[`${request.method} ${pathname}`];
			// FastAPI's answer.
			if (!route) return json({ detail: "Not Found" }, 404);
			if (request.method === "GET") return route({}, engine);
			if (!/^application\/json\b/.test(request.headers.get("content-type") ?? ""))
				return json({ detail: "Unsupported Media Type: Only 'application/json' is allowed" }, 415);
			const body = await request.json<Record<string, unknown>>();
			if (pathname.endsWith("/chat/completions")) engine.chats.push(body);
			else engine.calls.push({ path: pathname, body });
			return route(body, engine);
		},
	};
	return engine;
}

/** vLLM: `--enable-lora`, with routes to load adapters unless `canLoad` is false. */
export function scriptedVllm({
	base = "http://vllm",
	model = "mistral",
	canLoad = true,
} = {}): ScriptedEngine {
	const load: Route = async ({ lora_name: name, lora_path: path }, engine) => {
		if (!name || !path)
			return vllmError(400, "InvalidUserInput", "Both 'lora_name' and 'lora_path' must be provided.");
		if (engine.loaded.has(String(name)))
			return vllmError(
				400,
				"InvalidUserInput",
				`The lora adapter '${name}' has already been loaded. If you want to load the adapter in place, set 'load_inplace' to True.`,
			);
		await engine.loading(String(name));
		const found = engine.disk.get(String(path));
		if (!found)
			return vllmError(404, "NotFoundError", `Loading lora ${name} failed: No adapter found for ${path}`);
		if (found === "broken")
			return vllmError(500, "InternalServerError", `LoRA rank 64 is greater than max_lora_rank 16: ${path}`);
		engine.loaded.add(String(name));
		return new Response(`Success: LoRA adapter '${name}' added successfully.`);
	};
	const unload: Route = ({ lora_name: name }, engine) =>
		engine.loaded.delete(String(name))
			? new Response(`Success: LoRA adapter '${name}' removed successfully.`)
			: vllmError(404, "NotFoundError", `The lora adapter '${name}' cannot be found.`);
	return scripted(
		{
			...(canLoad && { "POST /v1/load_lora_adapter": load, "POST /v1/unload_lora_adapter": unload }),
			"POST /v1/chat/completions": (body, engine) =>
				body.model === model || engine.loaded.has(String(body.model))
					? (body.stream ? streamed : answer)(body.model)
					: vllmError(404, "NotFoundError", `The model \`${body.model}\` does not exist.`),
		},
		base,
	);
}

/** SGLang: `--enable-lora`. */
export function scriptedSglang(base = "http://sglang", model = "mistral"): ScriptedEngine {
	const result = (engine: ScriptedEngine, error?: string): Response =>
		json(
			{
				success: error === undefined,
				error_message: error ?? "",
				loaded_adapters: Object.fromEntries([...engine.loaded].map((name) => [name, ""])),
			},
			error === undefined ? 200 : 400,
		);
	return scripted(
		{
			"POST /load_lora_adapter": async ({ lora_name: name, lora_path: path }, engine) => {
				if (engine.loaded.has(String(name)))
					return result(engine, `Failed to load LoRA adapter ${name}: LoRA adapter ${name} already exists.`);
				await engine.loading(String(name));
				const found = engine.disk.get(String(path));
				if (found !== "adapter") return result(engine, `Failed to load LoRA adapter ${name} from ${path}`);
				engine.loaded.add(String(name));
				return result(engine);
			},
			"POST /unload_lora_adapter": ({ lora_name: name }, engine) =>
				engine.loaded.delete(String(name))
					? result(engine)
					: result(engine, `LoRA adapter ${name} is not loaded`),
			"POST /v1/chat/completions"(body, engine) {
				const [named, adapter] = String(body.model).split(":");
				if (named !== model) return vllmError(404, "NotFoundError", `The model ${named} does not exist.`);
				if (adapter === undefined || engine.loaded.has(adapter)) return answer(body.model);
				return json(
					{
						object: "error",
						message: `Got LoRA adapter that has never been loaded: ${adapter}\nAll loaded adapters: [].`,
						type: "BadRequestError",
						param: null,
						code: 400,
					},
					400,
				);
			},
		},
		base,
	);
}

/** llama.cpp's server, started with these files. `scale`: 0 with `--lora-init-without-apply`. */
export function scriptedLlama(paths: string[], scale = 1, base = "http://llama"): ScriptedEngine {
	return scripted(
		{
			"GET /lora-adapters": () => json(paths.map((path, id) => ({ id, path, scale }))),
			"POST /v1/chat/completions"({ lora }) {
				const scales = (lora ?? paths.map((_, id) => ({ id, scale }))) as { id: number; scale: number }[];
				if (scales.some(({ id }) => paths[id] === undefined))
					return json(
						{ error: { code: 400, message: "invalid lora id", type: "invalid_request_error" } },
						400,
					);
				const used = scales.filter((one) => one.scale > 0).map(({ id }) => paths[id]);
				return answer(used.length > 0 ? used.join("+") : "the base");
			},
		},
		base,
	);
}
