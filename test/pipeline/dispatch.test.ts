import { describe, expect, it } from "vitest";
import type { Target } from "../../src/backends/backend.ts";
import type { AiError } from "../../src/errors.ts";
import { adHocModel } from "../../src/models/catalog.ts";
import { dispatch } from "../../src/pipeline/dispatch.ts";
import type { Plan } from "../../src/request.ts";
import type { TaskCall } from "../../src/tasks/task.ts";
import { completion } from "../gateway.ts";

const target = (backend: string): Target => ({
	backend,
	kind: "openai",
	url: `http://${backend}/v1`,
	model: "m",
	headers: {},
	timeouts: { headerMs: 1000, idleMs: 1000, totalMs: 1000 },
});
const CHAT: TaskCall = {
	task: "text-generation",
	input: { messages: [{ role: "user", content: "Hi" }], stream: false },
};

/** Asks backends by name, each answering with a status; tells who was asked and what was logged. */
async function walk(replies: Record<string, number>, call = CHAT, leaving = new AbortController()) {
	const asked: string[] = [];
	const logged: [string, number][] = [];
	const [first = target("none"), ...rest] = Object.keys(replies).map(target);
	const plan: Plan = [first, ...rest];
	const result = await dispatch(
		plan,
		call,
		{ model: adHocModel("m"), signal: leaving.signal, requestId: "id" },
		{
			fetch: async (input) => {
				const name = new URL(String(input)).hostname;
				asked.push(name);
				const status = replies[name] ?? 500;
				return status === 200 ? Response.json(completion(name)) : new Response("no", { status });
			},
			now: () => 0,
			uuid: () => "id",
			log: ({ code }, id) => logged.push([id, code]),
		},
	).catch((error: AiError) => error);
	return { asked, logged, result };
}

describe("dispatch", () => {
	it("stops at the first that answers", async () => {
		const { asked, logged, result } = await walk({ a: 200, b: 200 });
		expect(asked).toEqual(["a"]);
		expect(logged).toEqual([]);
		expect(result).toMatchObject({ backend: "a", answer: { task: "text-generation" } });
	});

	it("goes on from what another may do better, and leaves a trace of each", async () => {
		const { asked, logged, result } = await walk({ a: 503, b: 404, c: 500, d: 200 });
		expect(asked).toEqual(["a", "b", "c", "d"]);
		expect(logged).toEqual([
			["id", 3040],
			["id", 5007],
			["id", 5001],
		]);
		expect(result).toMatchObject({ backend: "d" });
	});

	it("ends with the last failure when nobody answers", async () => {
		const { logged, result } = await walk({ a: 500, b: 429 });
		expect(result).toMatchObject({ code: 3040 });
		expect(logged).toEqual([["id", 5001]]);
	});

	it("ends at once with what another would only repeat", async () => {
		const { asked, result } = await walk({ a: 400, b: 200 });
		expect(asked).toEqual(["a"]);
		expect(result).toMatchObject({ code: 8007 });
	});

	it("says which backend lacks the task, when all do", async () => {
		const audio = { bytes: new Uint8Array(1) };
		const { asked, result } = await walk({ a: 200 }, { task: "turn-detection", input: { audio } });
		expect(asked).toEqual([]);
		expect(result).toMatchObject({
			code: 5007,
			description: "No such model m or task: backend 'a' (openai) has no turn-detection",
		});
	});

	it("asks nobody for a caller who has left", async () => {
		const leaving = new AbortController();
		leaving.abort();
		const { asked, result } = await walk({ a: 200 }, CHAT, leaving);
		expect(asked).toEqual([]);
		expect(result).toMatchObject({ code: 3008 });
	});
});
