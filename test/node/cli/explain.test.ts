import { expect, it } from "vitest";
import { describeRequest } from "../../../cli/commands/explain.ts";

const estimate = { neurons: 12.5 };
const rows = [{ unit: "per M input tokens", neurons: 26_668 }];

it("says what a request reserves, or that its model has no price", () => {
	const plan = { model: "@cf/a/b", refused: [], estimate };
	expect(describeRequest({ ...plan, price: { source: "model", rows } })).toBe(
		"@cf/a/b\n  price (model): 26668 neurons per M input tokens\n  reserves at most 12.5 neurons",
	);
	const note = "No price is set: a token with a budget gets 2021";
	expect(describeRequest({ ...plan, price: { source: "none", rows: [], note } })).toBe(`@cf/a/b\n  ${note}`);
	expect(describeRequest(plan)).toBe("@cf/a/b\n  reserves at most 12.5 neurons");
});
