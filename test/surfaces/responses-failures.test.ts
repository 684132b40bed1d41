/**
 * Errors that OpenAI's Responses API sends in an answer with status 200, or in the events of a stream: the codes of
 * https://platform.openai.com/docs/api-reference/responses/object#responses/object-error.
 */
import { describe, expect, it } from "vitest";
import { testGateway } from "../gateway.ts";

const KEY = "sk-openai-test";
const MODEL = "gpt-6-astra";
const RESPONSE = { id: "resp_1", object: "response", created_at: 1, model: MODEL, output: [], usage: null };

interface ResponseError {
	code: string;
	message: string;
	type?: string;
}

const failed = (error: ResponseError) => ({ ...RESPONSE, status: "failed", error });

const eventStream = (events: readonly object[]): Response =>
	new Response(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""), {
		headers: { "content-type": "text/event-stream" },
	});

const started = {
	type: "response.created",
	sequence_number: 0,
	response: { ...RESPONSE, status: "in_progress" },
};

const wholeReply = (error: ResponseError) => Response.json(failed(error));
const failedEvent = (error: ResponseError) =>
	eventStream([started, { type: "response.failed", sequence_number: 1, response: failed(error) }]);
const errorEvent = (error: ResponseError) =>
	eventStream([started, { ...error, type: "error", sequence_number: 1, param: null }]);

function gateway(answer: () => Response) {
	return testGateway({
		vars: {
			BACKENDS: { openai: { kind: "openai", url: "https://api.openai.com/v1", key: "OPENAI_KEY" } },
			ROUTES: { "gpt-*": { targets: [{ backend: "openai" }], retries: { attempts: 1 } } },
			OPENAI_KEY: KEY,
		},
		fetch: async () => answer(),
	});
}

const TOOL = { type: "function", function: { name: "weather" } };

/** A request that only Responses accepts. */
const chat = (stream: boolean) => ({
	model: MODEL,
	stream,
	tools: [TOOL],
	messages: [{ role: "user", content: "Weather?" }],
});

const STATUSES: [code: string, status: number][] = [
	["server_error", 500],
	["rate_limit_exceeded", 429],
	["invalid_prompt", 400],
	["data_residency_mismatch", 400],
	["bio_policy", 400],
	["misalignment_policy_violation", 400],
	["vector_store_timeout", 408],
	["invalid_image", 400],
	["invalid_image_format", 400],
	["invalid_base64_image", 400],
	["invalid_image_url", 400],
	["image_too_large", 400],
	["image_too_small", 400],
	["image_parse_error", 400],
	["image_content_policy_violation", 400],
	["invalid_image_mode", 400],
	["image_file_too_large", 400],
	["unsupported_image_media_type", 400],
	["empty_image_file", 400],
	["failed_to_download_image", 400],
	["image_file_not_found", 400],
];

describe.each(STATUSES)("the code %s", (code, status) => {
	const error = { code, message: "The sentence of the service." };

	it.each([
		["a complete reply", false, wholeReply],
		["a failed response", true, failedEvent],
		["an event", true, errorEvent],
	])(`in %s is status ${status}`, async (_, stream, answer) => {
		const response = await gateway(() => answer(error)).post("/v1/chat/completions", chat(stream));
		const text = await response.text();
		expect([response.status, text]).toEqual([status, text]);
		// What a service writes about itself does not reach callers.
		expect(text.includes(error.message)).toBe(status === 400);
	});
});

describe("an error after the first output", () => {
	const events = [
		started,
		{
			type: "response.output_text.delta",
			sequence_number: 1,
			output_index: 0,
			content_index: 0,
			delta: "Hi",
		},
		{
			type: "error",
			sequence_number: 2,
			code: "invalid_prompt",
			message: "Flagged.",
			param: null,
		},
	];

	it("is an error chunk, and the stream has no [DONE]", async () => {
		const response = await gateway(() => eventStream(events)).post("/v1/chat/completions", chat(true));
		const text = await response.text();
		expect(response.status).toBe(200);
		expect(text).toContain('"content":"Hi"');
		expect(text).toContain(': Flagged."');
		expect(text).not.toContain("[DONE]");
	});
});
