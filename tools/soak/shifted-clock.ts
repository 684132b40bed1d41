/** Replaces `Date` with a clock that is ahead of the machine's clock. It can be replaced later, because the Worker reads `Date` at each call. */
let aheadMs = 0;
const Machine = Date;

export const setClock = (ms: number): void => {
	aheadMs = ms;
};

/** Milliseconds. */
export const clockAhead = (): number => aheadMs;

globalThis.Date = class extends Machine {
	constructor(...values: [] | [string | number]) {
		if (values.length === 0) super(Machine.now() + aheadMs);
		else super(...(values as [string | number]));
	}

	static override now(): number {
		return Machine.now() + aheadMs;
	}
} as DateConstructor;
