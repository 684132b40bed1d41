/**
 * An engine that does to each call what the plan says, and counts exactly what it gave: an event counts when it was
 * written to a connection that was open.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { countsOf, embeddingWords, ollamaWords, openaiWords, type Words } from "./engine-words.ts";
import { type Fault, indexIn, type Planned } from "./plan.ts";
import type { Steps } from "./steps.ts";

export interface EngineCall {
	index: number;
	/** 1: the first of its request. */
	attempt: number;
	backend: string;
	/** Tokens of output that it was asked to keep to; infinite where it was told of no limit. */
	maxTokens: number;
	/** What befell it. */
	fault?: Fault["kind"];
	openedAt: number;
	closedAt?: number;
	/** Events that were written. */
	events: number;
	/** Tokens of them. */
	outputTokens: number;
	/** All that there was to say, its end included. */
	whole: boolean;
	/** The other side closed before that. */
	abandoned: boolean;
}

/** After a caller has left: time for the gateway to notice, before the next event is said. */
const NOTICE_MS = 5_000;
/** What hangs is let go by this side, if ever nobody else does. */
const HANG_MS = 30_000;

export class Engine {
	readonly calls = new Map<number, EngineCall[]>();
	readonly #plan: readonly Planned[];
	readonly #steps: Steps;
	readonly #server: Server;

	constructor(plan: readonly Planned[], steps: Steps) {
		this.#plan = plan;
		this.#steps = steps;
		this.#server = createServer((request, response) => void this.#answer(request, response));
		this.#server.keepAliveTimeout = 60_000;
	}

	/** Its base address. */
	async listen(): Promise<string> {
		await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", 4096, resolve));
		return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
	}

	close(): void {
		this.#server.closeAllConnections();
		this.#server.close();
	}

	callsOf(index: number): readonly EngineCall[] {
		return this.calls.get(index) ?? [];
	}

	async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
		const body = await textOf(request);
		const index = indexIn(body);
		const planned = index === undefined ? undefined : this.#plan[index];
		if (!planned) {
			response.writeHead(404).end();
			return;
		}
		const [, backend = ""] = (request.url ?? "").split("/", 2);
		const maxTokens = limitIn(JSON.parse(body));
		const call = this.#begin(planned, backend, maxTokens);
		const closed = new AbortController();
		response.on("error", () => {});
		response.on("close", () => {
			call.closedAt = performance.now();
			call.abandoned = !call.whole && call.fault === undefined;
			closed.abort();
		});
		const events = Math.min(planned.outputEvents, Math.floor(maxTokens / planned.tokensPerEvent));
		const words =
			planned.door === "embed"
				? embeddingWords(planned)
				: backend === "ollama"
					? ollamaWords(planned, events)
					: openaiWords(planned, events);
		const play = new Play(planned, call, words, response, closed.signal, this.#steps);
		const { fault } = planned;
		const befallen = fault && (fault.calls === "all" || call.attempt === 1) ? fault : undefined;
		await play.run(events, befallen).catch(() => response.destroy());
	}

	#begin({ index }: Planned, backend: string, maxTokens: number): EngineCall {
		const calls = this.calls.get(index) ?? [];
		this.calls.set(index, calls);
		const call: EngineCall = {
			index,
			attempt: calls.length + 1,
			backend,
			maxTokens,
			openedAt: performance.now(),
			events: 0,
			outputTokens: 0,
			whole: false,
			abandoned: false,
		};
		calls.push(call);
		return call;
	}
}

/** One answer. */
class Play {
	readonly #planned: Planned;
	readonly #call: EngineCall;
	readonly #words: Words;
	readonly #response: ServerResponse;
	readonly #closed: AbortSignal;
	readonly #steps: Steps;

	constructor(
		planned: Planned,
		call: EngineCall,
		words: Words,
		response: ServerResponse,
		closed: AbortSignal,
		steps: Steps,
	) {
		this.#planned = planned;
		this.#call = call;
		this.#words = words;
		this.#response = response;
		this.#closed = closed;
		this.#steps = steps;
	}

