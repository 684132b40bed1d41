import { describe, expect, it } from "vitest";
import { callerToolId, engineToolId, newToolId } from "../../../src/dialects/messages/tool-ids.ts";

describe("ids of tool calls", () => {
	it.each([
		["toolu_01A09q90qw90lq917835lq9", "toolu_01A09q90qw90lq917835lq9"],
		["call_1", "toolu_gw_Y2FsbF8x"],
		["functions.look:0", "toolu_gw_ZnVuY3Rpb25zLmxvb2s6MA"],
		["\u00e9", "toolu_gw_w6k"],
	])("%s is %s for the caller, and itself for the engine", (engineId, callerId) => {
		expect(callerToolId(engineId)).toBe(callerId);
		expect(engineToolId(callerId)).toBe(engineId);
	});

	it.each(["t1", "toolu_gw_", "toolu_gw_Y2FsbF8x=", "toolu_gw_Y2FsbF8y9", "toolu_gw__w", "toolu_bdrk_01"])(
		"%s contains no other id",
		(id) => expect(engineToolId(id)).toBe(id),
	);

	it("are generated if the engine sends none", () => {
		expect(newToolId(() => "0-1-2")).toBe("toolu_012");
	});
});
