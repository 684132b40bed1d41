import OpenAI, { APIError } from "openai";
import { describe, expect, it, vi } from "vitest";
import type { Settlement } from "../../../src/accounts/admission.ts";
import { createApp } from "../../../src/app.ts";
import { bufferedBytes } from "../../../src/core/process-counts.ts";
import type { PipelineServices } from "../../../src/pipeline/services.ts";
import { readSteps } from "../../../src/surfaces/gateway/step.ts";
import { runSteps } from "../../../src/surfaces/gateway/steps.ts";
import { base64, png } from "../../dialects/samples.ts";
import {
	BASE,
	CALLER,
	ENGINE_VARS,
	OPEN_ACCESS,
	replaceServices,
	testGateway,
	testServices,
	upstream,
} from "../../gateway.ts";

const MODEL = "@cf/stabilityai/stable-diffusion-xl-base-1.0";
const SCHNELL = "@cf/black-forest-labs/flux-1-schnell";

type ImageEngine = (
	engineRequests: { seed?: number },
	signal: AbortSignal | null | undefined,
	url: string,
) => Promise<Response>;

const imageReply = (side: number): Response =>
	Response.json({ data: [{ b64_json: base64(png(side, side)) }] });

/** Records the requests to an image engine, and the settlements with the account. */
function imageGateway(paint: ImageEngine, vars: Record<string, unknown> = ENGINE_VARS) {
	const engineRequests: Record<string, unknown>[] = [];
	const settled: Settlement[] = [];
	const services = testServices({
		vars,
		fetch: async (url, init) => {
			const { body: sent } = init ?? {};
			const body = sent instanceof FormData ? Object.fromEntries(sent) : JSON.parse(String(sent));
			engineRequests.push(body);
			return paint(body, init?.signal, String(url));
		},
	});
	const ledgers: PipelineServices["ledgers"] = {
		of(account) {
			const ledger = services.ledgers.of(account);
			const settle = ledger.settle.bind(ledger);
			return Object.assign(ledger, {
				settle(settlement: Settlement) {
					settled.push(settlement);
					settle(settlement);
				},
			});
		},
	};
	const app = createApp(replaceServices(services, { ledgers }), OPEN_ACCESS);
	const send = async (body: object, headers: HeadersInit = {}) =>
		app.request(`${BASE}/v1/images/generations`, {
			method: "POST",
			body: JSON.stringify({ model: SCHNELL, prompt: "a fox", ...body }),
			headers,
		});
	const clientAt = (baseURL: string) =>
		new OpenAI({
			baseURL,
			apiKey: "none",
			maxRetries: 0,
			fetch: async (url, init) => app.request(String(url), init),
		});
	const client = clientAt(`${BASE}/v1`);
	return {
		client,
		clientAt,
		send,
		engineRequests,
		settled,
		services: replaceServices(services, { ledgers }),
	};
}

