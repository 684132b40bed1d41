/** The states of llama-server's models, as `/models` and the events of `/models/sse` report them. */
import { createParser } from "eventsource-parser";
import * as z from "zod";
import { parseJson } from "../../src/core/json.ts";

export interface ModelState {
	value: "unloaded" | "loading" | "loaded" | "sleeping";
	/** While it loads: from 0 to 1. */
	progress?: number | undefined;
	/** The last start of its process failed. */
	failed?: boolean;
	/** Of its process, while it runs. */
	port?: number;
}

/** By the name of the section. */
export type ModelStates = ReadonlyMap<string, ModelState>;

const Value = z.enum(["unloaded", "loading", "loaded", "sleeping"]);

const List = z.object({
	data: z.array(
		z.looseObject({
			id: z.string(),
			status: z.looseObject({
				value: Value,
				failed: z.boolean().nullish(),
				args: z.array(z.string()).nullish(),
			}),
		}),
	),
});

const Change = z.looseObject({
	model: z.string(),
	data: z.looseObject({
		status: Value,
		exit_code: z.number().nullish(),
		progress: z.looseObject({ value: z.number() }).nullish(),
	}),
});

interface Options {
	get(path: string): Promise<Response>;
	/** An answer without an end. */
	follow(path: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
	/** A model has another state than before. */
	changed(model: string, state: ModelState): void;
}

export class RouterModels {
	readonly states = new Map<string, ModelState>();
	readonly #options: Options;
	#following: AbortController | undefined;

	constructor(options: Options) {
		this.#options = options;
	}

	/** Reads the list once. */
	async refresh(): Promise<void> {
		const response = await this.#options.get("/models");
		const list = List.safeParse(parseJson(await response.text())).data;
		if (!list) return;
		this.states.clear();
		for (const { id, status } of list.data)
			this.states.set(id, {
				...{ value: status.value, ...(status.failed && { failed: true }) },
				...(isRunning(status) && portIn(status.args ?? [])),
			});
	}

	/** Follows the events until {@link close}, or until llama-server ends. */
	async follow(): Promise<void> {
		const following = new AbortController();
		this.#following?.abort();
		this.#following = following;
		try {
			const events = await this.#options.follow("/models/sse", following.signal);
			// Only now, because no change may be missed between the list and the events.
			await this.refresh();
			const decoder = new TextDecoder();
			const parser = createParser({ onEvent: ({ data }) => this.#apply(parseJson(data)) });
			for await (const piece of events) parser.feed(decoder.decode(piece, { stream: true }));
		} catch {
			// It has ended. The next process is followed again.
		}
	}

	close(): void {
		this.#following?.abort();
		this.states.clear();
	}

	#apply(event: unknown): void {
		const { data: change } = Change.safeParse(event);
		if (!change) return;
		const { model, data } = change;
		const failed = data.status === "unloaded" && Boolean(data.exit_code);
		const progress = data.status === "loading" ? data.progress?.value : undefined;
		const state: ModelState = {
			value: data.status,
			...(progress !== undefined && { progress }),
			...(failed && { failed }),
		};
		const isNew = this.states.get(model)?.value !== state.value;
		const port = isRunning(state) ? this.states.get(model)?.port : undefined;
		this.states.set(model, { ...state, ...(port !== undefined && { port }) });
		if (!isNew) return;
		this.#options.changed(model, state);
		// The event has no port.
		if (isRunning(state) && port === undefined) this.refresh().catch(() => {});
	}
}

const isRunning = ({ value }: Pick<ModelState, "value">): boolean =>
	value === "loaded" || value === "sleeping";

function portIn(args: readonly string[]): { port: number } | undefined {
	const at = args.indexOf("--port");
	const port = at < 0 ? Number.NaN : Number(args[at + 1]);
	return port > 0 ? { port } : undefined;
}
