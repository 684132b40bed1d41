/**
 * Replies that engines send in other forms than OpenAI's, whole and streamed, as every interface shows them. The expected answers
 * are what a client needs: the text, the reasoning, the calls with their arguments, and why the answer ended.
 */
import { describe, expect, it } from "vitest";
import { wireOf } from "../../src/surfaces/binding/binding.ts";
import { CALLER, testGateway, testServices, upstream } from "../gateway.ts";
import {
	type ExpectedAnswer,
	ODD_FAILURES,
	ODD_STREAMS,
	ODD_VALUES,
	type OddReply,
} from "./odd-replies/cases.ts";
import { READERS, type Surface } from "./odd-replies/readers.ts";

const MODEL = "acme/llama-4";
const VARS = {
	BACKENDS: { engine: { kind: "openai", url: "http://engine/v1" } },
	ROUTES: { [MODEL]: [{ backend: "engine", model: "llama-4-scout" }] },
	MODELS: { [MODEL]: { task: "Text Generation", capabilities: ["function_calling", "reasoning"] } },
};

const respond = ({ body, type }: OddReply) =>
	upstream(() => new Response(body, { headers: { "content-type": type } }));

async function call(surface: Surface, stream: boolean, reply: OddReply): Promise<Response> {
	const { fetch } = respond(reply);
	const { path, body } = READERS[surface].request(MODEL, stream);
	if (surface !== "binding") return testGateway({ vars: VARS, fetch }).post(path, body);
	return wireOf(testServices({ vars: VARS, fetch })).fetch(
		new Request("https://workers-binding.ai/run?version=3", {
			method: "POST",
			headers: {
				"content-type": "application/json",
				"cf-consn-sdk-version": "2.0.0",
				"cf-consn-model-id": MODEL,
			},
			body: JSON.stringify({ inputs: body, options: {} }),
		}),
		{ caller: CALLER },
	);
}

const DIALECTS: ReadonlySet<Surface> = new Set(["Messages", "Responses", "Gemini"]);
const SURFACES = Object.keys(READERS) as Surface[];

async function expectAnswer(surface: Surface, stream: boolean, reply: OddReply): Promise<void> {
	const response = await call(surface, stream, reply);
	const text = await response.text();
	expect({ status: response.status, text: response.ok ? "" : text }).toEqual({ status: 200, text: "" });
	const { read, omits = [] } = READERS[surface];
	const expected: Partial<ExpectedAnswer> = { ...reply.answer };
	for (const field of omits) delete expected[field];
	expect(read(text, stream)).toEqual(expected);
}

describe.each(SURFACES)("on %s", (surface) => {
	it.each(ODD_STREAMS.map((reply) => [reply.name, reply] as const))("a stream: %s", (_, reply) =>
		expectAnswer(surface, true, reply),
	);
	it.each(ODD_VALUES.map((reply) => [reply.name, reply] as const))("a value: %s", (_, reply) =>
		expectAnswer(surface, false, reply),
	);
	it.each(ODD_VALUES.map((reply) => [reply.name, reply] as const))(
		"a value in answer to a request for a stream: %s",
		(_, reply) => expectAnswer(surface, true, reply),
	);
	it.each(ODD_STREAMS.map((reply) => [reply.name, reply] as const))(
		"a stream in answer to a request for a value: %s",
		(_, reply) => expectAnswer(surface, false, reply),
	);
	it.each(ODD_FAILURES.map((failure) => [failure.name, failure] as const))(
		"a failure: %s",
		async (_, { status, statusOfDialects = status, sentence, ...reply }) => {
			const response = await call(surface, reply.type === "text/event-stream", { ...reply, answer: {} });
			expect(response.status).toBe(DIALECTS.has(surface) ? statusOfDialects : status);
			expect(await response.text()).toContain(sentence);
		},
	);
});
