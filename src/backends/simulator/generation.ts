/** One reply, as an engine would generate it: thinking, then words or calls, cut where the caller says. */

import { promptTokens } from "../../metering/measure.ts";
import { can, type Model } from "../../models/model.ts";
import type { ChatInput, ToolCall, Usage } from "../../tasks/text-generation.ts";
import { answer, type Said } from "./answer.ts";
import { type Conversation, read } from "./conversation.ts";
import { fullEffort } from "./effort.ts";
import { verdict } from "./guard.ts";
import { jsonFor } from "./json.ts";
import { progress, type Result } from "./progress.ts";
import { countTokens, tokenize } from "./tokens.ts";
import { type Call, callsFor } from "./tools.ts";
import { imageFacts } from "./vision.ts";

/** A reply in tokens. A stream sends them one by one; joined they are the reply's texts. */
export interface Generated {
	/** Undefined where the model does not think. */
	reasoning: string[] | undefined;
	content: string[];
	calls: { id: string; name: string; arguments: string[] }[];
	finish_reason: "stop" | "length" | "tool_calls";
	/** The stop sequence that ended the text. */
	stopSequence?: string;
	tokens: number;
}

/** A longer result of a tool is not repeated whole. */
const MAX_RESULT_CHARACTERS = 1_000;
/** Results that a reply passes on, the last ones. */
const MAX_RESULTS = 16;

export interface Scene {
	model: Model;
	/** Epoch milliseconds. */
	now: number;
	uuid(): string;
}

export function generate(input: ChatInput, scene: Scene): Generated {
	const { model, now } = scene;
	if (model.input === "chat-guard")
		return cut(input, { reasoning: undefined, content: verdict(input), calls: [] });
	const conversation = read(input);
	const budget = { now, effort: fullEffort() };
	const calls = callsFor(input, conversation, budget);
	const said = calls.length > 0 ? calling(calls) : reply(input, conversation, model.id);
	const json = calls.length === 0 && (input.response_format?.type ?? "text") !== "text";
	return cut(input, {
		reasoning: thinks(input, model) ? thoughts(said, input) : undefined,
		content: calls.length > 0 ? "" : json ? jsonFor(input, conversation, said.text, budget) : said.text,
		calls: calls.map(({ name, arguments: given }) => ({
			// As vLLM numbers them, which is what the product shows.
			id: `chatcmpl-tool-${scene.uuid().replaceAll("-", "")}`,
			type: "function",
			function: { name, arguments: JSON.stringify(given) },
		})),
	});
}

const calling = (calls: Call[]): Said => ({
	text: "",
	because: `The request fits ${calls.length === 1 ? "the tool" : "the tools"} ${[...new Set(calls.map(({ name }) => name))].join(", ")}, so I call ${calls.length === 1 ? "it" : "them"} with what the message says.`,
});

function reply(input: ChatInput, conversation: Conversation, modelId: string): Said {
	const results = progress(input).results.slice(-MAX_RESULTS);
	if (results.length > 0 && input.messages.at(-1)?.role === "tool") {
		const isLong = results.some(({ content }) => content.trim().length > MAX_RESULT_CHARACTERS);
		const bearing = isLong ? answer(conversation, modelId).text : "";
		return {
			text: results.map((result) => resultSaid(result, bearing)).join(" "),
			because: "The tools have answered, so I pass their results on.",
		};
	}
	const asked = input.messages.findLast(({ role }) => role === "user");
	const seen = asked ? imageFacts(asked) : [];
	const said = answer(conversation, modelId);
	return { text: [...seen, said.text].join(" "), because: said.because };
}

/** `bearing`: what the results have for the question. */
function resultSaid({ name, content }: Result, bearing: string): string {
	const whose = name ? `The result of ${name}` : "The tool's result";
	const text = content.trim();
	if (text === "") return `${whose} is empty.`;
	if (text.length > MAX_RESULT_CHARACTERS) return `${whose} is long; what bears on the question: ${bearing}`;
	const isProse = /\p{L}\s+\p{L}/u.test(text) && !/^[{["]/.test(text);
	return `${whose}${isProse ? ":" : " is"} ${text}${/[.!?。！？]$/.test(text) ? "" : "."}`;
}

/** Thinking is on where the model can, unless the caller, or the model's own default, turns it off. */
function thinks({ reasoning_effort, chat_template_kwargs }: ChatInput, model: Model): boolean {
	if (!can(model, "reasoning") || reasoning_effort === null) return false;
	const wish = chat_template_kwargs?.enable_thinking;
	if (wish === false) return false;
	return wish === true || reasoning_effort !== undefined || model.reasoningEffort?.default_enabled !== false;
}

function thoughts({ because }: Said, { reasoning_effort = "medium" }: ChatInput): string {
	const all = [
		because,
		"I have no weights, so I match words and do not reason.",
		"The same input always gives this reply.",
	];
	return all.slice(0, { minimal: 1, low: 1, medium: 2, high: 3 }[reasoning_effort ?? "low"]).join(" ");
}

interface Draft {
	reasoning: string | undefined;
	content: string;
	calls: ToolCall[];
}

/** `stop` ends the content, `max_tokens` everything: thinking counts, and so do calls, which are cut as an engine's are. */
function cut({ stop = [], max_tokens = Number.POSITIVE_INFINITY }: ChatInput, draft: Draft): Generated {
	const [end] = stop
		.map((sequence) => ({ sequence, at: sequence === "" ? -1 : draft.content.indexOf(sequence) }))
		.filter(({ at }) => at >= 0)
		.sort((a, b) => a.at - b.at);
	const content = draft.content.slice(0, end?.at);
	let tokens = 0;
	let short = false;
	const take = (text: string): string[] => {
		const pieces = tokenize(text);
		const kept = pieces.slice(0, max_tokens - tokens);
		tokens += kept.length;
		short ||= kept.length < pieces.length;
		return kept;
	};
	const reasoning = draft.reasoning === undefined ? undefined : take(draft.reasoning);
	const said = take(content);
	const calls: Generated["calls"] = [];
	for (const { id, function: called } of draft.calls) {
		const named = countTokens(called.name);
		short ||= tokens + named > max_tokens;
		if (short) break;
		tokens += named;
		calls.push({ id, name: called.name, arguments: take(called.arguments) });
	}
	const finish_reason = short ? "length" : draft.calls.length > 0 ? "tool_calls" : "stop";
	const stopSequence = finish_reason === "stop" ? end?.sequence : undefined;
	return {
		reasoning,
		content: said,
		calls,
		finish_reason,
		tokens,
		...(stopSequence !== undefined && { stopSequence }),
	};
}

export function usageOf(input: ChatInput, choices: Generated[]): Usage {
	const prompt_tokens = promptTokens(input);
	const completion_tokens = choices.reduce((sum, { tokens }) => sum + tokens, 0);
	const thought = choices.reduce((sum, { reasoning }) => sum + (reasoning?.length ?? 0), 0);
	const thinking = choices.some(({ reasoning }) => reasoning !== undefined);
	return {
		prompt_tokens,
		completion_tokens,
		total_tokens: prompt_tokens + completion_tokens,
		prompt_tokens_details: { cached_tokens: 0 },
		...(thinking ? { completion_tokens_details: { reasoning_tokens: thought } } : {}),
	};
}
