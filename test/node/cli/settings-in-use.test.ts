import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { settingsOf } from "../../../cli/settings-in-use.ts";

it.each([
	["a token", { ADMIN_TOKEN: "the-token-of-the-operator-of-this-test" }],
	["no token", {}],
] as const)("the settings of an operator with %s have the hash that the guard compares", (_, variables) => {
	const { config, operatorHash } = settingsOf({ ...variables }, {});
	expect(config.adminToken).toBe(Object.values(variables)[0]);
	expect(operatorHash).toBe(
		config.adminToken && createHash("sha256").update(config.adminToken).digest("hex"),
	);
});
