import { expect, it } from "vitest";
import { unknownBinding } from "../../../src/surfaces/accounts/unknown-binding.ts";

const binding = { id: "prd", path: "gateway.id" };

it("names a gateway that the account has, if it is similar", async () => {
	expect(await unknownBinding({ names: async () => ["prod"] }, binding)).toEqual({
		messages: [{ code: 7001, message: 'gateway.id: the account has no gateway "prd"; did you mean "prod"?' }],
	});
});

it("says nothing if the names cannot be read: the answer may have a token that is shown only once", async () => {
	const names = () => Promise.reject(new Error("overloaded"));
	expect(await unknownBinding({ names }, binding)).toEqual({});
});
