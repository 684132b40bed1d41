/** Fields of engines that OpenAI does not have, from each chat route to the engine. */
import { describe, expect, it } from "vitest";
import { completion, ENGINE_VARS, testGateway, upstream } from "../../gateway.ts";

const MODEL = "acme/model";
const MESSAGES = [{ role: "user", content: "Hi" }];
const SAMPLING = {
	min_p: 0.05,
	mirostat: 2,
	mirostat_tau: 5,
	mirostat_eta: 0.1,
	grammar: 'root ::= "yes" | "no"',
	typical_p: 0.9,
	guided_choice: ["yes", "no"],
	guided_regex: "yes|no",
	guided_grammar: 'root ::= "yes"',
	structured_outputs: { choice: ["yes", "no"] },
	regex: "yes|no",
	ebnf: 'root ::= "yes"',
	bad_words: ["maybe"],
	stop_token_ids: [1, 2],
	min_tokens: 2,
	ignore_eos: true,
};
const SCHEMA = { type: "object", properties: { yes: { type: "boolean" } }, required: ["yes"] };

const PATHS = ["/v1/chat/completions", "/v1/completions", `/run/${MODEL}`];

const TEXT_COMPLETION = {
	object: "text_completion",
	choices: [{ index: 0, text: "yes", finish_reason: "stop" }],
	usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};

async function sentBy(path: string, fields: object, url?: string): Promise<Record<string, unknown>> {
	const { fetch, requests } = upstream((request) =>
		Response.json(request.url.endsWith("/v1/completions") ? TEXT_COMPLETION : completion('{"yes":true}')),
	);
	const vars = {
		...ENGINE_VARS,
		...(url !== undefined && { BACKENDS: { engine: { kind: "openai", url, key: "ENGINE_KEY" } } }),
		ROUTES: { [MODEL]: [{ backend: "engine", model: "m" }] },
	};
	const { post } = testGateway({ vars, fetch });
	const input = path.endsWith("/v1/completions") ? { prompt: "Hi" } : { messages: MESSAGES };
	const response = await post(path, { model: MODEL, ...input, ...fields });
	expect(response.status, await response.clone().text()).toBe(200);
	return (await requests[0]?.json()) ?? {};
}

describe.each(PATHS)("%s", (path) => {
	it("sends an engine's own sampling fields to the engine", async () => {
		expect(await sentBy(path, SAMPLING)).toMatchObject(SAMPLING);
	});

	it.each(["https://api.openai.com/v1", "https://api.fireworks.ai/inference/v1"])(
		"omits them for the hosted service %s",
		async (url) => {
			const sent = await sentBy(path, { ...SAMPLING, top_k: -1 }, url);
			for (const field of [...Object.keys(SAMPLING), "top_k"]) expect(sent).not.toHaveProperty(field);
		},
	);

	it.each([-1, 0, 40])("sends the engine a top_k of %i", async (top_k) => {
		expect(await sentBy(path, { top_k })).toMatchObject({ top_k });
	});
});

describe.each(["/v1/chat/completions", `/run/${MODEL}`])("%s", (path) => {
	it("passes a json_object without a schema unchanged", async () => {
		const sent = await sentBy(path, { response_format: { type: "json_object" } });
		expect(sent.response_format).toEqual({ type: "json_object" });
	});
});

describe("/v1/chat/completions", () => {
	it("reads the schema of llama.cpp's json_object, and sends it as OpenAI's", async () => {
		const sent = await sentBy("/v1/chat/completions", {
			response_format: { type: "json_object", schema: SCHEMA },
		});
		expect(sent.response_format).toMatchObject({
			type: "json_schema",
			json_schema: { schema: SCHEMA },
		});
	});
});
