import { describe, expect, it } from "vitest";
import { Pace } from "../../src/http/socket-pace.ts";

describe("the pace of a websocket", () => {
	it("sends a burst at once, and after it as many bytes a second as it may", () => {
		const pace = new Pace({ burst: 4_000, perSecond: 1_000 });
		expect(pace.send(3_000, 0)).toBe(0);
		expect(pace.send(1_000, 0)).toBe(0);
		expect(pace.send(500, 0)).toBe(500);
		expect(pace.send(500, 500)).toBe(500);
		expect(pace.send(0, 2_000)).toBe(0);
	});

	it("never allows more than a burst, and a clock that is set back changes nothing", () => {
		const pace = new Pace({ burst: 1_000, perSecond: 1_000 });
		expect(pace.send(1_000, 1e9)).toBe(0);
		expect(pace.send(1, 0)).toBe(1);
		expect(pace.send(1_001, 1e9)).toBe(1);
	});
});
