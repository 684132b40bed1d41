/** The contract, against documented replies; what is prompted is asked of the OpenAI routes of the same server. */
import { ollama } from "../../../src/backends/ollama/index.ts";
import chatJson from "../../fixtures/ollama/chat.json?raw";
import chatLines from "../../fixtures/ollama/chat.ndjson?raw";
import chatImage from "../../fixtures/ollama/chat-image.json?raw";
import embedTwo from "../../fixtures/ollama/embed-two.json?raw";
import generateJson from "../../fixtures/ollama/generate.json?raw";
import generateLines from "../../fixtures/ollama/generate.ndjson?raw";
import { describeBackend } from "../contract.ts";
import { openAiEngine } from "../openai/engine.ts";
import { json, type SentRequest, servicesOf, TARGET } from "../upstream.ts";
import { lines } from "./lines.ts";

function chat({ json: body }: SentRequest): Response {
	if (body.stream) return lines(chatLines);
	const reply = JSON.parse(chatJson);
	if (body.tools) {
		reply.message = {
			role: "assistant",
			content: "",
			tool_calls: [{ function: { name: "greet", arguments: { name: "Alice" } } }],
		};
		return json(reply);
	}
	// The first and only text of a moderation.
	if (/"a (?:cat|dog)"/.test(JSON.stringify(body.messages))) reply.message.content = "safe";
	if (body.format) reply.message.content = '{"known": true}';
	const asksOfImage = JSON.stringify(body.messages).includes('"images"');
	return json(asksOfImage ? chatImage : reply);
}

function server(asked: SentRequest): Response | Promise<Response> {
	switch (asked.url.replace("http://engine.test", "")) {
		case "/api/chat":
			return chat(asked);
		case "/api/generate":
			return asked.json.stream ? lines(generateLines) : json(generateJson);
		case "/api/embed":
			return json(embedTwo);
		default:
			return openAiEngine(asked);
	}
}

describeBackend({
	name: "ollama",
	backend: ollama,
	target: { ...TARGET, url: "http://engine.test" },
	services: () => servicesOf(server).services,
	observedServices() {
		const { services, requests } = servicesOf(server);
		return {
			services,
			stopped: () => requests.length === 1 && requests.every(({ signal }) => signal.aborted),
		};
	},
	tasks: [
		"text-generation",
		"text-embeddings",
		"image-to-text",
		"translation",
		"summarization",
		"text-classification",
		"image-classification",
		"object-detection",
		"decision",
		"moderation",
	],
	skip: { "several choices": "its API has one answer a request; more are refused" },
});
