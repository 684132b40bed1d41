/**
 * `/ai/v1/completions`: OpenAI's legacy completions for every chat model. The engine continues the prompt without a chat
 * template. It is not known whether the product has this route; its newer models answer prompts in this form.
 *
 * Known differences from OpenAI: one prompt per request, as text; `best_of` is 1; without `max_tokens` the model's default
 * applies, not 16.
 */
import * as z from "zod";
import { pick, present } from "../../core/present.ts";
import { namesOf } from "../../models/family.ts";
import type { Model } from "../../models/model.ts";
import type { ChatInput } from "../../tasks/text-generation/types.ts";
import type { Dialect, WriteContext } from "../dialect.ts";
import { defaulted, nullAsAbsent, perModel } from "../fields.ts";
import { invalidInput } from "../invalid-input.ts";
import { chatCall, chatWriter } from "./call.ts";
import { ENGINE_FIELDS, LENIENT_TOP_K, stopsOf } from "./openai-fields.ts";
import { requestsUsage } from "./openai-route.ts";
import { textCompletion, textCompletionEvents } from "./text-completion.ts";

const tokens = z.array(z.int());

const schema = (model: Model) =>
	nullAsAbsent(
		z.object({
			model: z.string().optional(),
			prompt: z.union([z.string(), z.array(z.string()), tokens, z.array(tokens)]),
			best_of: z.int().min(1).nullish(),
			echo: z.boolean().nullish(),
			frequency_penalty: defaulted(model, "frequency_penalty", z.number().min(-2).max(2).nullable()),
			logit_bias: z.record(z.string(), z.number()).nullish(),
			logprobs: z.int().min(0).max(20).nullish(),
			max_tokens: defaulted(model, "max_tokens", z.int().nullable()),
			n: defaulted(model, "n", z.int().min(1).max(128).nullable()),
			presence_penalty: defaulted(model, "presence_penalty", z.number().min(-2).max(2).nullable()),
			repetition_penalty: z.number().min(0).max(2).nullish(),
			seed: z.int().nullish(),
			stop: z.union([z.string(), z.array(z.string()).max(4)]).nullish(),
			stream: defaulted(model, "stream", z.boolean().nullable()),
			stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
			suffix: z.string().nullish(),
			temperature: defaulted(model, "temperature", z.number().min(0).max(2).nullable()),
			top_k: LENIENT_TOP_K,
			top_p: defaulted(model, "top_p", z.number().min(0).max(1).nullable()),
			user: z.string().nullish(),
			...ENGINE_FIELDS,
		}),
	);
type CompletionInputs = z.output<ReturnType<typeof schema>>;

export const openaiCompletions: Dialect = {
	reader: {
		schema: perModel(schema),
		read: (inputs: CompletionInputs) => chatCall(readCompletion(inputs)),
	},
	writer: chatWriter({
		value: (completion, context) => textCompletion(completion, context, echoOf(context)),
		events(events, context) {
			const usage = requestsUsage(context.inputs) ? "chunk" : "none";
			return textCompletionEvents(events, context, { usage, echo: echoOf(context) });
		},
	}),
};

function readCompletion(inputs: CompletionInputs): ChatInput {
	if ((inputs.best_of ?? 1) > Math.max(inputs.n ?? 1, 1))
		throw invalidInput("best_of above n is not supported");
	const { stop, logprobs, suffix } = inputs;
	const passthrough = present(pick(inputs, ...namesOf(ENGINE_FIELDS)));
	return {
		messages: [],
		prompt: singlePrompt(inputs.prompt),
		stream: inputs.stream ?? false,
		...present({
			...pick(inputs, "max_tokens", "temperature", "top_p", "top_k", "seed", "n", "logit_bias", "user"),
			...pick(inputs, "frequency_penalty", "presence_penalty", "repetition_penalty"),
			stop: stopsOf(stop),
		}),
		// Here `logprobs` is the number of candidates per token.
		...(logprobs != null && { logprobs: true, top_logprobs: logprobs }),
		...(suffix && { suffix }),
		...(Object.keys(passthrough).length > 0 && { passthrough }),
	};
}

function singlePrompt(prompt: CompletionInputs["prompt"]): string {
	if (typeof prompt === "string") return prompt;
	const [first] = prompt;
	if (typeof first === "string" && prompt.length === 1) return first;
	if (prompt.length === 0) throw invalidInput("prompt must be text: the array is empty");
	throw invalidInput(
		typeof first === "string"
			? "prompt: several prompts in one request are not supported"
			: "prompt must be text: tokens are not supported",
	);
}

/** The reader of this dialect parsed the inputs. */
const echoOf = ({ inputs }: WriteContext): string => {
	const { echo, prompt } = inputs as CompletionInputs;
	return echo ? singlePrompt(prompt) : "";
};
