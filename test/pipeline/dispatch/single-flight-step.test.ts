import { describe, expect, it } from "vitest";
import { singleFlight } from "../../../src/pipeline/dispatch/single-flight-step.ts";
import type { AnswerRequest } from "../../../src/pipeline/prepare.ts";
import type { EngineAnswer } from "../../../src/pipeline/request.ts";
import type { TaskCall } from "../../../src/tasks/task.ts";

const call = (stream: boolean): TaskCall => ({
	task: "text-generation",
	input: { messages: [{ role: "user", content: "Hi" }], stream },
});
const WASTED = {
	why: "hedge",
	backend: "b",
	model: "m",
	progress: { usage: undefined, outputTokens: 1 },
} as const;
const ANSWERED = {
	call: call(false),
	answer: { task: "text-generation", answer: { kind: "value", output: { id: "1" } } },
	served: { backend: "a", model: "m", attempts: 2, wasted: [WASTED] },
} as unknown as EngineAnswer;

/** The step in front of an engine. `owner`: whether the request owns the shared answer. */
async function step({ stream = false, owner = true } = {}) {
	const keys: string[] = [];
	const nexts: AnswerRequest[] = [];
	const shared = new AbortController().signal;
	const services = {
		flights: {
			join: async (
				key: string,
				_: AbortSignal,
				__: object,
				work: (signal: AbortSignal) => Promise<EngineAnswer>,
			) => {
				keys.push(key);
				return { owner, value: await work(shared) };
			},
		},
	} as unknown as Parameters<typeof singleFlight>[1];
	const request = {
		request: { options: { singleFlight: true }, caller: { account: "acme" } },
		model: { id: "m" },
		call: call(stream),
		signal: new AbortController().signal,
	} as unknown as AnswerRequest;
	const answer = await singleFlight(request, services, async (next) => {
		nexts.push(next);
		return ANSWERED;
	});
	return { answer, keys, nexts, request, shared };
}

describe("the step of shared answers", () => {
	it("passes on a stream", async () => {
		const { answer, keys, nexts, request } = await step({ stream: true });
		expect(keys).toEqual([]);
		expect(nexts).toEqual([request]);
		expect(answer).toBe(ANSWERED);
	});

	it("gives the owner its answer, under the shared signal", async () => {
		const { answer, keys, nexts, shared } = await step();
		expect(keys).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
		expect(nexts.map(({ signal }) => signal)).toEqual([shared]);
		expect(answer).toBe(ANSWERED);
	});

	it("gives the others a copy that costs nothing more", async () => {
		const { answer } = await step({ owner: false });
		expect(answer).toEqual({
			...ANSWERED,
			served: { backend: "a", model: "m", attempts: 2, wasted: [], shared: true },
		});
		expect(answer.answer).not.toBe(ANSWERED.answer);
	});
});
