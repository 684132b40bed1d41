/**
 * Llama Guard: a conversation in, a judgement of its last message out. The engine's template writes the prompt, and the
 * model answers in two lines, `unsafe` and the categories. These lines are converted to JSON here. Engines do not receive
 * a JSON grammar, because the model was not trained on one.
 */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { present } from "../../core/present.ts";
import type { Model } from "../../models/model.ts";
import { verdictIn } from "../../tasks/moderation/verdict.ts";
import type { NativeWriter, Reader } from "../dialect.ts";
import { defaulted, fieldsOf, perModel } from "../fields.ts";
import { invalidInput } from "../invalid-input.ts";
import { chatCall, chatWriter } from "./call.ts";
import { nativeEvents } from "./native-stream.ts";
import { firstMessage } from "./native-write.ts";
import { NativeUsage, nativeUsage } from "./usage.ts";

const Format = z.object({ response_format: z.object({ type: z.string().optional() }).optional() });

const guardSchema = (model: Model) =>
	z.object({
		messages: z.array(z.object({ role: z.enum(["user", "assistant"]), content: z.string() })),
		...fieldsOf(model, {
			max_tokens: defaulted(model, "max_tokens", z.int()),
			temperature: defaulted(model, "temperature", z.number().min(0).max(5)),
			...Format.shape,
		}),
	});

export const guardReader: Reader = {
	schema: perModel(guardSchema),
	read({ messages, max_tokens, temperature }: z.output<ReturnType<typeof guardSchema>>) {
		for (const [index, { role }] of messages.entries())
			if (role !== (index % 2 === 0 ? "user" : "assistant"))
				throw invalidInput(`messages[${index}].role: user and assistant must take turns, the user first`);
		return chatCall({ messages, stream: false, ...present({ max_tokens, temperature }) });
	},
};

const Judgement = z.object({ safe: z.boolean(), categories: z.array(z.string()) });

export const guardWriter: NativeWriter = {
	schema: z.object({ response: z.union([z.string(), Judgement]), usage: NativeUsage.optional() }),
	...chatWriter({
		value(completion, { inputs, withCost }) {
			const text = firstMessage(completion).content ?? "";
			const format = Format.safeParse(inputs).data?.response_format?.type;
			const { usage } = completion;
			return {
				response: format === "json_object" ? judgement(text) : text,
				...(usage && { usage: nativeUsage(withCost(usage)) }),
			};
		},
		events: nativeEvents,
	}),
};

/** Throws 5024 for anything but a judgement. */
function judgement(text: string): z.output<typeof Judgement> {
	const verdict = verdictIn(text);
	if (!verdict) throw new AiError("jsonModeUnmet");
	return verdict;
}