describe("several images of one request", () => {
	it("come as events, of which clients read the finished images", async () => {
		const { send, engineRequests } = imageGateway(async ({ seed = 0 }) => imageReply(seed));
		const completed = (side: number) => ({
			type: "image_generation.completed",
			b64_json: base64(png(side, side)),
			created_at: expect.any(Number),
			size: `${side}x${side}`,
			quality: "high",
			background: "auto",
			output_format: "png",
		});
		for (const [n, sides] of [
			[1, [5]],
			[2, [5, 6]],
		] as const) {
			const response = await send({ n, seed: 5, stream: true, partial_images: 2, quality: "high" });
			expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
			const events = (await response.text()).split("\n\n").filter(Boolean);
			expect(events.map((event) => event.split("\n")[0])).toEqual(
				sides.map(() => "event: image_generation.completed"),
			);
			expect(events.map((event) => JSON.parse(event.slice(event.indexOf("{"))))).toEqual(
				sides.map(completed),
			);
		}
		for (const request of engineRequests) {
			expect(request).not.toHaveProperty("stream");
			expect(request).not.toHaveProperty("partial_images");
		}
	});

	it("are separate requests, each charged, with consecutive seeds", async () => {
		const { send, engineRequests, settled } = imageGateway(async ({ seed = 0 }) => imageReply(seed));
		const one = await send({ seed: 5 });
		const [paid] = settled.splice(0);
		engineRequests.length = 0;
		const three = await send({ n: 3, seed: 5 });
		expect(await three.json()).toEqual({
			created: expect.any(Number),
			data: [5, 6, 7].map((side) => ({ b64_json: base64(png(side, side)) })),
		});
		expect(engineRequests.map(({ n, seed }) => [n, seed])).toEqual([
			[1, 5],
			[1, 6],
			[1, 7],
		]);
		expect(new Set(settled.map(({ ticket }) => ticket)).size).toBe(3);
		expect(settled.map(({ outcome, microNeurons }) => [outcome, microNeurons])).toEqual(
			Array(3).fill(["ok", paid?.microNeurons]),
		);
		expect(three.headers.get("x-ganglion-attempts")).toBe("3");
		expect(three.headers.get("cf-ai-req-id")).toBe(settled[0]?.ticket);
		const cost = (response: Response) => Number(response.headers.get("cf-ai-neurons"));
		expect(cost(one)).toBeGreaterThan(0);
		expect(cost(three)).toBeCloseTo(3 * cost(one), 1);
	});

	it("share no call, although the requests are identical", async () => {
		const { send, engineRequests } = imageGateway(async () => imageReply(4));
		const response = await send({ n: 2 }, { "x-ganglion-single-flight": "true" });
		expect((await response.json<{ data: unknown[] }>()).data).toHaveLength(2);
		expect(engineRequests).toHaveLength(2);
	});

	it("fail together: the first failure cancels the others, and nothing is charged", async () => {
		const stopped: unknown[] = [];
		const { send, settled } = imageGateway(async ({ seed }, signal) => {
			if (seed === 2) return Response.json({ error: { message: "no foxes" } }, { status: 400 });
			return new Promise((_, reject) => {
				signal?.addEventListener("abort", () => {
					stopped.push(seed);
					reject(signal.reason);
				});
			});
		});
		const response = await send({ n: 3, seed: 1 });
		expect(response.status).toBe(400);
		expect(await response.json()).toMatchObject({ errors: [{ code: 8007 }] });
		expect(stopped.sort()).toEqual([1, 3]);
		expect(settled.map(({ outcome, microNeurons }) => [outcome, microNeurons])).toEqual([
			["failed", 0],
			["cancelled", 0],
			["cancelled", 0],
		]);
	});

	it("are also available in a step of AI Gateway", async () => {
		const { services, settled } = imageGateway(async () => imageReply(4));
		const step = { provider: "workers-ai", endpoint: "v1/images/generations" };
		const steps = readSteps({ ...step, query: { model: SCHNELL, prompt: "a fox", n: 2 } });
		const { signal } = new AbortController();
		const response = await runSteps(() => steps, {
			caller: { ...CALLER },
			gateway: "default",
			options: {},
			source: { type: "Universal" },
			signal,
			services,
		});
		expect((await response.json<{ data: unknown[] }>()).data).toHaveLength(2);
		expect(settled).toHaveLength(2);
	});

	it("are limited to ten", async () => {
		const { send, engineRequests } = imageGateway(async () => imageReply(4));
		for (const n of [0, 11, 1.5, "2"]) expect((await send({ n })).status).toBe(400);
		expect(engineRequests).toEqual([]);
		expect((await send({ n: 10, model: MODEL })).status).toBe(200);
		expect(engineRequests).toHaveLength(10);
	});
});

