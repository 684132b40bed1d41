/** The contract, against a container whose model takes whatever is asked. */
import { cog } from "../../../src/backends/cog/index.ts";
import stream from "../../fixtures/cog/stream.sse?raw";
import { describeBackend } from "../contract.ts";
import { eventStream, inPieces, type SentRequest, servicesOf, TARGET } from "../upstream.ts";
import { container, succeeds, takes, URL } from "./container.ts";

const text = { type: "string" };
const MODEL = takes(
	{ prompt: text, texts: { type: "array" }, image: text, audio: text, width: { type: "integer" } },
	{ "x-cog-array-type": "iterator" },
);

const streamed = () => {
	const bytes = new TextEncoder().encode(stream);
	return eventStream(inPieces(bytes, [40, 90, 91, 200]));
};

function predict({ headers, json: { input } }: SentRequest): Response {
	if (headers.get("accept") === "text/event-stream") return streamed();
	const given = input as Record<string, unknown>;
	if (given.width !== undefined) return succeeds(["data:image/png;base64,iVBORw0KGgo="]);
	if (given.texts)
		return succeeds([
			[1, 0],
			[0, 1],
		]);
	if (given.audio) return succeeds({ transcription: "Hi", detected_language: "english", segments: [] });
	if (given.prompt === "Hello") return succeeds("data:audio/mpeg;base64,SUQzBA==");
	return succeeds(["Onions", " bloom"]);
}

const respond = container({ openApi: MODEL, predict, other: () => succeeds(null) });

describeBackend({
	name: "cog",
	backend: cog,
	target: { ...TARGET, kind: "cog", url: URL },
	services: () => servicesOf(respond).services,
	observedServices() {
		const { services, requests } = servicesOf(respond);
		return {
			services,
			stopped: () => {
				const predictions = requests.filter(({ url }) => url.startsWith(`${URL}/predictions`));
				const [prediction, cancel] = predictions;
				return (
					prediction?.signal.aborted === true &&
					cancel?.url === `${URL}/predictions/${prediction.json.id}/cancel` &&
					predictions.length === 2
				);
			},
		};
	},
	tasks: [
		"text-generation",
		"text-embeddings",
		"text-to-image",
		"text-to-speech",
		"speech-recognition",
		"image-to-text",
	],
	skip: {
		usage: "a container counts tokens only where its model records them",
		"several choices": "a prediction has one output; more are refused",
		tools: "a model of Cog takes one prompt; tools are refused",
		"a JSON schema": "a model of Cog takes one prompt; a schema is refused",
	},
});
