/**
 * An alarm that is due when an object sets it runs at once, beside the test. So an object may not set one by a clock that is behind its own: if
 * a test gives its services an old time, a call that sets one fails here, instead of now and then on a busy machine. This holds for all files
 * of a Worker from the first one that has a gateway. It is no setup of each run, because a test without objects would load the whole Worker.
 */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll } from "vitest";

/** More than any machine is busy. */
const BEHIND_MS = 3_600_000;

beforeAll(() =>
	runInDurableObject(env.FLEET.getByName("alarms"), (_, { storage }) => {
		const prototype = Object.getPrototypeOf(storage) as DurableObjectStorage;
		const { setAlarm } = prototype;
		// The objects of all files have one prototype.
		if ("isChecked" in setAlarm) return;
		Object.assign(prototype, {
			setAlarm(this: DurableObjectStorage, time: number | Date, options?: DurableObjectSetAlarmOptions) {
				if (Number(time) < Date.now() - BEHIND_MS)
					throw new Error(
						`An object sets an alarm by a clock that is behind: ${new Date(time).toISOString()}`,
					);
				return setAlarm.call(this, time, options);
			},
		});
		Object.assign(prototype.setAlarm, { isChecked: true });
	}),
);
