/**
 * The built Worker with a clock that a run sets (`/soak/clock?ms=…`, ahead of the machine's clock), also for the alarms of its objects.
 * It imports `dist/worker/index.js` instead of `src/index.ts`.
 */
import worker, { JobStore as BuiltJobStore, WorkQueue as BuiltWorkQueue } from "../../../src/index.ts";
import { clockAhead, setClock } from "../shifted-clock.ts";

export * from "../../../src/index.ts";

let isShifted = false;

/** Alarms ring by the machine's clock. */
function shiftAlarms(storage: DurableObjectStorage): void {
	if (isShifted) return;
	isShifted = true;
	const prototype = Object.getPrototypeOf(storage) as DurableObjectStorage;
	const { getAlarm, setAlarm } = prototype;
	prototype.setAlarm = function (this: DurableObjectStorage, time, options) {
		return setAlarm.call(this, Number(time) - clockAhead(), options);
	};
	prototype.getAlarm = async function (this: DurableObjectStorage, options) {
		const time = await getAlarm.call(this, options);
		return time === null ? null : time + clockAhead();
	};
}

export class WorkQueue extends BuiltWorkQueue {
	constructor(context: DurableObjectState, bindings: Env) {
		shiftAlarms(context.storage);
		super(context, bindings);
	}
}

export class JobStore extends BuiltJobStore {
	constructor(context: DurableObjectState, bindings: Env) {
		shiftAlarms(context.storage);
		super(context, bindings);
	}
}

export default {
	async fetch(request: Request): Promise<Response> {
		const { pathname, searchParams } = new URL(request.url);
		if (pathname !== "/soak/clock") return worker.fetch(request);
		setClock(Number(searchParams.get("ms")));
		return new Response(null, { status: 204 });
	},
};
