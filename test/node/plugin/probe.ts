/**
 * Asks a binding what Workers ask it, on whichever host it is found. Everything but the ids of requests is exact: the
 * simulator says the same to everyone. Runs in workerd and in Node, and imports nothing.
 */
const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const prompt = "Reply with exactly: Your name is Alice.";
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Members of the runtime's class that the published types leave out. */
export interface Last {
	lastRequestId: string | null;
	lastRequestHttpStatusCode: number | null;
	lastRequestInternalStatusCode: number | null;
}

/** The typed overloads know one model each. */
type Run = (model: string, inputs: object, options?: object) => Promise<unknown>;

export const runOf =
	(ai: Ai): Run =>
	(model, inputs, options) =>
		ai.run(model as keyof AiModels, inputs as never, options as never);

export async function thrownBy(call: () => unknown): Promise<{ name: string; message: string }> {
	try {
		await call();
	} catch (error) {
		if (error instanceof Error) return { name: error.name, message: error.message };
		throw error;
	}
	throw new Error("nothing was thrown");
}

export async function probe(ai: Ai & Last) {
	const run = runOf(ai);
	const untouched = ai.lastRequestId;
	const json = await run(LLAMA, { prompt });
	const last = {
		id: UUID.test(String(ai.lastRequestId)),
		status: ai.lastRequestHttpStatusCode,
		log: ai.aiGatewayLogId,
	};
	// Read at once: Node cancels the stream of a response that it has collected, and the proxy of wrangler keeps only the stream.
	const events = await new Response((await run(LLAMA, { prompt, stream: true })) as ReadableStream).text();
	const spoken = new Response((await run("@cf/deepgram/aura-1", { text: "Buy milk." })) as ReadableStream);
	const note = new Response(await spoken.arrayBuffer());
	const heard = await run("@cf/deepgram/nova-3", {
		audio: { body: note.body, contentType: "audio/mpeg" },
		detect_language: true,
	});
	const unknown = await thrownBy(() => run("@cf/meta/nothing", { prompt }));
	const internal = ai.lastRequestInternalStatusCode;
	const raw = (await run(LLAMA, { prompt: 1 }, { returnRawResponse: true })) as Response;
	const search = await ai.websearch({ gatewayId: "default", query: "cats", limit: 1 });
	const models = await ai.models({ search: "llama-3.3", per_page: 1 });
	return {
		untouched,
		json,
		last,
		events,
		heard: /"transcript":"[^"]*"/.exec(JSON.stringify(heard))?.[0],
		unknown,
		internal,
		raw: [raw.status, raw.headers.get("content-type"), UUID.test(raw.headers.get("cf-ai-req-id") ?? "")],
		search: [search.status, ((await search.json()) as { items: { title: string }[] }).items.length],
		models: models.map(({ name, source, task }) => ({ name, source, task: task.name })),
	};
}

const usage = {
	prompt_tokens: 16,
	completion_tokens: 5,
	total_tokens: 21,
	prompt_tokens_details: { cached_tokens: 0 },
	neurons: 1.45,
};
const frame = (data: object) => `data: ${JSON.stringify(data)}\n\n`;

export const PROBED: Awaited<ReturnType<typeof probe>> = {
	untouched: null,
	json: { response: "Your name is Alice.", tool_calls: [], usage },
	last: { id: true, status: 200, log: null },
	events: `${["Your", " name", " is", " Alice", "."]
		.map((response) => frame({ response, tool_calls: [] }))
		.join("")}${frame({ response: "", usage })}data: [DONE]\n\n`,
	heard: '"transcript":"Buy milk."',
	unknown: { name: "AiError", message: "5007: No such model @cf/meta/nothing or task" },
	internal: 5007,
	raw: [400, "application/json", true],
	search: [200, 1],
	models: [{ name: LLAMA, source: 1, task: "Text Generation" }],
};

/** Asks an index what Workers ask it. The index of a host may have been asked before. */
export async function probeIndex(index: Vectorize) {
	await index.upsert([
		{ id: "a", values: new Float32Array([1, 0]), metadata: { page: 1 } },
		{ id: "b", values: [0, 1], metadata: { page: 2 }, namespace: "x" },
	]);
	const { dimensions, vectorCount } = await index.describe();
	return {
		class: index.constructor.name,
		shape: { dimensions, vectorCount },
		found: await index.query([1, 0], { topK: 1, returnMetadata: true }),
		filtered: await index.query(new Float32Array([1, 0]), { filter: { page: { $gt: 1 } } }),
		byId: await index.queryById("b", { topK: 1, namespace: "x" }),
		vectors: await index.getByIds(["b"]),
		refused: await thrownBy(() => index.query([1, 0], { returnMetadata: false })),
	};
}

