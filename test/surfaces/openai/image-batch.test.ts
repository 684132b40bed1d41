import { describe, expect, it } from "vitest";
import type { Settlement } from "../../../src/accounts/admission.ts";
import { createApp } from "../../../src/app.ts";
import type { PipelineServices } from "../../../src/pipeline/services.ts";
import { readSteps } from "../../../src/surfaces/gateway/step.ts";
import { runSteps } from "../../../src/surfaces/gateway/steps.ts";
import { base64, png } from "../../dialects/samples.ts";
import { BASE, CALLER, ENGINE_VARS, OPEN_ACCESS, replaceServices, testServices } from "../../gateway.ts";

const MODEL = "@cf/stabilityai/stable-diffusion-xl-base-1.0";
const SCHNELL = "@cf/black-forest-labs/flux-1-schnell";

type ImageEngine = (
	engineRequests: { seed?: number },
	signal: AbortSignal | null | undefined,
) => Promise<Response>;

const imageReply = (side: number): Response =>
	Response.json({ data: [{ b64_json: base64(png(side, side)) }] });

/** Records the requests to an image engine, and the settlements with the account. */
function imageGateway(paint: ImageEngine) {
	const engineRequests: { seed?: number; n: number }[] = [];
	const settled: Settlement[] = [];
	const services = testServices({
		vars: ENGINE_VARS,
		fetch: async (_, init) => {
			const body = JSON.parse(String(init?.body));
			engineRequests.push(body);
			return paint(body, init?.signal);
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
	return { send, engineRequests, settled, services: replaceServices(services, { ledgers }) };
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
