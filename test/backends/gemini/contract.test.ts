import { gemini } from "../../../src/backends/gemini/index.ts";
import chatJson from "../../fixtures/gemini/chat.json?raw";
import chatSse from "../../fixtures/gemini/chat.sse?raw";
import twoJson from "../../fixtures/gemini/chat-two.json?raw";
import twoSse from "../../fixtures/gemini/chat-two.sse?raw";
import embeddings from "../../fixtures/gemini/embeddings.json?raw";
import image from "../../fixtures/gemini/image.json?raw";
import jsonSchema from "../../fixtures/gemini/json-schema.json?raw";
import toolsJson from "../../fixtures/gemini/tools.json?raw";
import { describeBackend } from "../contract.ts";
import { eventStream, inPieces, json, type SentRequest, servicesOf, TARGET } from "../upstream.ts";
import { GOOGLE, KEY } from "./ask.ts";

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

interface Body {
	generationConfig?: { candidateCount?: number; responseJsonSchema?: unknown; responseModalities?: string[] };
	tools?: unknown;
}

/** The recorded call, under the name and with the arguments that the case asks for. */
function greeting(): Response {
	const reply = JSON.parse(toolsJson);
	const [part] = reply.candidates[0].content.parts;
	part.functionCall = { name: "greet", args: { name: "Alice" } };
	reply.candidates[0].content.parts = [part];
	return json(reply);
}

function google({ url, json: body }: SentRequest): Response {
	const { generationConfig = {}, tools } = body as Body;
	const two = generationConfig.candidateCount === 2;
	switch (url.replace(`${GOOGLE}/v1beta/models/engine-model:`, "")) {
		case "streamGenerateContent?alt=sse":
			return streamed(two ? twoSse : chatSse);
		case "generateContent":
			if (generationConfig.responseModalities) return json(image);
			if (generationConfig.responseJsonSchema) return json(jsonSchema);
			if (tools) return greeting();
			return json(two ? twoJson : chatJson);
		case "batchEmbedContents":
			return json(embeddings);
		default:
			return json({ error: { code: 404, message: "not found", status: "NOT_FOUND" } }, 404);
	}
}

describeBackend({
	name: "gemini",
	backend: gemini,
	target: { ...TARGET, kind: "gemini", url: GOOGLE, key: KEY },
	services: () => servicesOf(google).services,
	observedServices() {
		const { services, requests } = servicesOf(google);
		return {
			services,
			stopped: () => requests.length === 1 && requests.every(({ signal }) => signal.aborted),
		};
	},
	tasks: ["text-generation", "text-embeddings", "text-to-image"],
	skip: { "a raw prompt": "Gemini has no input for text without a chat template; it is refused" },
});
