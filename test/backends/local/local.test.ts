/** The backend of models on this machine, against replies that llama-server (build 11669) gave, and problems of the local engine. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { local } from "../../../src/backends/local/index.ts";
import type { AiError } from "../../../src/core/errors.ts";
import { Catalog } from "../../../src/models/catalog.ts";
import { isHealthy } from "../../../src/pipeline/dispatch/retry-policy.ts";
import type { ChatInput } from "../../../src/tasks/text-generation/types.ts";
import { completion } from "../../gateway.ts";
import { askOf, outputOf } from "../ask.ts";
import { failureOf, json, type Responder } from "../upstream.ts";

const BGE = "@cf/baai/bge-small-en-v1.5";
const ENGINE = "http://127.0.0.1:20001";
const PATH = `${ENGINE}/model:%40cf%2Fbaai%2Fbge-small-en-v1.5`;
const ask = askOf(local, { kind: "local", url: ENGINE, model: BGE });
const catalogue = new Catalog();
const model = (id: string) => {
	const found = catalogue.find(id);
	if (!found) throw new Error(`no model ${id}`);
	return found;
};

const vectors = (...rows: number[][]) =>
	json({
		object: "list",
		model: BGE,
		usage: { prompt_tokens: 1, total_tokens: 1 },
		data: rows.map((embedding, index) => ({ object: "embedding", index, embedding })),
	});
const tooLong = (tokens: number, limit: number) =>
	json(
		{
			error: {
				code: 500,
				message: `input (${tokens} tokens) is too large to process. increase the physical batch size (current batch size: ${limit})`,
				type: "server_error",
			},
		},
		500,
	);
const urls = (asking: { call: { requests: { url: string }[] } }) =>
	asking.call.requests.map(({ url }) => url);

describe("a call", () => {
	const HI: ChatInput = { messages: [{ role: "user", content: "Hi" }], stream: false };

	it("names its model in the path", async () => {
		const asking = ask("text-generation", HI, () => json(completion("Hello")));
		expect(await outputOf(asking)).toMatchObject({ choices: [{ message: { content: "Hello" } }] });
		expect(urls(asking)).toEqual([`${PATH}/v1/chat/completions`]);
		expect(asking.call.requests[0]?.json.model).toBe(BGE);
	});

	it.each([
		["weights_missing", 404, "noSuchModel", 5007, false, true],
		["licence_not_accepted", 403, "upstreamUnavailable", 7009, true, undefined],
		["weights_downloading", 503, "outOfCapacity", 3040, false, undefined],
		["weights_unavailable", 502, "upstreamUnavailable", 7009, true, undefined],
		["no_room", 507, "upstreamUnavailable", 7009, true, undefined],
		["weights_unreadable", 500, "upstreamUnavailable", 7009, true, false],
		["internal", 500, "executionFailed", 5001, true, false],
		["engine_unavailable", 503, "upstreamUnavailable", 7009, false, false],
	])("has the sentence of a problem: %s", async (code, status, key, number, isLasting, health) => {
		const message = "The weights of X are not on this machine: run `npx ganglion models pull X`";
		const asking = ask("text-generation", HI, () =>
			json({ error: { message, code, type: "local_engine" } }, status, { "retry-after": "7" }),
		);
		const failure = (await failureOf(asking.answer)) as AiError;
		expect(failure).toMatchObject({
			...{ key, code: number, description: message, retryAfter: 7, retryable: true, isLasting },
			upstream: { backend: "lab", status },
		});
		// Weights that are not here yet open no circuit.
		expect(isHealthy(failure)).toBe(health);
	});

	it("fails as at other engines if llama-server itself refuses", async () => {
		const refusal = {
			error: { code: 400, message: "top_k must be positive", type: "invalid_request_error" },
		};
		expect(await failureOf(ask("text-generation", HI, () => json(refusal, 400)).answer)).toMatchObject({
			key: "engineRefused",
			description: "top_k must be positive",
		});
	});
});

describe("a call of a model with a process of its own", () => {
	const HI: ChatInput = { messages: [{ role: "user", content: "Hi" }], stream: false };
	const OWN = "http://127.0.0.1:20099";
	const answered = (address?: string) =>
		json(completion("Hello"), 200, address === undefined ? {} : { "x-ganglion-engine": address });
	/** Each test has an engine of its own, because addresses are kept. */
	let port = 21_000;
	const engine = () => {
		const url = `http://127.0.0.1:${++port}`;
		const asks = (respond: Responder) =>
			ask("text-generation", HI, respond, { target: { url, model: "lab" } });
		return { path: `${url}/model:lab/v1/chat/completions`, asks };
	};

	it("goes to the address that the engine has named, with the same key and body", async () => {
		const { path, asks } = engine();
		const first = asks(() => answered(OWN));
		await outputOf(first);
		const second = asks(() => answered());
		await outputOf(second);
		expect([...urls(first), ...urls(second)]).toEqual([path, `${OWN}/v1/chat/completions`]);
		const [sent] = second.call.requests;
		expect(sent?.headers.get("authorization")).toBe(first.call.requests[0]?.headers.get("authorization"));
		expect(sent?.json).toEqual(first.call.requests[0]?.json);
	});

	it.each([
		["is absent", () => Promise.reject(new TypeError("Connection refused"))],
		["is another program", () => json({ error: { message: "Invalid API Key" } }, 401)],
		["loads the model", () => json({ error: { message: "Loading model" } }, 503)],
	])("goes to the engine again if the process %s", async (_, fails) => {
		const { path, asks } = engine();
		await outputOf(asks(() => answered(OWN)));
		const second = asks(({ url }) => (url.startsWith(OWN) ? fails() : answered()));
		expect(await outputOf(second)).toMatchObject({ choices: [{ message: { content: "Hello" } }] });
		const third = asks(() => answered());
		await outputOf(third);
		expect([...urls(second), ...urls(third)]).toEqual([`${OWN}/v1/chat/completions`, path, path]);
	});

	it("goes to the engine again after five seconds, because another process may have the port", async () => {
		vi.useFakeTimers({ toFake: ["Date"] });
		onTestFinished(() => void vi.useRealTimers());
		const { path, asks } = engine();
		const addresses: string[] = [];
		for (const seconds of [0, 4.9, 0.2, 4.9]) {
			vi.advanceTimersByTime(seconds * 1_000);
			const asking = asks(() => answered(OWN));
			await outputOf(asking);
			addresses.push(...urls(asking));
		}
		expect(addresses).toEqual([path, `${OWN}/v1/chat/completions`, path, `${OWN}/v1/chat/completions`]);
	});

	it("has the failure of the process itself", async () => {
		const { asks } = engine();
		await outputOf(asks(() => answered(OWN)));
		const second = asks(() =>
			json({ error: { code: 400, message: "top_k must be positive", type: "invalid_request_error" } }, 400),
		);
		expect(await failureOf(second.answer)).toMatchObject({ description: "top_k must be positive" });
		expect(urls(second)).toEqual([`${OWN}/v1/chat/completions`]);
	});

	it.each(["http://169.254.169.254:80", "http://127.0.0.1:1/path", "https://example.com", "127.0.0.1:20099"])(
		"does not go to %s",
		async (address) => {
			const { path, asks } = engine();
			await outputOf(asks(() => answered(address)));
			const second = asks(() => answered());
			await outputOf(second);
			expect(urls(second)).toEqual([path]);
		},
	);

	it("does not go elsewhere for an engine on another machine", async () => {
		const respond = () => answered(OWN);
		const target = { url: "http://engine.test", model: "lab" };
		await outputOf(ask("text-generation", HI, respond, { target }));
		const second = ask("text-generation", HI, respond, { target });
		await outputOf(second);
		expect(urls(second)).toEqual(["http://engine.test/model:lab/v1/chat/completions"]);
	});
});

