/**
 * What the simulator says to a chat. It has no weights: it repeats what it is told to repeat, sums up what it is given,
 * and otherwise quotes the statements of the conversation that share the most with the question. Where none shares
 * enough it says what it is and what it was asked.
 */
import { type Conversation, SIMULATOR } from "./conversation.ts";
import { sayBack } from "./person.ts";
import { recall } from "./recall.ts";
import { summarize } from "./summarization.ts";
import { within, words } from "./text.ts";

const SUMMARY_TOKENS = 120;
/** Characters of the question that the fallback repeats. */
const MAX_QUOTED = 300;

export interface Said {
	text: string;
	/** One sentence on how it was found, for models that show their reasoning. */
	because: string;
}

export function answer(conversation: Conversation, modelId: string): Said {
	const { ask, question } = conversation;
	const repeated = toRepeat(ask);
	if (repeated !== undefined)
		return { text: repeated, because: "The user says what to reply, so I repeat it." };

	if (/\bsummar|\btl;?dr\b/i.test(ask)) {
		const given = materialOf(conversation);
		if (given.trim())
			return {
				text: summarize(given, SUMMARY_TOKENS),
				because: "The user wants a summary, so I take the sentences that the others share most with.",
			};
	}

	const found = recall(conversation);
	if (found.length > 0)
		return {
			text: found.map(({ text, role }) => sayBack(text, role)).join(" "),
			because: `I looked through ${count(conversation.statements.length, "statement")} of the conversation and quote ${found.length} that the question shares its words with.`,
		};

	const asked = within(question, MAX_QUOTED);
	return {
		text: `I am ${SIMULATOR} standing in for ${modelId}; no engine serves it. ${asked ? `You asked: ${asked}` : "You asked nothing."}`,
		because: "Nothing in the conversation answers this, so I say what I am.",
	};
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`;

const MARKED = "following|single|word|words|phrase|text|sentence|message|token";
const REPEAT = new RegExp(
	String.raw`^(?:please\s+)?(?:(?:just|only)\s+)?(?:(?<any>say|repeat|echo)|(?:reply|respond|answer)\s+(?<exact>(?:only\s+|just\s+|exactly\s+)*with)|(?:output|print|write|return|reply|respond|answer))\b\s*(?<marks>(?:(?:back|after me|exactly|only|just|nothing but|(?:the|this)(?=\s+(?:${MARKED}))|${MARKED})\b\s*)*:?)\s*(?<rest>[\s\S]+)$`,
	"i",
);

/** What "Say …", "Repeat …", "Reply with exactly …" want to hear. Other orders only where the words are in quotes. */
function toRepeat(ask: string): string | undefined {
	const { any, exact, marks = "", rest = "" } = REPEAT.exec(ask.trim())?.groups ?? {};
	const wanted = rest.trim();
	const quoted = /^["“«'`]([\s\S]+?)["”»'`](?=[\s.,;!?]|$)/.exec(wanted)?.[1];
	if (quoted !== undefined) return quoted;
	const literal = /exactly|only|just|word|phrase|following|nothing but|:\s*$/i.test(
		`${exact ?? ""} ${marks}`,
	);
	if (any !== undefined || literal) {
		const said = wanted.replace(/(?<=[\p{L}\p{N}])\.$/u, "");
		return said !== "" && !/\?$/.test(said) ? said : undefined;
	}
	return undefined;
}

/** The text to sum up: what the last message brings beside its request; else all that was said before. */
function materialOf({ lastMessage, ask, turns }: Conversation): string {
	const inline = /^[^:\n]{0,80}[:\n]([\s\S]+)$/.exec(ask)?.[1] ?? "";
	const given = `${inline} ${lastMessage.replace(ask, "")}`.trim();
	if (words(given).length > 8) return given;
	return turns
		.filter(({ role, text }) => role !== "system" && role !== "developer" && text.trim() !== lastMessage)
		.map(({ text }) => text)
		.join("\n");
}
