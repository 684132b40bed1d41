/**
 * The built Worker with faults in the calls of its accounts' objects: a call does not arrive, its answer is lost, or the object is evicted while
 * it works. `FAULTS` has the probabilities.
 *
 * It imports `dist/worker/index.js` instead of `src/index.ts`.
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

/** The methods whose calls fail. */
const FAULTY = ["admit", "admitAll", "settle", "journal", "checkLeases"];

export class Account extends BuiltAccount {
	override call(...parameters: Parameters<BuiltAccount["call"]>): ReturnType<BuiltAccount["call"]> {
		const [account, method] = parameters;
		const call = () => super.call(...parameters);
		return FAULTY.includes(method) ? this.#withFaults(method, account, call) : call();
	}

	#withFaults<T>(method: string, account: string, call: () => T): T {
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