const GPT_IMAGE = "gpt-image-2.6-sunburst";
/** Neurons of an image of 1024 by 1024 pixels: four tiles at 10. */
const NEURONS = 40;
const GPT_VARS = {
	BACKENDS: {
		openai: { kind: "openai", url: "https://api.openai.com/v1" },
		azure: { kind: "openai", url: "https://lab.openai.azure.com/openai/v1" },
	},
	ROUTES: {
		[GPT_IMAGE]: { targets: [{ backend: "openai" }, { backend: "azure" }], retries: { attempts: 1 } },
	},
	MODELS: {
		[GPT_IMAGE]: { task: "Text-to-Image", prices: [{ unit: "per 512x512 tile", neurons: 10 }] },
	},
};
const REFUSING = { refusing: { kind: "openai", url: "https://old.openai.azure.com/openai/v1" } };
const USAGE = {
	input_tokens: 14,
	input_tokens_details: { image_tokens: 0, text_tokens: 14 },
	output_tokens: 1772,
	output_tokens_details: { image_tokens: 1772, text_tokens: 0 },
	total_tokens: 1786,
};
const COMMON = { created_at: 1795780800, size: "1024x1024", quality: "medium", background: "opaque" };

/** An event as OpenAI sends it. */
const eventOf = (type: string, side: number, others: object): string =>
	`event: ${type}\ndata: ${JSON.stringify({ type, ...COMMON, output_format: "png", b64_json: base64(png(side, side)), ...others })}\n\n`;
const partial = (index: number, operation = "image_generation"): string =>
	eventOf(`${operation}.partial_image`, index + 1, { partial_image_index: index });
const completed = (operation = "image_generation"): string =>
	eventOf(`${operation}.completed`, 8, { usage: USAGE });

/** A stream that a test writes. */
function openStream() {
	const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
	const writer = writable.getWriter();
	const response = new Response(readable, { headers: { "content-type": "text/event-stream" } });
	return {
		response,
		send: (text: string) => writer.write(new TextEncoder().encode(text)),
		close: () => writer.close(),
	};
}

const streamOf = (...events: string[]): Response =>
	new Response(events.join(""), { headers: { "content-type": "text/event-stream; charset=utf-8" } });

const REQUEST = { model: GPT_IMAGE, prompt: "a fox", stream: true, partial_images: 2 } as const;

async function collect<Item>(stream: AsyncIterable<Item>): Promise<Item[]> {
	const items: Item[] = [];
	for await (const item of stream) items.push(item);
	return items;
}

const ends = (settled: readonly Settlement[]) =>
	settled.map(({ outcome, microNeurons }) => [outcome, microNeurons / 1_000_000]);

