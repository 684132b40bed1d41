/**
 * The waiting requests of a pool. Interactive requests come before batch requests. Within a priority, accounts share the
 * capacity by the virtual token counter (Sheng et al., "Fairness in Serving Large Language Models", OSDI 2024): each account
 * has a counter of the tokens that it received, divided by its weight, and the account with the smallest counter is next.
 * Requests of one account keep their order.
 *
 * An account that starts to wait gets at least the smallest counter of the waiting accounts: an idle account saves nothing up.
 * While two accounts wait, the tokens that they receive differ at most by twice the tokens of the largest request plus the
 * tokens of the requests in progress, if weights are equal.
 */
import { MinHeap } from "./min-heap.ts";

const PRIORITIES = ["interactive", "batch"] as const;
export type Priority = (typeof PRIORITIES)[number];

export interface Queued {
	account: string;
	priority: Priority;
	/** Estimated tokens: the input, and twice the output. */
	cost: number;
	/** Share of the account. Positive. */
	weight: number;
}

interface Flow<Item> {
	counter: number;
	/** In the order of their arrival. */
	waiting: Set<Item>;
}

/** More accounts than these are forgotten when they have nothing to pay back. */
const MAX_IDLE_ACCOUNTS = 1_000;

class Band<Item extends Queued> {
	readonly #flows = new Map<string, Flow<Item>>();
	/** Accounts with waiting requests, by their counters. */
	readonly #active = new MinHeap<Flow<Item>>();
	/** Counter of the account whose last request was taken, for the time in which no account waits. */
	#floor = 0;
	#size = 0;

	get size(): number {
		return this.#size;
	}

	push(item: Item): void {
		const flow = this.#flowOf(item.account);
		if (flow.waiting.size === 0) {
			flow.counter = Math.max(flow.counter, this.#active.topKey ?? this.#floor);
			this.#active.set(flow, flow.counter);
		}
		flow.waiting.add(item);
		this.#size++;
	}

	get next(): Item | undefined {
		const [item] = this.#active.top?.waiting ?? [];
		return item;
	}

	take(item: Item): void {
		const flow = this.#flows.get(item.account);
		if (!flow || !this.#remove(flow, item)) return;
		this.#floor = Math.max(this.#floor, flow.counter);
		this.#charge(flow, item.cost / item.weight);
	}

	delete(item: Item): boolean {
		const flow = this.#flows.get(item.account);
		return flow !== undefined && this.#remove(flow, item);
	}

	/** `tokens`: what a request cost beyond its estimate. Negative if it cost less. */
	correct({ account, weight }: Item, tokens: number): void {
		const flow = this.#flows.get(account);
		if (flow) this.#charge(flow, tokens / weight);
	}

	*items(): Iterable<Item> {
		for (const { waiting } of this.#flows.values()) yield* waiting;
	}

	#flowOf(account: string): Flow<Item> {
		const existing = this.#flows.get(account);
		if (existing) return existing;
		if (this.#flows.size - this.#active.size >= MAX_IDLE_ACCOUNTS) this.#forgetIdle();
		const flow: Flow<Item> = { counter: 0, waiting: new Set() };
		this.#flows.set(account, flow);
		return flow;
	}

	#remove(flow: Flow<Item>, item: Item): boolean {
		if (!flow.waiting.delete(item)) return false;
		this.#size--;
		if (flow.waiting.size === 0) this.#active.delete(flow);
		return true;
	}

	#charge(flow: Flow<Item>, tokens: number): void {
		flow.counter = Math.max(0, flow.counter + tokens);
		if (flow.waiting.size > 0) this.#active.set(flow, flow.counter);
	}

	/** Counters below the floor are raised to it, or higher, when their accounts come back. */
	#forgetIdle(): void {
		for (const [account, { counter, waiting }] of this.#flows)
			if (waiting.size === 0 && counter <= this.#floor) this.#flows.delete(account);
	}
}

export class FairQueue<Item extends Queued> {
	readonly #bands = {
		interactive: new Band<Item>(),
		batch: new Band<Item>(),
	} satisfies Record<Priority, Band<Item>>;

	get size(): number {
		return PRIORITIES.reduce((sum, priority) => sum + this.#bands[priority].size, 0);
	}

	/** The item that is next. It stays in the queue. */
	get next(): Item | undefined {
		return this.#bands.interactive.next ?? this.#bands.batch.next;
	}

	push(item: Item): void {
		this.#bands[item.priority].push(item);
	}

	/** Removes an item that gets capacity, and charges its account. */
	take(item: Item): void {
		this.#bands[item.priority].take(item);
	}

	/** Removes an item that gets no capacity. Returns whether it was waiting. */
	delete(item: Item): boolean {
		return this.#bands[item.priority].delete(item);
	}

	/** Corrects the charge of an item that was taken. `tokens`: its real cost. */
	correct(item: Item, tokens: number): void {
		this.#bands[item.priority].correct(item, tokens - item.cost);
	}

	/** All waiting items, in no order. */
	*items(): Iterable<Item> {
		for (const priority of PRIORITIES) yield* this.#bands[priority].items();
	}
}
