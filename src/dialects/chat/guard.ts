/**
 * Llama Guard: a conversation in, a judgement on its last turn out. The engine's own template makes the question, and
 * the model answers it in two lines, `unsafe` and the categories; JSON is made of those lines here, so that an engine
 * is never asked for a grammar that this model was not trained on.
 */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { isRecord, parseJson } from "../../core/json.ts";
import type { Model } from "../../models/model.ts";
import type { Reader, Writer } from "../dialect.ts";
import { defaulted, fieldsOf, perModel, present } from "../fields.ts";
import { chatCall, chatReply } from "./call.ts";
import { invalidInput } from "./errors.ts";
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
		for (const [place, { role }] of messages.entries())
			if (role !== (place % 2 === 0 ? "user" : "assistant"))
				throw invalidInput(`messages[${place}].role: user and assistant must take turns, the user first`);
		return chatCall({ messages, stream: false, ...present({ max_tokens, temperature }) });
	},
};

const Judgement = z.object({ safe: z.boolean(), categories: z.array(z.string()) });

export const guardWriter: Writer = {
	schema: z.object({ response: z.union([z.string(), Judgement]), usage: NativeUsage.optional() }),
	write(answer, context) {
		const reply = chatReply(answer, context);
		if (reply.kind === "stream") return { kind: "events", events: nativeEvents(reply.events, context) };
		const text = firstMessage(reply.completion).content ?? "";
		const asked = Format.safeParse(context.inputs).data?.response_format?.type;
		const { usage } = reply.completion;
		return {
			kind: "json",
			value: {
				response: asked === "json_object" ? judgement(text) : text,
				...(usage && { usage: nativeUsage(context.priced(usage)) }),
			},
		};
	},
};

/** Throws 5024 for anything but a judgement. */
function judgement(text: string): z.output<typeof Judgement> {
	const [, word] = /^\s*(safe|unsafe)\b/i.exec(text) ?? [];
	if (word) {
		const safe = word.toLowerCase() === "safe";
		return { safe, categories: safe ? [] : (text.match(/\bS\d{1,2}\b/g) ?? []) };
	}
	// What stands in for Llama Guard may have been taught to answer in JSON.
	const parsed = Judgement.safeParse(parseObject(text));
	if (!parsed.success) throw new AiError("jsonModeUnmet");
	return parsed.data;
}

function parseObject(text: string): unknown {
	const value = parseJson(text);
	return isRecord(value) ? { categories: [], ...value } : undefined;
}
