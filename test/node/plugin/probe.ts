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
	const events = new Response((await run(LLAMA, { prompt, stream: true })) as ReadableStream);
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
		events: await events.text(),
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
