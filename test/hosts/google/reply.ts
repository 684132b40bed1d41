/** Writes replies of `generateContent`, complete and streamed. */
import {
	callsOf,
	deltasOf,
	type HostReply,
	idOf,
	pageOf,
	type Reply,
	type ToolUse,
	textOf,
} from "../script.ts";

export const GOOGLE_SIGNATURE = "c2lnLW9mLWdlbWluaQ==";

const USAGE = {
	promptTokenCount: 20,
	candidatesTokenCount: 9,
	thoughtsTokenCount: 5,
	totalTokenCount: 34,
};

interface ReplyPart {
	text?: string;
	thought?: true;
	thoughtSignature?: string;
	functionCall?: object;
}

export interface ContentOptions {
	model: string;
	stream: boolean;
	/** The reply shows a summary of the thoughts. */
	thoughts: boolean;
}

export function contentReply(
	reply: Exclude<Reply, { kind: "failure" }>,
	{ model, stream, thoughts }: ContentOptions,
): HostReply {
	const head = { modelVersion: model, responseId: idOf("r-") };
	if (stream) return { events: eventsOf(reply, head, thoughts) };
	const text = textOf(reply);
	const parts: ReplyPart[] = [
		...(thoughts ? [THOUGHT] : []),
		...(text === "" ? [] : [{ text }]),
		...callsOf(reply).map((call, index) => callPart(call, index)),
	];
	return {
		json: {
			candidates: [
				{ content: { role: "model", parts }, finishReason: "STOP", index: 0, ...grounding(reply) },
			],
			usageMetadata: USAGE,
			...head,
		},
	};
}

/** What the host's own search has found. */
function grounding(reply: Reply): object {
	if (reply.kind !== "search") return {};
	const { title, url: uri } = pageOf(reply.query);
	const groundingMetadata = {
		webSearchQueries: [reply.query],
		groundingChunks: [{ web: { uri, title } }],
		groundingSupports: [
			{
				segment: { startIndex: 0, endIndex: reply.text.length, text: reply.text },
				groundingChunkIndices: [0],
			},
		],
	};
	return { groundingMetadata };
}

const THOUGHT: ReplyPart = { text: "The user wants to be answered.", thought: true };

const callPart = ({ input, name }: ToolUse, index: number): ReplyPart => ({
	functionCall: { id: idOf("").slice(0, 8), name, args: input },
	// Of calls that are made together, the first is signed.
	...(index === 0 && { thoughtSignature: GOOGLE_SIGNATURE }),
});

async function* eventsOf(
	reply: Exclude<Reply, { kind: "failure" }>,
	head: object,
	thoughts: boolean,
): AsyncGenerator<string> {
	const event = (parts: ReplyPart[], end: object = {}) => {
		const candidates = [{ content: { role: "model", parts }, ...end, index: 0 }];
		return `data: ${JSON.stringify({ candidates, usageMetadata: USAGE, ...head })}\r\n\r\n`;
	};
	if (thoughts) yield event([THOUGHT]);
	for await (const delta of deltasOf(reply))
		yield event([delta.kind === "text" ? { text: delta.text } : callPart(delta, delta.index)]);
	yield event([{ text: "", thoughtSignature: GOOGLE_SIGNATURE }], {
		finishReason: "STOP",
		...grounding(reply),
	});
}
