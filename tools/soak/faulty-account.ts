/**
 * The built Worker with faults in the calls of its accounts' objects: a call does not arrive, its answer is lost, or the object is evicted while
 * it works. `FAULTS` has the probabilities.
 *
 * Bundled with `dist/worker/index.js` instead of `src/index.ts`.
 */
import { env } from "cloudflare:workers";
import worker, { Account as BuiltAccount } from "../../src/index.ts";
import { Random } from "./random.ts";

export * from "../../src/index.ts";
export default worker;

/** Probabilities for each call. */
export interface AccountFaults {
	seed: number;
	lost: number;
	unanswered: number;
	evicted: number;
}

const { FAULTS } = env as unknown as { FAULTS: AccountFaults };
const random = new Random(FAULTS.seed);

export class Account extends BuiltAccount {
	override admit(...parameters: Parameters<BuiltAccount["admit"]>): ReturnType<BuiltAccount["admit"]> {
		return this.#withFaults("admit", () => super.admit(...parameters));
	}

	override admitAll(
		...parameters: Parameters<BuiltAccount["admitAll"]>
	): ReturnType<BuiltAccount["admitAll"]> {
		return this.#withFaults("admitAll", () => super.admitAll(...parameters));
	}

	override settle(...parameters: Parameters<BuiltAccount["settle"]>): ReturnType<BuiltAccount["settle"]> {
		this.#withFaults("settle", () => super.settle(...parameters));
	}

	override journal(...parameters: Parameters<BuiltAccount["journal"]>): ReturnType<BuiltAccount["journal"]> {
		return this.#withFaults("journal", () => super.journal(...parameters));
	}

	override checkLeases(
		...parameters: Parameters<BuiltAccount["checkLeases"]>
	): ReturnType<BuiltAccount["checkLeases"]> {
		return this.#withFaults("checkLeases", () => super.checkLeases(...parameters));
	}

	#withFaults<T>(method: string, call: () => T): T {
		const account = this.ctx.id.name ?? "";
		if (random.chance(FAULTS.lost)) fail("lost", method, account);
		const answer = call();
		if (random.chance(FAULTS.unanswered)) fail("unanswered", method, account);
		if (random.chance(FAULTS.evicted)) {
			report("evicted", method, account);
			this.ctx.abort("evicted by the soak");
		}
		return answer;
	}
}

/** The run reads these lines. */
function report(fault: string, method: string, account: string): void {
	console.log(`soak: ${fault} ${method} ${account} ${Date.now()}`);
}

function fail(fault: string, method: string, account: string): never {
	report(fault, method, account);
	throw new Error(`${fault} by the soak`);
}
