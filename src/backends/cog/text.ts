/** Text generation, with a conversation as one prompt, and descriptions of images. */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { own } from "../../core/own.ts";
import { pick } from "../../core/present.ts";
import type { Usage } from "../../core/usage.ts";
import {
	type ChatChunk,
	type ChatCompletion,
	type ChatInput,
	type ChatMessage,
	textOf as messageText,
	positiveTopK,
} from "../../tasks/text-generation/types.ts";
import { ChunkWriter, completionOf, type Heading, headingOf } from "../completion.ts";
import type { Handler } from "../handler.ts";
import { describedBy } from "../images.ts";
import { postTranslated, type Translator, type UpstreamEvent } from "../transport/translated-stream.ts";
import { type Call, failureOfInterruption, failureOfShape } from "../transport/upstream-failure.ts";
import { refuseLoraAndChoices, unsupported } from "../unsupported.ts";
import { CogInputs, fileUrl } from "./inputs.ts";
import { readModel } from "./model.ts";
import { Prediction, succeeded, textOf, usageIn, withCancel } from "./predictions.ts";

const NOT_ACCEPTABLE = 406;

export const generateText: Handler<"text-generation"> = async (input, call) => {
	refuseUnsupported(input, call);
	const model = await readModel(call);
	const inputs = chatInputs(input, new CogInputs(model, call));
	const reply = input.stream && model.yields ? await stream(inputs.values, call) : undefined;
	if (reply?.kind === "stream") return reply;
	return completion(reply ? succeeded(reply.value, call) : await inputs.predict(), call);
};

/** `undefined` if the model yields its output but does not stream it: streaming is opt-in for its author. */
async function stream(input: Readonly<Record<string, unknown>>, call: Call) {
	const { call: cancellable, id, path } = withCancel(call);
	const translator = new PredictionTranslator(call);
	const options = { schema: Prediction, translator, accept: "text/event-stream" };
	return postTranslated(cancellable, path, { id, input }, options).catch((error: unknown) => {
		if (error instanceof AiError && error.upstream?.status === NOT_ACCEPTABLE) return undefined;
		throw error;
	});
}

function refuseUnsupported(input: ChatInput, call: Call): void {
	refuseLoraAndChoices(input, call);
	const { tools, tool_choice, response_format, suffix } = input;
	if (tools?.length && tool_choice !== "none") throw unsupported(call, "calls no tools");
	if (response_format && response_format.type !== "text") throw unsupported(call, "keeps to no JSON schema");
	if (suffix !== undefined) throw unsupported(call, "takes no suffix");
}

function chatInputs(input: ChatInput, inputs: CogInputs): CogInputs {
	setPrompt(input, inputs);
	inputs.setAll(pick(input, "max_tokens", "temperature", "top_p", "seed", "stop"));
	inputs.set("top_k", positiveTopK(input));
	inputs.setAll(pick(input, "repetition_penalty", "frequency_penalty", "presence_penalty"));
	return inputs;
}

/** Models apply their template to the prompt; for a raw prompt the template is set to the prompt alone. */
function setPrompt({ prompt, messages }: ChatInput, inputs: CogInputs): void {
	if (prompt !== undefined) {
		inputs.require("prompt", prompt);
		inputs.set("raw_template", "{prompt}");
		return;
	}
	for (const url of imagesIn(messages)) inputs.require("image", url);
	const plain = messages.map(({ role, content }) => ({
		role: role === "developer" ? "system" : role,
		content: messageText(content),
	}));
	if (inputs.set("messages", plain)) return;
	const system = plain.filter(({ role }) => role === "system").map(({ content }) => content);
	const turns = plain.filter(({ role }) => role !== "system");
	const isSeparate = system.length > 0 && inputs.set("system", system.join("\n"));
	const [only] = turns;
	const conversation = turns.length === 1 && only?.role === "user" ? only.content : transcript(turns);
	inputs.require("prompt", [...(isSeparate ? [] : system), conversation].join("\n\n"));
}

const imagesIn = (messages: ChatMessage[]): string[] =>
	messages.flatMap(({ content }) =>
		Array.isArray(content) ? content.flatMap(({ image_url }) => image_url?.url ?? []) : [],
	);

const SPEAKERS: Record<string, string> = { assistant: "Assistant", tool: "Tool" };

const transcript = (messages: { role: string; content: string }[]): string =>
	[...messages.map(({ role, content }) => `${own(SPEAKERS, role) ?? "User"}: ${content}`), "Assistant:"].join(
		"\n",
	);

function completion(prediction: Prediction, call: Call): ChatCompletion {
	const message = { content: textOf(prediction.output, call) };
	return completionOf(headingFor(call), { message, finish_reason: "stop" }, usageIn(prediction));
}

export const describeImage: Handler<"image-to-text"> = async (
	{ image, prompt, raw: _, ...sampling },
	call,
) => {
	const inputs = await CogInputs.of(call);
	inputs.require("image", fileUrl(image));
	inputs.set("question", prompt);
	inputs.setAll(sampling);
	const prediction = await inputs.predict();
	return describedBy(textOf(prediction.output, call), usageIn(prediction), call);
};

const Output = z.looseObject({ chunk: z.unknown() });

/** A target without a model's name is the model of the catalogue. */
const headingFor = (call: Call): Heading => headingOf(call, { model: call.target.model || call.model.id });

/** Translates the events of a prediction (`start`, `output`, `log`, `metric`, `completed`, `error`) to chunks. */
class PredictionTranslator implements Translator {
	done = false;
	readonly #call: Call;
	readonly #chunks: ChunkWriter;
	#usage: Usage | undefined;

	constructor(call: Call) {
		this.#call = call;
		this.#chunks = new ChunkWriter(headingFor(call), { logprobs: null });
	}

	translate({ event, data }: UpstreamEvent): ChatChunk[] {
		const sent: unknown = JSON.parse(data);
		switch (event) {
			case "output": {
				const { chunk: content } = Output.parse(sent);
				if (typeof content !== "string") throw failureOfShape(this.#call, "a stream of text", data);
				return content === "" ? [] : [...this.#chunks.begin(), this.#chunks.chunk({ content })];
			}
			case "completed":
				this.#usage = usageIn(succeeded(Prediction.parse(sent), this.#call));
				this.done = true;
				return [];
			case "error":
				throw failureOfInterruption(this.#call);
			default:
				return [];
		}
	}

	end(): ChatChunk[] | undefined {
		return this.done ? this.#chunks.end("stop", this.#usage) : undefined;
	}
}
