/** Text generation, with a conversation as one prompt, and descriptions of images. */
import { AiError } from "../../core/errors.ts";
import type { DescribeImageInput } from "../../tasks/image-to-text/types.ts";
import type { Answer } from "../../tasks/task.ts";
import {
	type ChatCompletion,
	type ChatInput,
	type ChatMessage,
	textOf as messageText,
} from "../../tasks/text-generation/types.ts";
import { postTranslated } from "../transport/translated-stream.ts";
import { type Call, failureOfContent } from "../transport/upstream-failure.ts";
import { fileUrl, Inputs, unable } from "./inputs.ts";
import { type CogModel, readModel } from "./model.ts";
import { textOf, usageOf } from "./outputs.ts";
import { Prediction, predict, succeeded, withCancel } from "./predictions.ts";
import { heading, PredictionTranslator } from "./stream.ts";

const NOT_ACCEPTABLE = 406;

export async function generateText(input: ChatInput, call: Call): Promise<Answer<"text-generation">> {
	refuseUnsupported(input, call);
	const model = await readModel(call);
	const { values } = chatInputs(input, model, call);
	const streamed = input.stream && model.yields ? await stream(values, call) : undefined;
	return streamed ?? { kind: "value", output: completionOf(await predict(call, values), call) };
}

/** `undefined` if the model yields its output but does not stream it: streaming is opt-in for its author. */
async function stream(
	input: Readonly<Record<string, unknown>>,
	call: Call,
): Promise<Answer<"text-generation"> | undefined> {
	const { call: cancellable, id, path } = withCancel(call);
	const translator = new PredictionTranslator(call);
	const options = { schema: Prediction, translator, accept: "text/event-stream" };
	const reply = await postTranslated(cancellable, path, { id, input }, options).catch((error: unknown) => {
		if (error instanceof AiError && error.upstream?.status === NOT_ACCEPTABLE) return undefined;
		throw error;
	});
	if (reply?.kind !== "value") return reply;
	return { kind: "value", output: completionOf(succeeded(reply.value, call), call) };
}

function refuseUnsupported(
	{ n = 1, tools, tool_choice, response_format, suffix, lora }: ChatInput,
	call: Call,
): void {
	if (lora !== undefined)
		throw new AiError("loraUnsupported", `The model ${call.model.id} does not support LoRA inference`);
	if (n > 1) throw unable(call, "gives one answer a request");
	if (tools?.length && tool_choice !== "none") throw unable(call, "calls no tools");
	if (response_format && response_format.type !== "text") throw unable(call, "keeps to no JSON schema");
	if (suffix !== undefined) throw unable(call, "takes no suffix");
}

function chatInputs(input: ChatInput, model: CogModel, call: Call): Inputs {
	const inputs = new Inputs(model);
	setPrompt(input, inputs, call);
	const { max_tokens, temperature, top_p, top_k, seed, stop } = input;
	const { repetition_penalty, frequency_penalty, presence_penalty } = input;
	const sampling = { max_tokens, temperature, top_p, top_k, seed, stop };
	const penalties = { repetition_penalty, frequency_penalty, presence_penalty };
	for (const [name, value] of Object.entries({ ...sampling, ...penalties }))
		inputs.set(name as keyof typeof sampling | keyof typeof penalties, value);
	return inputs;
}

/** Models apply their template to the prompt; for a raw prompt the template is set to the prompt alone. */
function setPrompt({ prompt, messages }: ChatInput, inputs: Inputs, call: Call): void {
	if (prompt !== undefined) {
		inputs.require("prompt", prompt, call);
		inputs.set("raw_template", "{prompt}");
		return;
	}
	for (const url of imagesIn(messages)) inputs.require("image", url, call);
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
	inputs.require("prompt", [...(isSeparate ? [] : system), conversation].join("\n\n"), call);
}

const imagesIn = (messages: ChatMessage[]): string[] =>
	messages.flatMap(({ content }) =>
		Array.isArray(content) ? content.flatMap(({ image_url }) => image_url?.url ?? []) : [],
	);

const SPEAKERS: Record<string, string> = { assistant: "Assistant", tool: "Tool" };

const transcript = (messages: { role: string; content: string }[]): string =>
	[...messages.map(({ role, content }) => `${SPEAKERS[role] ?? "User"}: ${content}`), "Assistant:"].join(
		"\n",
	);

function completionOf(prediction: Prediction, call: Call): ChatCompletion {
	const usage = usageOf(prediction);
	return {
		...heading(call),
		object: "chat.completion",
		choices: [
			{
				index: 0,
				message: { role: "assistant", content: textOf(prediction.output, call) },
				finish_reason: "stop",
			},
		],
		...(usage && { usage }),
	};
}

export async function describeImage(
	{ image, prompt, raw: _, ...sampling }: DescribeImageInput,
	call: Call,
): Promise<Answer<"image-to-text">> {
	const inputs = new Inputs(await readModel(call));
	inputs.require("image", fileUrl(image), call);
	inputs.set("question", prompt);
	for (const [name, value] of Object.entries(sampling)) inputs.set(name as keyof typeof sampling, value);
	const prediction = await predict(call, inputs.values);
	const description = textOf(prediction.output, call).trim();
	if (!description) throw failureOfContent(call, "answered with no text");
	const usage = usageOf(prediction);
	return { kind: "value", output: { description, ...(usage && { usage }) } };
}