describe("embeddings", () => {
	const askFor = (input: object, respond: Responder, id = BGE) =>
		ask("text-embeddings", { texts: ["a b c"], ...input }, respond, { model: model(id) });
	const row = (first: number) => [first, ...Array<number>(383).fill(0)];

	it.each([
		[undefined, BGE, PATH],
		["mean", BGE, PATH],
		["cls", `${BGE}/cls`, `${PATH}%2Fcls`],
	] as const)("have a section for pooling %s", async (pooling, section, path) => {
		const asking = askFor({ pooling }, () => vectors(row(1)));
		expect((await outputOf(asking)).vectors).toEqual([row(1)]);
		expect(urls(asking)).toEqual([`${path}/v1/embeddings`]);
		expect(asking.call.requests[0]?.json.model).toBe(section);
	});

	it("have one section if the model has one kind of pooling", async () => {
		const asking = askFor({ pooling: "cls" }, () => vectors(Array<number>(1024).fill(1)), "@cf/baai/bge-m3");
		await outputOf(asking);
		expect(urls(asking)).toEqual([`${PATH}/v1/embeddings`]);
	});

	it("are those of the beginning of a text that is too long", async () => {
		const asking = askFor({ texts: ["long", "b"], truncate: true, pooling: "cls" }, ({ url, json: body }) => {
			if (url.endsWith("/tokenize"))
				return json({ tokens: body.content === "long" ? [101, 1, 2, 3, 4, 102] : [101, 7, 102] });
			return JSON.stringify(body.input).includes("long") ? tooLong(6, 4) : vectors(row(1), row(2));
		});
		expect((await outputOf(asking)).vectors).toEqual([row(1), row(2)]);
		expect(asking.call.requests.map(({ json: body }) => body.input ?? body.content)).toEqual([
			["long", "b"],
			"long",
			"b",
			// With the mark of the end.
			[
				[101, 1, 2, 102],
				[101, 7, 102],
			],
		]);
		expect(urls(asking)[1]).toBe(`${PATH}%2Fcls/tokenize`);
	});

	it("are refused in the words of the product if a text is too long and may not be truncated", async () => {
		expect(await failureOf(askFor({ truncate: false }, () => tooLong(9_000, 8_192)).answer)).toMatchObject({
			key: "refusedByModel",
			description: "Sequence too long: 9000 > 8192",
		});
	});
});

describe("reranking", () => {
	const input = { query: "q", contexts: ["a", "b"] };
	const ranks = (...scores: number[]) =>
		json({ results: scores.map((relevance_score, index) => ({ index, relevance_score })) });

	it("has probabilities of logits, also of logits between 0 and 1", async () => {
		const output = await outputOf(ask("reranking", input, () => ranks(0, 1)));
		expect(output.ranks.map(({ id }) => id)).toEqual([1, 0]);
		expect(output.ranks[0]?.score).toBeCloseTo(0.7311, 4);
		expect(output.ranks[1]?.score).toBe(0.5);
	});

	it("shortens texts that are too long beside the query", async () => {
		const asking = ask("reranking", { query: "q", contexts: ["long", "b"] }, ({ url, json: body }) => {
			if (url.endsWith("/tokenize"))
				return json({ tokens: Array(body.content === "long" ? 100 : 1).fill(5) });
			if (url.endsWith("/detokenize")) return json({ content: `first ${(body.tokens as number[]).length}` });
			return JSON.stringify(body.documents).includes("long") ? tooLong(101, 40) : ranks(1, 2);
		});
		await outputOf(asking);
		expect(asking.call.requests.at(-1)?.json).toMatchObject({ query: "q", documents: ["first 31", "b"] });
	});
});
