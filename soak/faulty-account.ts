/**
 * The Worker as it is built, but for what befalls the calls of its accounts' objects: one does not arrive, or is done
 * and its answer is lost, or the object is evicted in the midst of all that it does. `FAULTS` says how often.
 *
 * Bundled with `dist/worker/index.js` in the place of `src/index.ts`.
 */
import { env } from "cloudflare:workers";
import worker, { Account as Whole } from "../src/index.ts";
import { Random } from "./random.ts";

export { AI, Directory, Fleet } from "../src/index.ts";
export default worker;

/** Probabilities of each call. */
export interface AccountFaults {
	seed: number;
	lost: number;
	unanswered: number;
	evicted: number;
}

const { FAULTS } = env as unknown as { FAULTS: AccountFaults };
const random = new Random(FAULTS.seed);

export class Account extends Whole {
	override admit(...asked: Parameters<Whole["admit"]>): ReturnType<Whole["admit"]> {
		return this.#befallen("admit", () => super.admit(...asked));
	}

	override admitAll(...asked: Parameters<Whole["admitAll"]>): ReturnType<Whole["admitAll"]> {
		return this.#befallen("admitAll", () => super.admitAll(...asked));
	}

	override settle(...asked: Parameters<Whole["settle"]>): ReturnType<Whole["settle"]> {
		this.#befallen("settle", () => super.settle(...asked));
	}

	#befallen<T>(method: string, call: () => T): T {
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