describe("unfinished images", () => {
	it.each([
		[`${BASE}/v1`, GPT_IMAGE],
		["http://gateway/v1/local/default/compat", `workers-ai/${GPT_IMAGE}`],
		["http://gateway/v1/local/default/workers-ai/v1", GPT_IMAGE],
	])(
		"of %s reach the caller when the engine sends them, and are billed once at the end",
		async (base, model) => {
			const engine = openStream();
			const { clientAt, engineRequests, settled } = imageGateway(async () => engine.response, GPT_VARS);
			void engine.send(partial(0));
			const stream = await clientAt(base).images.generate({ ...REQUEST, model });
			expect(engineRequests).toEqual([
				{
					model: GPT_IMAGE,
					prompt: "a fox",
					n: 1,
					size: "1024x1024",
					output_format: "png",
					stream: true,
					partial_images: 2,
				},
			]);
			const events = stream[Symbol.asyncIterator]();
			const facts = { size: "1x1", quality: "medium", background: "opaque", output_format: "png" };
			const created_at = expect.any(Number);
			expect((await events.next()).value).toEqual({
				type: "image_generation.partial_image",
				b64_json: base64(png(1, 1)),
				partial_image_index: 0,
				created_at,
				...facts,
			});
			expect(settled).toEqual([]);
			void engine.send(`: keep-alive\n\n${partial(1)}`);
			expect((await events.next()).value).toMatchObject({ partial_image_index: 1, size: "2x2" });
			void engine.send(completed());
			expect((await events.next()).value).toEqual({
				type: "image_generation.completed",
				b64_json: base64(png(8, 8)),
				created_at,
				...facts,
				size: "8x8",
				usage: USAGE,
			});
			void engine.close();
			expect((await events.next()).done).toBe(true);
			expect(ends(settled)).toEqual([["ok", NEURONS]]);
		},
	);

	it("of edits have the names of edits", async () => {
		const edit = (index: number) => partial(index, "image_edit");
		const { client, engineRequests, settled } = imageGateway(
			async (_, __, url) =>
				url.endsWith("/images/edits")
					? streamOf(edit(0), completed("image_edit"))
					: new Response(null, { status: 404 }),
			GPT_VARS,
		);
		const image = new File([png(16, 16)], "fox.png", { type: "image/png" });
		const stream = await client.images.edit({ ...REQUEST, image });
		expect(await collect(stream)).toMatchObject([
			{ type: "image_edit.partial_image", partial_image_index: 0, size: "1x1" },
			{ type: "image_edit.completed", size: "8x8", usage: USAGE },
		]);
		expect(engineRequests).toMatchObject([{ stream: "true", partial_images: "2", size: "16x16" }]);
		expect(ends(settled)).toEqual([["ok", NEURONS / 4]]);
	});

	it("end with the caller, who pays for an image that has begun", async () => {
		let upstream: AbortSignal | null | undefined;
		const engine = openStream();
		const { client, settled } = imageGateway(async (_, signal) => {
			upstream = signal;
			return engine.response;
		}, GPT_VARS);
		void engine.send(partial(0)).catch(() => {});
		const stream = await client.images.generate(REQUEST);
		for await (const _ of stream) break;
		expect(upstream?.aborted).toBe(true);
		expect(ends(settled)).toEqual([["cancelled", NEURONS]]);
	});

	it.each([
		["refuses", () => Response.json({ error: { message: "Rate limit reached" } }, { status: 429 })],
		["ends without an event", () => streamOf(": keep-alive\n\n")],
		[
			"begins with an error",
			() => streamOf('event: error\ndata: {"type":"error","error":{"code":"server_error"}}\n\n'),
		],
	])("come from the next engine if the first %s", async (_, fail) => {
		const { client, engineRequests, settled } = imageGateway(
			async (_, __, url) => (url.startsWith("https://lab.") ? streamOf(completed()) : fail()),
			GPT_VARS,
		);
		const events = await collect(await client.images.generate(REQUEST));
		expect(events).toMatchObject([{ type: "image_generation.completed", usage: USAGE }]);
		expect(engineRequests).toHaveLength(2);
		expect(ends(settled)).toEqual([["ok", NEURONS]]);
	});

	it.each([
		["breaks off", ""],
		["sends a broken event", "data: {\n\n"],
		["sends an event that is no image", partial(1).replace(/"b64_json":"[^"]*"/, '"b64_json":"AAAA"')],
		["sends an error", 'data: {"error":{"message":"The server had an error","type":"server_error"}}\n\n'],
	])("end with an error, and cost nothing, if the engine %s", async (_, end) => {
		const { client, settled } = imageGateway(async () => streamOf(partial(0), end), GPT_VARS);
		const stream = await client.images.generate(REQUEST);
		const received: unknown[] = [];
		const reading = (async () => {
			for await (const event of stream) received.push(event);
		})();
		await expect(reading).rejects.toBeInstanceOf(APIError);
		expect(received).toMatchObject([{ partial_image_index: 0 }]);
		expect(ends(settled)).toEqual([["interrupted", 0]]);
	});

	it("are one event if the engine answers with a value, and it has no stream afterwards if it refuses one", async () => {
		const whole = () =>
			Response.json({ created: 1, data: [{ b64_json: base64(png(8, 8)) }], quality: "high", usage: USAGE });
		const value = imageGateway(async () => whole(), GPT_VARS);
		const expected = [{ type: "image_generation.completed", quality: "high", usage: USAGE, size: "8x8" }];
		expect(await collect(await value.client.images.generate(REQUEST))).toMatchObject(expected);

		const { client, engineRequests, settled } = imageGateway(
			async (body) =>
				"stream" in body
					? Response.json({ error: { message: "Unknown parameter: 'stream'." } }, { status: 400 })
					: whole(),
			// A backend of its own, because the isolate remembers the refusal.
			{ ...GPT_VARS, ROUTES: { [GPT_IMAGE]: [{ backend: "refusing" }] }, BACKENDS: REFUSING },
		);
		for (const _ of [1, 2])
			expect(await collect(await client.images.generate(REQUEST))).toMatchObject(expected);
		expect(engineRequests.map((body) => "stream" in body)).toEqual([true, false, false]);
		expect(ends(settled)).toEqual([
			["ok", NEURONS],
			["ok", NEURONS],
		]);
	});

	it("are not requested without a stream, and a whole answer has the engine's usage", async () => {
		const { client, engineRequests } = imageGateway(
			async () => Response.json({ data: [{ b64_json: base64(png(8, 8)) }], usage: USAGE }),
			GPT_VARS,
		);
		const request = { model: GPT_IMAGE, prompt: "a fox" };
		expect((await client.images.generate(request)).usage).toEqual(USAGE);
		expect((await client.images.generate({ ...request, n: 2 })).usage).toEqual({
			input_tokens: 28,
			output_tokens: 3544,
			total_tokens: 3572,
		});
		expect(engineRequests.some((body) => "stream" in body || "partial_images" in body)).toBe(false);
	});

	it("count as buffered bytes until the request ends", async () => {
		const used = (): number => bufferedBytes.report().used;
		const before = used();
		const engine = openStream();
		const { client } = imageGateway(async () => engine.response, GPT_VARS);
		void engine.send(partial(0));
		const events = (await client.images.generate(REQUEST))[Symbol.asyncIterator]();
		await events.next();
		const large = base64(new Uint8Array([...png(8, 8), ...new Uint8Array(60_000)]));
		const event = eventOf("image_generation.completed", 8, { b64_json: large });
		const half = 40_000;
		const last = events.next();
		await engine.send(event.slice(0, half));
		await vi.waitFor(() => expect(used() - before).toBe(half));
		void engine.send(event.slice(half));
		expect((await last).value).toMatchObject({ type: "image_generation.completed", b64_json: large });
		void engine.close();
		expect((await events.next()).done).toBe(true);
		expect(used()).toBe(before);
	});
});

describe("images of a model with prices for tokens", () => {
	const MODEL = "openai/gpt-image-2";
	const vars = {
		BACKENDS: { openai: { kind: "openai", url: "https://api.openai.com/v1" } },
		ROUTES: { [MODEL]: [{ backend: "openai", model: "gpt-image-2" }] },
	};
	const generate = async (usage: object | undefined, fields: object = {}) => {
		const { fetch } = upstream(() =>
			Response.json({ data: [{ b64_json: base64(png(8, 8)) }], ...(usage && { usage }) }),
		);
		const body = { model: MODEL, prompt: "a fox", size: "1024x1024", ...fields };
		const response = await testGateway({ vars, fetch }).post("/v1/images/generations", body);
		return { neurons: response.headers.get("cf-ai-neurons"), reply: await response.json() };
	};

	it("are billed by the host's counts, and the answer has them", async () => {
		const { neurons, reply } = await generate(USAGE);
		// (14 * 5 + 1772 * 30) / 1,000,000 dollars, at 0.011 dollars for a thousand
		expect(neurons).toBe("4839.09");
		expect(reply).toMatchObject({ usage: USAGE });
	});

	it.each([
		["low", "741.81"],
		["medium", "2880"],
		["high", "11345.45"],
		["constructor", "2880"],
		["__proto__", "2880"],
	])("are billed by their size and quality if the host does not count: %s", async (quality, expected) => {
		// 272, 1056 or 4160 tokens at 30 dollars a million, besides the prompt
		const { neurons } = await generate(undefined, { quality });
		expect(Number(neurons) - Number(expected)).toBeGreaterThan(0);
		expect(Number(neurons) - Number(expected)).toBeLessThan(5);
	});

	it.each([undefined, "constructor"])(
		"reserve those of the best quality if the quality is %s",
		async (quality) => {
			const body = { prompt: "a fox", width: 1024, height: 1024, ...(quality && { quality }) };
			const { post } = testGateway({ vars });
			const explained = await post(`/explain/${MODEL}`, body);
			const { result } = await explained.json<{ result: { estimate: { neurons: number } } }>();
			// 4160 tokens
			expect(result.estimate.neurons).toBeGreaterThan(11_345.45);
		},
	);
});
