/**
 * Whether anything in an answer could be read: one rule for all backends, for complete replies and for streams. An empty answer with a
 * reason for its end is an answer. One whose texts are all in fields that are not known is none, and neither is one without content.
 */
import { type Call, failureOfShape } from "./transport/upstream-failure.ts";

/**
 * What was read of an answer, or of a part of it. `empty`: its content is empty. `none`: it has no content. `unread`: only texts in fields
 * that are not known.
 */
export type OutputState = "some" | "empty" | "none" | "unread";

const STATES: readonly OutputState[] = ["none", "empty", "unread", "some"];

/** The state after another part. */
const laterState = (before: OutputState, after: OutputState): OutputState =>
	STATES.indexOf(after) > STATES.indexOf(before) ? after : before;

/** The state of an answer of these parts, whose content may be empty. */
export const stateOfAll = (parts: readonly OutputState[]): OutputState => parts.reduce(laterState, "empty");

/** The fields of one kind of object in answers. */
export interface KnownFields {
	/** They have an answer, or a part of one. */
	output: ReadonlySet<string>;
	/** They have texts that are no answer. */
	other: ReadonlySet<string>;
}

/** What an object of an answer has in its own fields. Never `empty`: whether a field may be empty depends on the API. */
export function stateOf(sent: object, { output, other }: KnownFields): Exclude<OutputState, "empty"> {
	let state: "none" | "unread" = "none";
	for (const [field, value] of Object.entries(sent)) {
		if (value === undefined || value === null || value === "") continue;
		if (Array.isArray(value) && value.length === 0) continue;
		if (output.has(field)) return "some";
		if (typeof value === "string" && !other.has(field)) state = "unread";
	}
	return state;
}

/**
 * Whether a complete answer is none. `reason`: OpenAI's reason for its end; absent: the engine sent none. A filter may withhold the
 * content, and a limit may be used up by thoughts that are not sent. Without a call, a client would wait for one.
 */
export function isUnread(output: OutputState, reason: string | undefined): boolean {
	if (output === "some" || reason === "content_filter") return false;
	if (output === "unread" || reason === undefined || reason === "tool_calls") return true;
	return output === "none" && reason !== "length";
}

/** Nothing in the answer could be read. `sent`: what the engine sent, for the log. */
export const failureToRead = (call: Call, sent: unknown) => failureOfShape(call, "a chat answer", sent);

/** Throws if nothing in a complete answer could be read. `sent`: the answer, for the log. */
export function refuseUnread(
	call: Call,
	{ output, reason, sent }: { output: OutputState; reason: string | undefined; sent: unknown },
): void {
	if (isUnread(output, reason)) throw failureToRead(call, sent);
}

/** Collects the state of one answer from its parts, the events of a stream. */
export class OutputCheck {
	state: OutputState = "none";
	/** The first part in which nothing could be read. */
	unread: unknown;

	/** @param sent the part, for the log. */
	add(state: OutputState, sent: unknown): void {
		if (state === "unread") this.unread ??= sent;
		this.state = laterState(this.state, state);
	}

	/** The answer has ended. Throws if nothing in it could be read. `sent`: its end, for the log. */
	refuseUnread(call: Call, reason: string | undefined, sent: unknown): void {
		refuseUnread(call, { output: this.state, reason, sent: this.unread ?? sent });
	}
}
