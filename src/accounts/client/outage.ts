/**
 * A flush that cannot reach its object gives up, and another one begins while there is something to send. Only the first of them is an error in
 * the log. When the object is reached again, a line has their number.
 */
import type { FlushWork } from "../../core/flush-schedule.ts";

interface Outage {
	/** Calls that the object has answered so far. A step may make none, because another call carries what there is. */
	answered(): number;
	/** The object is reached again, after so many flushes that gave up. */
	onReached(givenUp: number): void;
}

export function reportedOnce(work: FlushWork, { answered, onReached }: Outage): FlushWork {
	let givenUp = 0;
	let answeredBefore = 0;
	return {
		step: async () => {
			const wait = await work.step();
			if (givenUp > 0 && answered() > answeredBefore) {
				onReached(givenUp);
				givenUp = 0;
			}
			return wait;
		},
		onGiveUp: (cause) => {
			answeredBefore = answered();
			if (++givenUp === 1) work.onGiveUp(cause);
		},
		onEnd: () => work.onEnd(),
	};
}

export const logReached = (account: string, givenUp: number): void =>
	console.error(
		JSON.stringify({
			message: "The object of an account is reached again, and has what was not sent",
			account,
			failed_flushes: givenUp,
		}),
	);
