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
};
const SCHEMA = { type: "object", properties: { yes: { type: "boolean" } }, required: ["yes"] };

const PATHS = ["/v1/chat/completions", `/run/${MODEL}`];

async function sentBy(path: string, fields: object, url?: string): Promise<Record<string, unknown>> {
	const { fetch, requests } = upstream(() => Response.json(completion('{"yes":true}')));
	const vars = {
		...ENGINE_VARS,
		...(url !== undefined && { BACKENDS: { engine: { kind: "openai", url, key: "ENGINE_KEY" } } }),
		ROUTES: { [MODEL]: [{ backend: "engine", model: "m" }] },
	};
	const { post } = testGateway({ vars, fetch });
	const response = await post(path, { model: MODEL, messages: MESSAGES, ...fields });
	expect(response.status, await response.clone().text()).toBe(200);
	return (await requests[0]?.json()) ?? {};
}

describe.each(PATHS)("%s", (path) => {
	it("sends an engine's own sampling fields to the engine", async () => {
		expect(await sentBy(path, SAMPLING)).toMatchObject(SAMPLING);
	});

	it("omits them for a hosted service", async () => {
		const sent = await sentBy(path, SAMPLING, "https://api.openai.com/v1");
		for (const field of Object.keys(SAMPLING)) expect(sent).not.toHaveProperty(field);
	});

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
