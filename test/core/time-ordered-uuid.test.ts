import { expect, it } from "vitest";
import { timeOrderedUuid } from "../../src/core/time-ordered-uuid.ts";

/** The example of RFC 9562, appendix A.6. */
it("makes a UUIDv7 of a time and the random bits of a UUIDv4", () => {
	const time = Date.parse("2022-02-22T19:22:22Z");
	expect(timeOrderedUuid(time, "919108f7-52d1-4cc3-98c4-dc0c0c07398f")).toBe(
		"017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
	);
});
