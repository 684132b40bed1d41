/**
 * The clock of an open Durable Object. workerd never sets it back: after the clock of the machine was set back by an hour, `Date.now()` of the
 * object stands still for an hour, and each timer and alarm that it sets waits an hour longer. The clock of a request is set back with the
 * machine. Only a start gives an object the time of the machine. So an object with such a clock starts again at its next call. That call
 * fails before it begins, and its caller makes it again (`config/repeated-calls.ts`).
 */
import { hasPassed } from "./elapsed.ts";

/** An object whose clock is ahead by less waits until the machine is there. */
const MAX_LEAD_MS = 10_000;
const MESSAGE = "The clock of the machine was set back: the object starts again";
const LOG_MS = 60_000;

/** Not `Date.now()`, which tests replace. */
const objectTime = (): number => performance.timeOrigin + performance.now();

/** The only clock that an object reads from the machine. */
const machineTime = ({ sql }: Pick<DurableObjectStorage, "sql">): number =>
	sql.exec<{ time: number }>("SELECT unixepoch('subsec') * 1000 AS time").one().time;

/** How far the clock of the object is ahead of the machine. */
type LeadOf = (storage: DurableObjectStorage) => number;

const leadOf: LeadOf = (storage) => objectTime() - machineTime(storage);

/** Whether an object has refused a call because it starts again. */
export const startsAgain = (cause: unknown): boolean =>
	cause instanceof Error && cause.message.includes(MESSAGE);

interface ObjectClass {
	prototype: object;
}

type Method = (this: StartedObject, ...parameters: unknown[]) => unknown;

/** The members of the runtime's class. */
interface StartedObject {
	ctx: DurableObjectState;
}

/** Checks the clock at each call of the objects. Call it once for each class. */
export function checkClocks(classes: readonly ObjectClass[], lead: LeadOf = leadOf): void {
	const starts = new ObjectStarts(lead);
	for (const { prototype } of classes)
		for (const [name, method] of methodsOf(prototype))
			Object.defineProperty(prototype, name, {
				configurable: true,
				writable: true,
				value(this: StartedObject, ...parameters: unknown[]) {
					return starts.call(this.ctx, () => Reflect.apply(method, this, parameters));
				},
			});
}

/** Without those of the runtime's own class, from which all of them are derived. */
function methodsOf(prototype: object): Map<string, Method> {
	const methods = new Map<string, Method>();
	for (let level = prototype; !isOfRuntime(level); level = Object.getPrototypeOf(level))
		for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(level)))
			if (typeof value === "function" && name !== "constructor" && !methods.has(name))
				methods.set(name, value as Method);
	return methods;
}

function isOfRuntime(level: object): boolean {
	const above: unknown = Object.getPrototypeOf(level);
	return above === null || above === Object.prototype;
}

class ObjectStarts {
	readonly #leadOf: LeadOf;
	/** The ids of objects that start again, until their next call. */
	readonly #restarting = new Set<string>();
	/** A method that another method calls before it awaits anything is part of the same call. */
	#isCalling = false;
	#loggedAt: number | undefined;

	constructor(lead: LeadOf) {
		this.#leadOf = lead;
	}

	call(ctx: DurableObjectState, method: () => unknown): unknown {
		if (this.#isCalling) return method();
		this.#check(ctx);
		this.#isCalling = true;
		try {
			return method();
		} finally {
			this.#isCalling = false;
		}
	}

	#check(ctx: DurableObjectState): void {
		const lead = this.#leadOf(ctx.storage);
		if (lead > MAX_LEAD_MS) {
			this.#restart(ctx, lead);
			throw new Error(MESSAGE);
		}
		// An alarm that the object has set before is too late.
		if (this.#restarting.size > 0 && this.#restarting.delete(String(ctx.id))) void setAlarmNow(ctx.storage);
	}

	/** What earlier calls have written is stored first. */
	#restart(ctx: DurableObjectState, lead: number): void {
		const id = String(ctx.id);
		if (this.#restarting.has(id)) return;
		this.#restarting.add(id);
		this.#log(lead);
		const abort = (): void => ctx.abort(MESSAGE);
		ctx.storage.sync().then(abort, abort);
	}

	/** One line for many objects. */
	#log(lead: number): void {
		const now = objectTime() - lead;
		if (!hasPassed(LOG_MS, this.#loggedAt, now)) return;
		this.#loggedAt = now;
		console.error(
			JSON.stringify({
				message: "The clock of the machine was set back: open objects start again",
				seconds: Math.round(lead / 1_000),
			}),
		);
	}
}

async function setAlarmNow(storage: DurableObjectStorage): Promise<void> {
	if ((await storage.getAlarm()) !== null) await storage.setAlarm(Date.now());
}
