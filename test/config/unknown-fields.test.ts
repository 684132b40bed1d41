/** An unknown field inside a setting is refused, because a misspelled rule would do nothing. */
import { expect, it } from "vitest";
import * as z from "zod";
import { AdaptersSetting } from "../../src/config/adapters.ts";
import { AiGatewaySchema } from "../../src/config/ai-gateway.ts";
import { BackendPrice } from "../../src/config/backend-price.ts";
import { jobsSchema } from "../../src/config/jobs.ts";
import { LimitsSchema } from "../../src/config/limits.ts";
import { PoolSetting } from "../../src/config/pools.ts";
import { ResponsesSchema } from "../../src/config/responses.ts";
import { storageSchema } from "../../src/config/storage.ts";
import { SetTimeouts } from "../../src/config/timeouts.ts";
import { Elements } from "../../src/gateways/dynamic/elements.ts";
import { GatewayCreate, GatewayUpdate } from "../../src/gateways/settings.ts";

/** The paths of the objects with named fields that accept others, too. */
function open(schema: unknown, path = ""): string[] {
	if (typeof schema !== "object" || schema === null) return [];
	const { properties, additionalProperties } = schema as {
		properties?: object;
		additionalProperties?: unknown;
	};
	const inner = Object.entries(schema).flatMap(([name, value]) => open(value, `${path}/${name}`));
	return properties && !path.endsWith("/properties") && additionalProperties !== false
		? [path, ...inner]
		: inner;
}

it.each<[string, z.ZodType, string[]]>([
	// The answer names unknown settings.
	["a gateway", GatewayCreate(), [""]],
	["the update of a gateway", GatewayUpdate(), [""]],
	// An editor may keep the place of an element.
	["a dynamic route", Elements(), [0, 1, 2, 3, 4, 5].map((type) => `/items/oneOf/${type}`)],
	["LIMITS", LimitsSchema, []],
	["AI_GATEWAY", AiGatewaySchema, []],
	["JOBS", jobsSchema({}), []],
	["RESPONSES", ResponsesSchema, []],
	["STORAGE", storageSchema({}), []],
	["a pool", PoolSetting(), []],
	["adapters", AdaptersSetting(), []],
	["the price of a backend", BackendPrice, []],
	["timeouts", SetTimeouts, []],
])("%s is closed at each level", (_, schema, expected) => {
	const shown = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
	expect(JSON.stringify(shown)).toContain('"properties"');
	expect(open(shown)).toEqual(expected);
});
