/** A complete answer with web searches. */
import { chatAnswer } from "../../dialects/chat/call.ts";
import { reasoningOf } from "../../dialects/chat/chunks.ts";
import { citationsIn, sourcesOf, urlCitation } from "../../dialects/chat/citations.ts";
import type { Reply } from "../../pipeline/request.ts";
import type { ChatCompletion, SearchedRound, WebSearchCall } from "../../tasks/text-generation/types.ts";
import { RoundCalls } from "./round-calls.ts";
import type { Round } from "./rounds.ts";
import { type RoundText, type SearchLoop, searchedRound } from "./search-loop.ts";

/** `continued`: searches that an earlier answer has left. */
export async function wholeAnswer(
	first: Round & { answer: { kind: "value" } },
	loop: SearchLoop,
	continued: readonly WebSearchCall[],
): Promise<Reply> {
	const empty = { content: "", reasoning: "", thinking_blocks: [], usage: undefined };
	const searched: SearchedRound[] = continued.length > 0 ? [searchedRound(empty, continued)] : [];
	let neurons = 0;
	let round: Round = first;
	for (;;) {
		const { answer, reply } = round;
		if (answer.kind !== "value") throw new TypeError("A round of a complete answer is a stream");
		neurons += reply.neurons ?? 0;
		const { completion } = answer;
		const [choice] = completion.choices;
		const calls = new RoundCalls(loop.hosted.toolName, loop.uuid);
		const callerCalls = (choice?.message.tool_calls ?? []).filter((call, index) =>
			calls.add({ ...call, index }),
		);
		const text = textOf(completion);
		const step = loop.after(text, calls.searches, calls.hasCallerCalls);
		let finishReason = step.kind === "end" ? step.finishReason : undefined;
		if (step.kind === "search") {
			const finished = await Promise.all(
				step.calls.map(async ({ call, tool }) => ({
					tool,
					call: await loop.searches.run(call, loop.signal),
				})),
			);
			searched.push(
				searchedRound(
					text,
					finished.map(({ call }) => call),
				),
			);
			finishReason = loop.add(text, finished);
			if (finishReason === undefined) {
				round = await loop.next();
				continue;
			}
			text.content = "";
			text.reasoning = "";
			text.thinking_blocks = [];
		} else if (step.left.length > 0) {
			searched.push(searchedRound(text, step.left));
			text.content = "";
			text.reasoning = "";
			text.thinking_blocks = [];
		}
		return written(round, { completion, callerCalls, text, searched, finishReason, neurons }, loop);
	}
}

interface AnswerParts {
	/** Of the last round. */
	completion: ChatCompletion;
	callerCalls: NonNullable<ChatCompletion["choices"][number]["message"]["tool_calls"]>;
	text: RoundText;
	searched: readonly SearchedRound[];
	finishReason: string | undefined;
	neurons: number;
}

function written(
	{ reply, context, writer }: Round,
	{ completion, callerCalls, text, searched, finishReason, neurons }: AnswerParts,
	loop: SearchLoop,
): Reply {
	const [choice] = completion.choices;
	const { showsSearches } = loop.hosted.style;
	const message = {
		...(choice?.message ?? { role: "assistant" as const }),
		content: text.content || null,
		reasoning_content: text.reasoning || null,
		thinking_blocks: text.thinking_blocks,
		tool_calls: callerCalls.length > 0 ? callerCalls : null,
		...(showsSearches ? { searched } : joined(text, searched)),
	};
	const all: ChatCompletion = {
		...completion,
		choices: [
			{ ...choice, index: 0, message, finish_reason: finishReason ?? choice?.finish_reason ?? "stop" },
		],
		...(loop.usage && { usage: loop.usage }),
	};
	const shown = neurons + loop.searches.neurons;
	const output = chatAnswer({ kind: "value", output: all });
	const body = writer.write(output, { ...loop.contextOf(context), ...(shown > 0 && { neurons: shown }) });
	return { ...reply, body, ...(shown > 0 && { neurons: shown }) };
}

/** One text of all rounds, with its citations. */
function joined(text: RoundText, searched: readonly SearchedRound[]) {
	const content = [...searched, text].map((part) => part.content).join("");
	const reasoning = [...searched, text].map((part) => part.reasoning).join("");
	const sources = sourcesOf(searched.flatMap(({ searches }) => searches));
	const annotations = citationsIn(content, sources).map((citation) => ({
		type: "url_citation" as const,
		url_citation: urlCitation(citation),
	}));
	return { content: content || null, reasoning_content: reasoning || null, annotations };
}

function textOf({ choices, usage }: ChatCompletion): RoundText {
	const message = choices[0]?.message;
	return {
		content: message?.content ?? "",
		reasoning: message ? reasoningOf(message) : "",
		thinking_blocks: [...(message?.thinking_blocks ?? [])],
		usage,
	};
}
