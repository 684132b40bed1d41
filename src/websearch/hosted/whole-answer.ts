/** A complete answer with web searches. */
import { chatAnswer } from "../../dialects/chat/call.ts";
import { reasoningOf } from "../../dialects/chat/chunks.ts";
import { citationsIn, sourcesOf, urlCitation } from "../../dialects/chat/citations.ts";
import type { Reply } from "../../pipeline/request.ts";
import type {
	ChatCompletion,
	SearchedRound,
	ToolCall,
	WebSearchCall,
} from "../../tasks/text-generation/types.ts";
import type { Round } from "./rounds.ts";
import { emptyRound, type RoundText, type SearchLoop, searchedRound } from "./search-loop.ts";
import { joinSeal } from "./search-seals.ts";

/** `continued`: searches that an earlier answer has left. */
export async function wholeAnswer(
	first: Round,
	loop: SearchLoop,
	continued: readonly WebSearchCall[],
): Promise<Reply> {
	const searched: SearchedRound[] = continued.length > 0 ? [searchedRound(emptyRound(), continued)] : [];
	let neurons = 0;
	for (let round = first; ; round = await loop.next()) {
		const { answer, reply } = round;
		if (answer.kind !== "value") throw new TypeError("A round of a complete answer is a stream");
		neurons += reply.neurons ?? 0;
		const { completion } = answer;
		const calls = loop.newCalls();
		const sent = completion.choices[0]?.message.tool_calls ?? [];
		const callerCalls = sent.flatMap((call, index): ToolCall[] => {
			const shown = calls.add({ ...call, index });
			return shown ? [{ ...call, ...(shown.extra_content && { extra_content: shown.extra_content }) }] : [];
		});
		const text = textOf(completion);
		const step = loop.after(text, calls);
		if (step.kind === "end") {
			const parts = { text, searched, callerCalls, neurons, finishReason: step.finishReason };
			if (step.left.length === 0) return written(round, completion, parts, loop);
			searched.push(searchedRound(text, step.left));
			return written(round, completion, { ...parts, text: emptyRound() }, loop);
		}
		const ended = await Promise.all(
			step.searches.map(async (each) => ({
				...each,
				search: await loop.searches.run(each.search, loop.signal),
			})),
		);
		const finished = ended.map(({ search }) => search);
		if (step.finishReason === undefined) {
			searched.push(searchedRound(text, finished));
			loop.add(text, ended);
			continue;
		}
		const [call, ...others] = callerCalls;
		// The calls keep their reasoning.
		searched.push(searchedRound(call ? emptyRound() : text, finished));
		const parts = {
			text: call ? text : emptyRound(),
			searched,
			callerCalls: call ? [joinSeal(call, loop.seal(ended)), ...others] : [],
			neurons,
			finishReason: step.finishReason,
		};
		return written(round, completion, parts, loop);
	}
}

interface AnswerParts {
	/** The end of the answer, after its searches. */
	text: RoundText;
	searched: readonly SearchedRound[];
	callerCalls: ToolCall[];
	neurons: number;
	finishReason: string | undefined;
}

/** `completion`: of the last round. */
function written(
	{ reply, context, writer }: Round,
	completion: ChatCompletion,
	{ text, searched, callerCalls, neurons, finishReason }: AnswerParts,
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
