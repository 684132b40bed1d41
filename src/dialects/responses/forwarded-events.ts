/** Events of an upstream with the Responses API, as they change the items of the response. Unknown items are kept as they are. */
import { isRecord } from "../../core/json.ts";
import type { AnswerItem, MessageItem, Part, ReasoningItem } from "./items.ts";

/** The open item of a text, and its last part. */
export interface OpenPart {
	item: ReasoningItem | MessageItem;
	part: Part;
}

type Fields = Record<string, unknown>;

/** Returns the part that is open after the event: another engine may continue it. */
export function applyEvent(
	output: AnswerItem[],
	open: OpenPart | undefined,
	type: string,
	{ output_index, item, part, delta }: Fields,
): OpenPart | undefined {
	const index = Number(output_index);
	if (isRecord(item)) {
		output[index] = structuredClone(item) as AnswerItem;
		return undefined;
	}
	const kept = output[index];
	if (type === "response.content_part.added" && (kept?.type === "message" || kept?.type === "reasoning")) {
		const opened = structuredClone(part) as Part;
		const content: Part[] = kept.content;
		content?.push(opened);
		return { item: kept, part: opened };
	}
	if (open && type === `response.${open.part.type}.delta`) {
		if (open.part.type === "refusal") open.part.refusal += String(delta);
		else open.part.text += String(delta);
	}
	return open;
}

export const endsCall = (type: string, { item }: Fields): boolean =>
	type === "response.output_item.done" && isRecord(item) && typeof item.call_id === "string";
