/** Responses that continue others, over OpenAI's address. */
import { describe, expect, it } from "vitest";
import {
	completion,
	DONE,
	delta,
	ENGINE_VARS,
	events,
	finish,
	testGateway,
	upstream,
	usage,
} from "../gateway.ts";

const MODEL = "@cf/openai/gpt-oss-120b";

function engine(reply: () => Response = () => Response.json(completion("Hello"))) {
	const { fetch, requests } = upstream(() => reply());
	const gateway = testGateway({ vars: ENGINE_VARS, fetch });
	return {
		...gateway,
		requests,
		create: async (fields: object) => {
			const response = await gateway.post("/v1/responses", { model: MODEL, ...fields });
			return { status: response.status, body: await response.json<Record<string, unknown>>() };
		},
		messages: async (index: number) => (await requests[index]?.json<{ messages: unknown[] }>())?.messages,
	};
}

describe("previous_response_id", () => {
	it("sends the earlier input and output to the engine, without the earlier instructions", async () => {
		const { create, messages } = engine();
		const first = await create({ input: "My name is Ada.", instructions: "Be brief." });
		expect(first.body).toMatchObject({ status: "completed", store: true, previous_response_id: null });
		expect(first.body.id).toMatch(/^resp_[0-9a-f]{32}$/);
		const second = await create({ input: "What is my name?", previous_response_id: first.body.id });
		expect(second.body).toMatchObject({ status: "completed", previous_response_id: first.body.id });
		expect(await messages(1)).toEqual([
			{ role: "user", content: "My name is Ada." },
			{ role: "assistant", content: "Hello" },
			{ role: "user", content: "What is my name?" },
		]);
	});

	it("streams", async () => {
		const { create, messages, post } = engine(() =>
			events(delta("He"), delta("llo"), finish(), usage(), DONE),
		);
		const response = await post("/v1/responses", { model: MODEL, input: "Hi", stream: true });
		const text = await response.text();
		const id = /"id":"(resp_[0-9a-f]{32})"/.exec(text)?.[1];
		expect(text).toContain('"store":true');
		expect(text.match(/"id":"resp_/g)).toHaveLength(3);
		const next = await post("/v1/responses", {
			model: MODEL,
			input: "And?",
			previous_response_id: id,
			stream: true,
		});
		await next.text();
		expect(await messages(1)).toEqual([
			{ role: "user", content: "Hi" },
			{ role: "assistant", content: "Hello" },
			{ role: "user", content: "And?" },
		]);
		expect(await create({ input: "x", previous_response_id: "resp_0" })).toMatchObject({
			status: 400,
			body: {
				error: {
					code: "previous_response_not_found",
					message: "Previous response with id 'resp_0' not found.",
					param: "previous_response_id",
					type: "invalid_request_error",
				},
			},
		});
	});
});
