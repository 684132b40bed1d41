/**
 * The parts of an answer: the events with a piece of a part and those that end a part, and what is sent of each. Most events of a stream
 * are among them, so each is found by its type.
 */

/** Fields of a chunk for the text of each kind of part. */
export const CHANNELS = {
	output_text: "content",
	refusal: "refusal",
	reasoning_text: "reasoning_content",
	reasoning_summary_text: "reasoning_content",
} as const;
export type PartType = keyof typeof CHANNELS;

interface PartEvent<Part extends string> {
	part: Part;
	/** The event has the complete part. Otherwise it has the next piece. */
	isEnd: boolean;
}

const eventsOf = <Part extends string>(parts: readonly Part[]): ReadonlyMap<string, PartEvent<Part>> =>
	new Map(
		parts.flatMap((part): [string, PartEvent<Part>][] => [
			[`response.${part}.delta`, { part, isEnd: false }],
			[`response.${part}.done`, { part, isEnd: true }],
		]),
	);

export const TEXT_EVENTS = eventsOf(Object.keys(CHANNELS) as PartType[]);
export const CALL_EVENTS = eventsOf(["function_call_arguments", "custom_tool_call_input"]);

/** Names a part of an answer. */
export const partKey = (
	part: PartType,
	place: { [Name in "output_index" | "content_index" | "summary_index"]?: number | null | undefined },
): string => `${place.output_index ?? 0} ${part} ${place.content_index ?? place.summary_index ?? 0}`;

/** The texts of the parts of an answer that are sent, by the keys of their parts. */
export class SentParts {
	/** In the order in which the parts began. */
	readonly #characters = new Map<string, number>();

	add(key: string, piece: string): void {
		this.#characters.set(key, this.charactersOf(key) + piece.length);
	}

	has(key: string): boolean {
		return this.#characters.has(key);
	}

	charactersOf(key: string): number {
		return this.#characters.get(key) ?? 0;
	}

	/** The characters of the answer's text before a part. */
	textBefore(key: string): number {
		let length = 0;
		for (const [sent, characters] of this.#characters) {
			if (sent === key) break;
			if (sent.includes(" output_text ")) length += characters;
		}
		return length;
	}

	/** Whether the item has sent a part of reasoning. */
	hasReasoning(outputIndex: number): boolean {
		return [...this.#characters.keys()].some((key) => key.startsWith(`${outputIndex} reasoning`));
	}
}
