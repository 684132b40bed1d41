/** The numbered events of one response, and those with the complete response object. */
import type { AiError } from "../../core/errors.ts";
import { laterUsage, type Usage } from "../../core/usage.ts";
import { namedFrame } from "../../streams/sse.ts";
import type { WriteContext } from "../dialect.ts";
import { responsesError } from "./errors.ts";
import { type AnswerItem, type MessageItem, type OutputItem, setStatus } from "./items.ts";
import { type ResponseObject, type ResponseOutcome, responseObject, verbatimResponse } from "./reply.ts";

export class EventSequence<Item extends OutputItem = OutputItem> {
	readonly output: Item[] = [];
	readonly #context: WriteContext;
	#count = 0;
	#usage: Usage | undefined;

	constructor(context: WriteContext) {
		this.#context = context;
	}

	addUsage(usage: Usage | null | undefined): void {
		this.#usage = laterUsage(this.#usage, usage);
	}

	event(type: string, fields: object): string {
		return namedFrame(type, { type, sequence_number: this.#count++, ...fields });
	}

	/** The first two events, once. */
	start(): string {
		return this.#count > 0 ? "" : this.#lifecycle("created") + this.#lifecycle("in_progress");
	}

	addItem(item: Item): string {
		const output_index = this.output.push(item) - 1;
		return this.event("response.output_item.added", { output_index, item });
	}

	position(item: Item): { item_id: string; output_index: number } {
		return { item_id: item.id, output_index: this.output.indexOf(item) };
	}

	/** Ends an item that has a status. */
	finishItem(item: Item & AnswerItem, status: MessageItem["status"]): string {
		setStatus(item, status);
		return this.itemDone(item);
	}

	itemDone(item: Item): string {
		const output_index = this.output.indexOf(item);
		return this.event("response.output_item.done", { output_index, item });
	}

	end(incomplete: ResponseOutcome["incomplete"]): string {
		return this.#lifecycle(incomplete ? "incomplete" : "completed", { incomplete });
	}

	/** Ends an answer that an upstream with this API gave. */
	endVerbatim(sent: Record<string, unknown>): string {
		const response = verbatimResponse(this.#context, { ...sent, output: this.output }, this.#usage);
		return this.event(`response.${response.status}`, { response });
	}

	fail(failure: AiError): string {
		const out = this.start();
		const error = responsesError(failure, this.#context.requestId);
		const flat = { ...error, param: null };
		return (
			out +
			this.event("error", { ...flat, error: { type: error.code, ...flat } }) +
			this.#lifecycle("failed", { error })
		);
	}

	#lifecycle(
		event: "created" | ResponseObject["status"],
		outcome: Pick<ResponseOutcome, "incomplete" | "error"> = {},
	): string {
		const status = event === "created" ? "in_progress" : event;
		const state = { status, output: this.output, usage: this.#usage, ...outcome };
		return this.event(`response.${event}`, { response: responseObject(this.#context, state) });
	}
}
