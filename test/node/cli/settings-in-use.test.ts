import { expect, it } from "vitest";
import { settingsOf } from "../../../cli/settings-in-use.ts";

it("the settings have the hash of the operator's token, which the guard compares", () => {
	const { config, operatorHash } = settingsOf({ ADMIN_TOKEN: "the-token-of-the-operator-of-this-test" }, {});
	expect([config.adminToken, operatorHash]).toEqual([
		"the-token-of-the-operator-of-this-test",
		"5ea7023484c10b182a0d00fb71dcd3cf7d21c58f39c6668d7510426c8503e0bb",
	]);
});

it("the settings without a token of an operator have no hash", () => {
	const { config, operatorHash } = settingsOf({}, {});
	expect([config.adminToken, operatorHash]).toEqual([undefined, undefined]);
});