export const INDEX_PROBED = {
	class: "VectorizeIndexImpl",
	shape: { dimensions: 2, vectorCount: 2 },
	found: { count: 1, matches: [{ id: "a", score: 1, metadata: { page: 1 } }] },
	filtered: { count: 1, matches: [{ id: "b", score: 0, namespace: "x" }] },
	byId: { count: 1, matches: [{ id: "b", score: 1, namespace: "x" }] },
	vectors: [{ id: "b", values: [0, 1], namespace: "x", metadata: { page: 2 } }],
	refused: {
		name: "Error",
		message:
			'VECTOR_QUERY_ERROR (code = 40026): Failed to parse the request body as JSON: returnMetadata: expected value "none", "indexed" or "all"',
	},
};

/** Members of the product's bindings (workerd, `types/defines/ai-search.d.ts`). */
export interface SearchInstance {
	search(request: object): Promise<{ chunks: { text: string; item: { key: string; metadata: object } }[] }>;
	chatCompletions(request: object): Promise<unknown>;
	info(): Promise<{ id: string; namespace: string }>;
	items: {
		uploadAndPoll(name: string, content: string, options?: object): Promise<{ id: string; status: string }>;
		list(): Promise<{ result: { key: string }[] }>;
		get(id: string): { download(): Promise<{ body: ReadableStream; filename: string }> };
	};
}

export interface SearchNamespace {
	get(name: string): SearchInstance;
	create(config: object): Promise<SearchInstance>;
	list(): Promise<{ result: { id: string }[] }>;
	delete(name: string): Promise<void>;
	search(request: object): Promise<{ chunks: { instance_id: string; text: string }[] }>;
}

const PASSAGE = "To reset a password, open the settings page.";
const QUERY = "reset password";

/** Asks an instance and a namespace what Workers ask them. Those of a host may have been asked before. */
export async function probeSearch(docs: SearchInstance, namespace: SearchNamespace) {
	const metadata = { team: "x" };
	const { id, status } = await docs.items.uploadAndPoll("guides/a.md", PASSAGE, {
		...{ metadata, pollIntervalMs: 50 },
	});
	const { body, filename } = await docs.items.get(id).download();
	const messages = [{ role: "user", content: QUERY }];
	const events = (await docs.chatCompletions({ messages, stream: true })) as ReadableStream;
	const text = await new Response(events).text();
	if ((await namespace.list()).result.length === 0) await namespace.create({ id: "notes" });
	await namespace.get("notes").items.uploadAndPoll("b.md", PASSAGE, { pollIntervalMs: 50 });
	const several = await namespace.search({ query: QUERY, ai_search_options: { instance_ids: ["notes"] } });
	const { result } = await namespace.list();
	const { namespace: name } = await namespace.get("notes").info();
	const info = await docs.info();
	const items = await docs.items.list();
	const found = await docs.search({ query: QUERY });
	return {
		info: [info.namespace, info.id],
		status,
		stored: [filename, await new Response(body).text()],
		listed: items.result.map(({ key }) => key),
		found: found.chunks.map(({ item, text }) => [item.key, item.metadata, text]),
		events: [text.slice(0, "event: chunks".length), text.endsWith("data: [DONE]\n\n")],
		several: several.chunks.map(({ instance_id, text }) => [instance_id, text]),
		instances: [name, ...result.map(({ id }) => id)],
		unknown: await thrownBy(() => namespace.get("none").info()),
		refused: await thrownBy(() => docs.search({ query: "" })),
	};
}

export const SEARCH_PROBED: Awaited<ReturnType<typeof probeSearch>> = {
	info: ["default", "docs"],
	status: "completed",
	stored: ["guides/a.md", PASSAGE],
	listed: ["guides/a.md"],
	found: [["guides/a.md", { team: "x" }, PASSAGE]],
	events: ["event: chunks", true],
	several: [["notes", PASSAGE]],
	instances: ["team-a", "notes"],
	unknown: {
		name: "AiSearchNotFoundError",
		message: 'ai_search_not_found: "none" in the namespace "team-a"',
	},
	refused: { name: "AiSearchError", message: "missing_user_query" },
};
