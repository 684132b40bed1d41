/** The line of `ganglion serve` about a clock that is set back. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { watchClock } from "../../../cli/clock-watch.ts";

const HOUR_MS = 3_600_000;

let wall = 0;
let end: () => void;
/** Lets time pass on both clocks. */
let pass: (milliseconds: number) => void;
const error = vi.fn<(message: string, fields?: object) => void>();

beforeEach(() => {
	vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
	error.mockClear();
	wall = 1_800_000_000_000;
	let elapsed = 0;
	end = watchClock({
		log: { error },
		now: () => wall,
		elapsed: () => elapsed,
	});
	pass = (milliseconds) => {
		elapsed += milliseconds;
		wall += milliseconds;
		vi.advanceTimersByTime(milliseconds);
	};
});

afterEach(() => {
	end();
	vi.useRealTimers();
});

it("says by how much the clock was set back, once", () => {
	pass(5_000);
	wall -= HOUR_MS;
	pass(10_000);
	expect(error.mock.calls).toEqual([
		[
			expect.stringMatching(/set back by 3600 seconds.*Restart the gateway/),
			{ message: "clock set back", seconds: 3_600 },
		],
	]);
});

it.each([
	["is set forward", HOUR_MS],
	["is set back by some seconds", -9_000],
])("says nothing about a clock that %s", (_, step) => {
	pass(5_000);
	wall += step;
	pass(10_000);
	expect(error).not.toHaveBeenCalled();
});

it("says nothing while the machine sleeps", () => {
	pass(1_000);
	wall += 8 * HOUR_MS;
	pass(5_000);
	expect(error).not.toHaveBeenCalled();
});

it("says it again after another step", () => {
	for (const seconds of [60, 20]) {
		wall -= seconds * 1_000;
		pass(2_000);
	}
	expect(error.mock.calls.map(([, fields]) => fields)).toEqual([
		{ message: "clock set back", seconds: 60 },
		{ message: "clock set back", seconds: 20 },
	]);
});