	async run(events: number, fault: Fault | undefined): Promise<void> {
		if (this.#planned.headerMs > 0) await this.#pause(this.#planned.headerMs);
		switch (fault?.kind) {
			case "status":
				this.#befall(fault);
				this.#send(fault.status, this.#words.refusal(fault.status));
				return;
			case "reset":
				this.#befall(fault);
				this.#response.socket?.resetAndDestroy();
				return;
			case "silent":
				this.#befall(fault);
				return this.#hang();
			default:
				return this.#planned.stream ? this.#stream(events, fault) : this.#value(events, fault);
		}
	}

	async #value(events: number, fault: Fault | undefined): Promise<void> {
		const body = this.#words.whole(events);
		if (!fault) {
			this.#said(events);
			this.#call.whole = true;
			return this.#send(200, body);
		}
		this.#befall(fault);
		if (fault.kind === "garbage") return this.#send(200, body.slice(0, -7));
		if (fault.kind === "error") return this.#send(200, this.#words.refusal(500));
		this.#response.writeHead(200, {
			"content-type": this.#words.contentType.value,
			"content-length": Buffer.byteLength(body),
		});
		await this.#write(body.slice(0, body.length / 2));
		await this.#break(fault);
	}

	async #stream(events: number, fault: Fault | undefined): Promise<void> {
		const { burst, index, leaving, paceMs } = this.#planned;
		const inStep = leaving.when === "during" && leaving.inStep;
		const good = fault ? Math.min(fault.after, events) : events;
		this.#response.writeHead(200, { "content-type": this.#words.contentType.stream });
		if (this.#words.opening) await this.#write(this.#words.opening);
		for (let next = 1; next <= good; ) {
			if (inStep) {
				await this.#steps.reached(index, next - 1, this.#closed);
				if (this.#steps.isGone(index) && next > leaving.event + 1) await this.#pause(NOTICE_MS);
			} else if (paceMs > 0) await this.#pause(paceMs);
			const last = inStep ? next : Math.min(good, next + burst - 1);
			let text = "";
			for (let event = next; event <= last; event++) text += this.#words.event(event);
			await this.#write(text, last);
			next = last + 1;
		}
		if (!fault) {
			await this.#write(this.#words.ending);
			this.#call.whole = true;
			this.#response.end();
			return;
		}
		this.#befall(fault);
		if (fault.kind === "garbage" || fault.kind === "error") {
			await this.#write(this.#words[fault.kind]);
			return this.#hang();
		}
		await this.#break(fault);
	}

	async #break({ kind }: Fault): Promise<void> {
		if (kind === "stall") return this.#hang();
		if (kind === "torn") this.#response.socket?.resetAndDestroy();
		else this.#response.destroy();
	}

	#befall({ kind }: Fault): void {
		this.#call.fault = kind;
	}

	#said(events: number): void {
		this.#call.events = events;
		this.#call.outputTokens = countsOf(this.#planned, events).output;
	}

	#send(status: number, body: string): void {
		this.#response.writeHead(status, {
			"content-type": this.#words.contentType.value,
			"content-length": Buffer.byteLength(body),
		});
		this.#response.end(body);
	}

	/** Rejects where the other side has closed. What was handed to an open connection counts, up to the event `events`. */
	#write(text: string, events?: number): Promise<void> {
		return new Promise((resolve, reject) => {
			if (this.#closed.aborted) return reject(new Error("closed"));
			if (events !== undefined) this.#said(events);
			const closed = () => reject(new Error("closed"));
			this.#closed.addEventListener("abort", closed, { once: true });
			this.#response.write(text, (error) => {
				this.#closed.removeEventListener("abort", closed);
				if (error) reject(error);
				else resolve();
			});
		});
	}

	async #pause(ms: number): Promise<void> {
		await wait(ms, undefined, { signal: this.#closed }).catch(() => {});
		this.#closed.throwIfAborted();
	}

	async #hang(): Promise<void> {
		await wait(HANG_MS, undefined, { signal: this.#closed }).catch(() => {});
		this.#response.destroy();
	}
}

/** As either API has it. */
function limitIn(asked: unknown): number {
	const { max_tokens, max_completion_tokens, options } = asked as {
		max_tokens?: number;
		max_completion_tokens?: number;
		options?: { num_predict?: number };
	};
	return max_tokens ?? max_completion_tokens ?? options?.num_predict ?? Number.POSITIVE_INFINITY;
}

async function textOf(request: IncomingMessage): Promise<string> {
	const pieces: Buffer[] = [];
	for await (const piece of request) pieces.push(piece);
	return Buffer.concat(pieces).toString();
}
