/** The soak's side of its two other processes: the attackers with their engine, and the normal callers with theirs. */
import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { AttackOrder, AttackReport, AttackResult } from "./attack.ts";
import type { CallerResults, NormalTarget } from "./callers.ts";
import type { NormalOrder, NormalReport } from "./normal.ts";

class SoakProcess<Order extends AttackOrder | NormalOrder, Report extends object> {
	readonly #process: ChildProcess;

	constructor(file: string) {
		this.#process = fork(join(import.meta.dirname, file), { execArgv: ["--no-warnings"] });
	}

	send(order: Order): void {
		this.#process.send(order);
	}

	next(): Promise<Report> {
		return new Promise((resolve) => this.#process.once("message", (message) => resolve(message as Report)));
	}

	kill(): void {
		this.#process.kill();
	}
}

export class Attackers extends SoakProcess<AttackOrder, AttackReport> {
	constructor() {
		super("attack.ts");
	}

	/** The address of its engine, which it reports first. */
	async engine(): Promise<string> {
		const report = await this.next();
		if (!("engine" in report)) throw new Error("the attackers have no engine");
		return report.engine;
	}

	async attack(order: AttackOrder): Promise<AttackResult> {
		this.send(order);
		const answer = await this.next();
		return "tallies" in answer ? answer : { tallies: {}, ran: 0, unopened: [...order.patterns] };
	}
}

export class NormalCallers extends SoakProcess<NormalOrder, NormalReport> {
	/** Complete answers of their engine, since the start. */
	served = 0;

	constructor() {
		super("normal.ts");
	}

	/** The addresses of its engine and of the floor's engine, which it reports first. */
	async engines(): Promise<{ engine: string; floorEngine: string }> {
		const report = await this.next();
		if (!("engine" in report)) throw new Error("the normal callers have no engine");
		return report;
	}

	start(start: NormalTarget): void {
		this.send({ start });
	}

	async stop(): Promise<CallerResults> {
		this.send("stop");
		const answer = await this.next();
		if (!("results" in answer)) throw new Error("the normal callers have no results");
		this.served = answer.served;
		return answer.results;
	}

	async callFor(milliseconds: number, start: NormalTarget): Promise<CallerResults> {
		this.start(start);
		await wait(milliseconds);
		return this.stop();
	}
}
