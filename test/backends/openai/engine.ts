/** An OpenAI-compatible engine of recorded replies, which is held to JSON schemas as a grammar would hold one. */
import chatJson from "../../fixtures/openai/llama-cpp/chat.json?raw";
import chatSse from "../../fixtures/openai/llama-cpp/chat.sse?raw";
import twoChoicesSse from "../../fixtures/openai/llama-cpp/chat-two-choices.sse?raw";
import completionJson from "../../fixtures/openai/llama-cpp/completion.json?raw";
import completionSse from "../../fixtures/openai/llama-cpp/completion.sse?raw";
import embeddings from "../../fixtures/openai/llama-cpp/embeddings.json?raw";
import rerank from "../../fixtures/openai/llama-cpp/rerank.json?raw";
import words from "../../fixtures/openai/openai/transcription-words.json?raw";
import vllmTools from "../../fixtures/openai/vllm/tools.json?raw";
import { eventStream, inPieces, json, type SentRequest, TARGET } from "../upstream.ts";

interface JsonSchema {
	type?: string;
	properties?: Record<string, JsonSchema>;
	items?: JsonSchema;
	minimum?: number;
	maximum?: number;
}

/** Some value of the schema: what a grammar leaves a model no choice but to write. */
function sampleOf(schema: JsonSchema): unknown {
	switch (schema.type) {
		case "object":
			return Object.fromEntries(
				Object.entries(schema.properties ?? {}).map(([name, property]) => [name, sampleOf(property)]),
			);
		case "array":
			return [sampleOf(schema.items ?? {})];
		case "integer":
			return Math.ceil(((schema.minimum ?? 0) + (schema.maximum ?? 100)) / 2);
		case "boolean":
			return true;
		default:
			return "text";
	}
}

const PNG_BASE64 = "iVBORw0KGgo=";

/** Pieces that end inside events, as networks have them. */
const streamed = (text: string) => {
	const bytes = new TextEncoder().encode(text);
	return eventStream(
		inPieces(
			bytes,
			Array.from({ length: Math.floor(bytes.length / 97) }, (_, place) => place * 97),
		),
	);
};

function chat({ json: body }: SentRequest): Response {
	if (body.stream) return streamed(body.n === 2 ? twoChoicesSse : chatSse);
	const reply = JSON.parse(chatJson);
	const [choice] = reply.choices;
	if (body.n === 2) return json({ ...reply, choices: [choice, { ...choice, index: 1 }] });
	if (body.tools) {
		const called = JSON.parse(vllmTools);
		called.choices[0].message.tool_calls[0].function = { name: "greet", arguments: '{"name":"Alice"}' };
		return json(called);
	}
	const format = body.response_format as { json_schema: { schema: JsonSchema } } | undefined;
	if (!format) return json(reply);
	const content = JSON.stringify(sampleOf(format.json_schema.schema));
	return json({ ...reply, choices: [{ ...choice, message: { role: "assistant", content } }] });
}

function engine(asked: SentRequest): Response {
	switch (asked.url.replace(TARGET.url, "")) {
		case "/chat/completions":
			return chat(asked);
		case "/completions":
			return asked.json.stream ? streamed(completionSse) : json(completionJson);
		case "/embeddings":
			return json(embeddings);
		case "/rerank":
			return json(rerank);
		case "/moderations":
			return json({
				id: "modr-1",
				model: "omni-moderation-2024-09-26",
				results: (asked.json.input as unknown[]).map(() => ({
					flagged: false,
					categories: { hate: false, "self-harm": false },
					category_scores: { hate: 0.01, "self-harm": 0.002 },
					category_applied_input_types: { hate: ["text"], "self-harm": ["text"] },
				})),
			});
		case "/audio/transcriptions":
			return json(words);
		case "/audio/speech":
			return new Response("ID3", { headers: { "content-type": "audio/mpeg" } });
		case "/images/generations":
			return json({ data: [{ b64_json: PNG_BASE64 }] });
		default:
			return json({ error: { message: "File Not Found", type: "not_found_error", code: 404 } }, 404);
	}
}

/** A box in the middle has no area: the objects of this engine are given one. */
export function openAiEngine(asked: SentRequest): Response | Promise<Response> {
	if (!JSON.stringify(asked.json.response_format ?? "").includes("xmin")) return engine(asked);
	const objects = [{ label: "cat", percent: 50, xmin: 0, ymin: 0, xmax: 500, ymax: 1000 }];
	const reply = JSON.parse(chatJson);
	reply.choices[0].message.content = JSON.stringify({ objects });
	return json(reply);
}
