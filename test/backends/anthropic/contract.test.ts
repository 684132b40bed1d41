/** The contract, against an API of replies as documented. */
import { anthropic } from "../../../src/backends/anthropic/index.ts";
import messageJson from "../../fixtures/anthropic/message.json?raw";
import textSse from "../../fixtures/anthropic/text.sse?raw";
import { describeBackend } from "../contract.ts";
import { eventStream, inPieces, json, type SentRequest, servicesOf, TARGET } from "../upstream.ts";
import { CLAUDE } from "./ask.ts";

interface Schema {
	properties: Record<string, { type: string }>;
}

/** The only value of the contract's schemas that a grammar would leave. */
const sampleOf = ({ properties }: Schema): Record<string, unknown> =>
	Object.fromEntries(
		Object.entries(properties).map(([name, { type }]) => [name, type === "boolean" ? true : "Alice"]),
	);

/** Pieces that end inside events, as networks have them. */
function streamed(text: string): Response {
	const bytes = new TextEncoder().encode(text);
	const cuts = Array.from({ length: Math.floor(bytes.length / 97) }, (_, place) => place * 97);
	return eventStream(inPieces(bytes, cuts));
}

function api({ url, json: body }: SentRequest): Response {
	if (!url.endsWith("/v1/messages")) return json({ type: "error", error: { type: "not_found_error" } }, 404);
	if (body.stream) return streamed(textSse);
	const reply = JSON.parse(messageJson);
	const [tool] = (body.tools ?? []) as { name: string; input_schema: Schema }[];
	const { format } = (body.output_config ?? {}) as { format?: { schema: Schema } };
	if (tool) {
		const { name, input_schema } = tool;
		const use = { type: "tool_use", id: "toolu_1", name, input: sampleOf(input_schema) };
		return json({ ...reply, content: [use], stop_reason: "tool_use" });
	}
	if (format)
		return json({ ...reply, content: [{ type: "text", text: JSON.stringify(sampleOf(format.schema)) }] });
	return json(reply);
}

describeBackend({
	name: "anthropic",
	backend: anthropic,
	target: { ...TARGET, ...CLAUDE },
	services: () => servicesOf(api).services,
	observedServices() {
		const { services, requests } = servicesOf(api);
		return {
			services,
			stopped: () => requests.length === 1 && requests.every(({ signal }) => signal.aborted),
		};
	},
	tasks: ["text-generation"],
	skip: {
		"several choices": "the API gives one answer a request; asked for more, it is refused for another target",
		"a raw prompt": "the API has conversations alone; a prompt is refused for another target",
	},
});
