import { expect, it } from "vitest";
import { setAlarmBy } from "../../src/core/earliest-alarm.ts";

it.each([
	["sets the first alarm", null, 5, 5],
	["moves it to an earlier time", 9, 5, 5],
	["keeps an earlier one", 3, 5, 3],
	["sets none for an infinite time", null, Number.POSITIVE_INFINITY, null],
	["keeps one if the time is infinite", 3, Number.POSITIVE_INFINITY, 3],
])("%s", async (_, before, time, after) => {
	let alarm: number | null = before;
	await setAlarmBy(
		{
			getAlarm: async () => alarm,
			setAlarm: async (value) => {
				alarm = Number(value);
			},
		},
		time,
	);
	expect(alarm).toBe(after);
});
