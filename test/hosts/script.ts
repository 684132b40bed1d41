/**
 * Scripted hosts: APIs of model providers as documented, which refuse what the real hosts refuse. A host reads a request of its API as a
 * `Conversation`, asks a `Script` for the reply, and writes it in its own format. They use no API of Node, so tests in workerd and tools on
 * Node share them.
 */

export interface ToolUse {
	name: string;
	input: Record<string, unknown>;
}

export interface Turn {
	role: "system" | "user" | "assistant";
	text: string;
	/** Bytes of each image. */
	images: readonly number[];
	calls: readonly ToolUse[];
	/** Results of tools. They are in a turn of the user. */
	results: readonly { name: string; text: string }[];
}

export interface Conversation {
	model: string;
	turns: readonly Turn[];
	/** Names of the functions. */
	tools: readonly string[];
	/** Names of the tools that the host runs itself: `web_search`. */
	hosted: readonly string[];
	/** The request is for a summary that replaces the conversation. */
	compacts?: boolean;
	/** `any`: the model must call a function. A name: this function. */
	choice: "auto" | "none" | "any" | { name: string };
	/** The answer must be a JSON document. */
	json: boolean;
	stream: boolean;
	/** The limit of the answer. */
	maxTokens?: number | undefined;
}

export type Reply =
	/** `pause` is awaited after the first piece of a stream. `inputTokens`: of the usage. */
	| { kind: "text"; pieces: readonly string[]; pause?: () => Promise<void>; inputTokens?: number }
	| { kind: "tools"; calls: readonly ToolUse[] }
	/** The host searches the web itself, and then writes the text. */
	| { kind: "search"; query: string; text: string }
	/** A stream without an end, a piece every `ENDLESS_PACE_MS`. */
	| { kind: "endless"; piece: string }
	| { kind: "failure"; failure: FailureName };

/** The host writes each failure with its own status, sentence and code. */
export type FailureName = "rate limit" | "full context" | "no room" | "server error";

/** `no room`: the input and the requested output together exceed the context. */
export const CONTEXT_TOKENS = 29_000;
export const INPUT_TOKENS = 20_000;

export type Script = (conversation: Conversation) => Reply;

export interface HostRequest {
	method: string;
	/** Without the address of the host. */
	path: string;
	/** With the question mark, or empty. */
	query: string;
	headers: { readonly [name: string]: string | string[] | undefined };
	body: unknown;
}

export type HostReply =
	| { status?: number; headers?: Readonly<Record<string, string>>; json: object }
	| { events: AsyncIterable<string> };

export type Host = (request: HostRequest, script: Script) => HostReply;

/** The host refuses the request. */
export class Refusal extends Error {
	readonly status: number;
	/** In the format of the host. */
	readonly json: object;
	readonly headers: Readonly<Record<string, string>>;

	constructor(status: number, json: object, headers: Readonly<Record<string, string>> = {}) {
		super(JSON.stringify(json));
		this.status = status;
		this.json = json;
		this.headers = headers;
	}
}

/** Runs a host, and answers its refusals. */
export function replyOf(host: Host, request: HostRequest, script: Script): HostReply {
	try {
		return host(request, script);
	} catch (refusal) {
		if (!(refusal instanceof Refusal)) throw refusal;
		const { headers, json, status } = refusal;
		return { status, headers, json };
	}
}

export const RETRY_AFTER_S = 1;
const ENDLESS_PACE_MS = 50;
/** Limit for a stream that its reader never closes. */
const ENDLESS_PIECES = 1_200;

/** The parts of a reply in the order of a stream. */
export type Delta =
	| { kind: "text"; text: string }
	| { kind: "call"; index: number; name: string; input: Record<string, unknown> };

export async function* deltasOf(reply: Exclude<Reply, { kind: "failure" }>): AsyncGenerator<Delta> {
	switch (reply.kind) {
		case "text":
			for (const [index, text] of reply.pieces.entries()) {
				yield { kind: "text", text };
				if (index === 0) await reply.pause?.();
			}
			return;
		case "search":
			yield { kind: "text", text: reply.text };
			return;
		case "tools":
			for (const [index, call] of reply.calls.entries()) yield { kind: "call", index, ...call };
			return;
		case "endless":
			for (let piece = 0; piece < ENDLESS_PIECES; piece++) {
				yield { kind: "text", text: reply.piece };
				await new Promise((next) => setTimeout(next, ENDLESS_PACE_MS));
			}
	}
}

export const textOf = (reply: Reply): string =>
	reply.kind === "text"
		? reply.pieces.join("")
		: reply.kind === "endless"
			? reply.piece
			: reply.kind === "search"
				? reply.text
				: "";

export const callsOf = (reply: Reply): readonly ToolUse[] => (reply.kind === "tools" ? reply.calls : []);

/** The tokens of the request, as the host reports them. */
export const inputTokensOf = (reply: Reply): number =>
	(reply.kind === "text" ? reply.inputTokens : undefined) ?? 20;

/** Splits a text as a model streams it. */
export const piecesOf = (text: string): string[] => text.match(/\s*\S{1,12}/g) ?? [];

/** What a host has found for a query. */
export const pageOf = (query: string): { url: string; title: string } => ({
	url: `https://example.com/${query}`,
	title: `Page of ${query}`,
});

/** An id that no other reply has. */
export const idOf = (prefix: string): string => prefix + crypto.randomUUID().replaceAll("-", "").slice(0, 16);

/** The bytes of base64. Throws if it is not valid. */
export const bytesOf = (base64: string): number => atob(base64).length;
