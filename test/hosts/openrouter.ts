/**
 * OpenRouter's chat completions (https://openrouter.ai/docs/use-cases/reasoning-tokens). Its answers have `reasoning_details`. Claude up
 * to 4.5 refuses calls that come back without the details of their answer while it thinks.
 */
import * as z from "zod";
import { conversationOf } from "./openai/chat.ts";
import { ChatMessage, orderFault } from "./openai/chat-messages.ts";
import { chatReply } from "./openai/chat-reply.ts";
import { type Host, Refusal } from "./script.ts";

export const OPENROUTER_KEY = "sk-or-secret";
export const OPENROUTER_SIGNATURE = "sig-of-openrouter";

const TEXTS = ["Hm, ", "Paris."];
const DETAIL = { type: "reasoning.text", format: "anthropic-claude-v1", index: 0 };
const WHOLE = { ...DETAIL, text: TEXTS.join(""), signature: OPENROUTER_SIGNATURE };

const Detail = z.strictObject({
	type: z.literal("reasoning.text"),
	format: z.literal("anthropic-claude-v1"),
	index: z.literal(0),
	text: z.string().nullish(),
	signature: z.literal(OPENROUTER_SIGNATURE).nullish(),
});
const SentMessage = z.looseObject({
	reasoning: z.string().nullish(),
	reasoning_details: z.array(Detail).optional(),
	tool_calls: z.array(z.looseObject({ id: z.string() })).optional(),
});
const Body = z.looseObject({
	model: z.string(),
	messages: z.array(SentMessage).min(1),
	stream: z.boolean().optional(),
	reasoning_effort: z.string().nullish(),
	reasoning: z.looseObject({ enabled: z.boolean() }).optional(),
	tools: z
		.array(z.looseObject({ type: z.literal("function"), function: z.looseObject({ name: z.string() }) }))
		.optional(),
});

const invalid = (message: string): Refusal =>
	new Refusal(400, { error: { message, code: 400, metadata: { provider_name: "Anthropic" } } });

/** The pieces of a stream may come back as they were, or joined. */
function checkDetails(
	{ reasoning_details: details, tool_calls }: z.output<typeof SentMessage>,
	needsDetails: boolean,
): void {
	if (!tool_calls?.length || (!details && !needsDetails)) return;
	const isSigned = details?.some(({ signature }) => signature);
	if (!isSigned || details?.map(({ text }) => text ?? "").join("") !== WHOLE.text)
		throw invalid("Expected `thinking` or `redacted_thinking`, but found `tool_use`.");
}

/** Whether the model thinks with a budget. */
const thinksByBudget = ({ model, reasoning, reasoning_effort }: z.output<typeof Body>): boolean =>
	/claude-\w+-4\.[0-5]$/.test(model) && Boolean(reasoning?.enabled || reasoning_effort);

export const openRouter: Host = ({ body, headers, path }, script) => {
	if (headers.authorization !== `Bearer ${OPENROUTER_KEY}`)
		throw new Refusal(401, { error: { message: "No auth credentials found", code: 401 } });
	if (path !== "/api/v1/chat/completions") throw new Refusal(404, {});
	const { data, error } = Body.safeParse(body);
	if (!data) throw invalid(error.message);
	for (const message of data.messages) checkDetails(message, thinksByBudget(data));
	const messages = data.messages.map(({ reasoning: _, reasoning_details: _details, ...message }) =>
		ChatMessage.parse(message),
	);
	const fault = orderFault(messages);
	if (fault !== undefined) throw invalid(fault);
	const { model, stream = false, tools } = data;
	const reply = script(conversationOf({ model, messages, stream, ...(tools && { tools: tools as never }) }));
	if (reply.kind === "failure") throw invalid("The script has a failure of another host.");
	return chatReply(reply, {
		model,
		stream,
		includeUsage: true,
		callPrefix: "toolu_",
		message: { reasoning: WHOLE.text, reasoning_details: [WHOLE] },
		firstDeltas: [
			...TEXTS.map((text) => ({ content: "", reasoning: text, reasoning_details: [{ ...DETAIL, text }] })),
			{ content: "", reasoning_details: [{ ...DETAIL, signature: OPENROUTER_SIGNATURE }] },
		],
	});
};
