/**
 * Compaction of a conversation (platform.openai.com/docs/guides/compaction). A request whose input ends with a `compaction_trigger` is
 * answered with one `compaction` item, which replaces the items before it in later requests.
 *
 * For models of other vendors, the model is asked for a summary. Its text is the `encrypted_content`, encoded and not encrypted: it is the
 * caller's own conversation. A summary that another provider has encrypted is dropped.
 */
import { AiError } from "../../core/errors.ts";
import type { ChatChunk, ChatCompletion } from "../../tasks/text-generation/types.ts";
import { firstChoice } from "../chat/chunks.ts";
import { writeChunks } from "../chat/events.ts";
import type { EventWriter, WriteContext } from "../dialect.ts";
import { EventSequence } from "./event-sequence.ts";
import type { CompactionItem } from "./items.ts";
import { incompleteReason, type ResponseObject, responseObject } from "./reply.ts";
import { encodedSummary } from "./summary.ts";

/** The cause of a failure: the model answered without a text. */
export class EmptySummary extends Error {}

/** Throws 5001 without a text: an empty summary would lose the conversation. */
function compactionItem(summary: string, uuid: () => string): CompactionItem {
	if (summary.trim() === "")
		throw new AiError("executionFailed", "The model wrote no summary", { cause: new EmptySummary() });
	const encrypted_content = encodedSummary(summary);
	return { id: `cmp_${uuid().replaceAll("-", "")}`, type: "compaction", encrypted_content };
}

export function compactionOf({ choices, usage }: ChatCompletion, context: WriteContext): ResponseObject {
	const [choice] = choices;
	const output = [compactionItem(choice?.message.content ?? "", context.uuid)];
	const incomplete = incompleteReason(choice?.finish_reason);
	return responseObject(context, {
		status: incomplete ? "incomplete" : "completed",
		output,
		usage,
		incomplete,
	});
}

export const compactionEvents: EventWriter = (events, context) =>
	writeChunks(events, new CompactionEvents(context));

/** Sends the item when the summary is complete. */
class CompactionEvents {
	readonly #sequence: EventSequence<CompactionItem>;
	readonly #uuid: () => string;
	#summary = "";
	#finishReason: string | undefined;

	constructor(context: WriteContext) {
		this.#sequence = new EventSequence(context);
		this.#uuid = context.uuid;
	}

	add(chunk: ChatChunk): string {
		this.#sequence.addUsage(chunk.usage);
		const choice = firstChoice(chunk);
		this.#summary += choice?.delta.content ?? "";
		this.#finishReason = choice?.finish_reason ?? this.#finishReason;
		return this.#sequence.start();
	}

	finish(): string {
		const item = compactionItem(this.#summary, this.#uuid);
		return (
			this.#sequence.start() +
			this.#sequence.addItem(item) +
			this.#sequence.itemDone(item) +
			this.#sequence.end(incompleteReason(this.#finishReason))
		);
	}

	fail(failure: AiError): string {
		return this.#sequence.fail(failure);
	}
}
