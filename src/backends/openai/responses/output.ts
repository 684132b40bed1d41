/** What was read of a response: of a complete one, or of the events of a stream. */
import { type KnownFields, type OutputState, stateOf, stateOfAll } from "../../output-state.ts";

/** An item, as far as it is read here. */
interface SentItem {
	type: string;
	content?: readonly object[] | null | undefined;
	summary?: readonly object[] | null | undefined;
}

const PART: KnownFields = {
	output: new Set(["text", "refusal"]),
	other: new Set(["type", "id", "object"]),
};
const ITEM: KnownFields = {
	output: new Set(["content", "summary", "encrypted_content", "arguments", "input", "name"]),
	other: new Set(["type", "id", "role", "status", "phase", "call_id"]),
};
const EVENT: KnownFields = {
	output: new Set(["delta", "text", "refusal", "arguments", "input"]),
	other: new Set(["type", "item_id", "obfuscation", "event_id", "response_id"]),
};

/** Calls, what the service's own tools did, and summaries of the conversation. They may have no text. */
const OTHER_ITEMS = /_call$|_output$|^compaction|^mcp_|^program/;

function itemState(item: SentItem): OutputState {
	if (OTHER_ITEMS.test(item.type)) return "some";
	const { content, summary, ...fields } = item;
	const parts = [...(content ?? []), ...(summary ?? [])].map((part) => stateOf(part, PART));
	return stateOfAll([stateOf(fields, ITEM), ...parts]);
}

/** The output of a response may be an empty list. */
export const responseState = ({ output }: { output?: readonly SentItem[] | null | undefined }): OutputState =>
	stateOfAll((output ?? []).map(itemState));

/** What an event with a piece of a text has. */
export const eventState = (event: object): OutputState => stateOf(event, EVENT);
