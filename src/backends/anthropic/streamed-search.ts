/** The searches and citations of a stream, which Anthropic sends in blocks of its own and in `citations_delta`. */
import { parseRecord } from "../../core/json.ts";
import type { ChatDelta, EngineSearch } from "../../tasks/text-generation/types.ts";
import type { Call } from "../transport/upstream-failure.ts";
import type { SentBlock } from "./reply.ts";
import { annotationsOf, isSearchUse, SearchBlocks } from "./web-search.ts";

export class StreamedSearch {
	readonly #blocks: SearchBlocks;
	readonly #shows: boolean;
	/** The open block of a search, with the pieces of its input. */
	#open: { block: SentBlock; input: string } | undefined;
	#citations: unknown[] = [];
	/** Where the text of the open block begins. */
	#textStart = 0;

	constructor(call: Call, { showsSearches }: EngineSearch) {
		this.#blocks = new SearchBlocks(call);
		this.#shows = showsSearches;
	}

	/** @param textLength the characters of the text so far. */
	begin(block: SentBlock, textLength: number): ChatDelta[] {
		if (isSearchUse(block)) this.#open = { block, input: "" };
		if (block.type === "text") {
			this.#textStart = textLength;
			this.#citations = Array.isArray(block.citations) ? [...block.citations] : [];
		}
		const found = this.#blocks.result(block);
		return found && this.#shows ? [{ web_search: found }] : [];
	}

	addInput(piece: string): void {
		if (this.#open) this.#open.input += piece;
	}

	cite(citation: unknown): void {
		this.#citations.push(citation);
	}

	close(textLength: number): ChatDelta[] {
		if (this.#open) {
			const { block, input } = this.#open;
			this.#open = undefined;
			const started = this.#blocks.start(block.id, parseRecord(input) ?? block.input);
			return this.#shows ? [{ web_search: started }] : [];
		}
		const annotations = annotationsOf(this.#citations.splice(0), { start: this.#textStart, end: textLength });
		return annotations.length > 0 ? [{ annotations }] : [];
	}

	/** Ends the searches whose results do not come. */
	unfinished(): ChatDelta[] {
		return this.#shows ? this.#blocks.unfinished().map((call): ChatDelta => ({ web_search: call })) : [];
	}
}
